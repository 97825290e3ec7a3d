"""Specializes nets with dynamic shapes: compiles a net for each input shape that occurs.

In: a net and the inputs of its calls. Out: the results of the net, computed by graphs that are
compiled for the shapes of these inputs. This package may pad a batch only if a proof shows that the
padding does not change the results.
"""

from ms_fusion.mindspore.specialize.specialized_net import SpecializedNet, specialize

__all__ = ["SpecializedNet", "specialize"]
