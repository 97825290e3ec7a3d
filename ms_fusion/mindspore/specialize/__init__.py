"""Specializes nets with dynamic shapes: compiles them for each shape that occurs.

In: a Cell and the shapes of its calls. Out: results of compilations for these shapes. Must not pad
a batch unless a proof shows that it changes nothing.
"""

from ms_fusion.mindspore.specialize.specialized_net import SpecializedNet, specialize

__all__ = ["SpecializedNet", "specialize"]
