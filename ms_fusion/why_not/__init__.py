"""Explains each unfused edge by MindSpore's own rules and suggests the smallest change to fuse it.

In: graphs before and after, flags. Out: a reason, the bytes at stake and a suggestion per unfused
edge. Must not run anything.
"""

from ms_fusion.why_not.edges import explain_edges
from ms_fusion.why_not.hot_spots import hot_spots
from ms_fusion.why_not.reasons import REASONS

__all__ = ["REASONS", "explain_edges", "hot_spots"]
