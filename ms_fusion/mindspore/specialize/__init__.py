"""Specializes nets with dynamic shapes: compiles a net for each shape that occurs.

In: a Cell and the shapes of its calls. Out: results of compilations for these shapes. Must not pad
a batch unless a proof shows that the padding does not change the results.
"""

from ms_fusion.mindspore.specialize.specialized_net import SpecializedNet, specialize

__all__ = ["SpecializedNet", "specialize"]
