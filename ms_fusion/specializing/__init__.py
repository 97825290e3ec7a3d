"""Nets whose shapes change, compiled for the shapes they meet.

In: a Cell and the shapes that arrive. Out: results of compilations for these shapes. It pads a batch only where that is proved.
"""

from ms_fusion.specializing.specialized import Specialized, specialize

__all__ = ["Specialized", "specialize"]
