"""Nets whose shapes change, compiled for the shapes they meet."""

from ms_fusion.specializing.specialized import Specialized, specialize

__all__ = ["Specialized", "specialize"]
