"""Explains each unfused edge by MindSpore's own rules and suggests the smallest change to fuse it.

In: the graphs before and after fusion, and the fusion flags. Out: for each unfused edge, a reason,
the bytes at stake (the memory traffic that fusing the edge would save) and a suggestion; and the
near misses of fusion rules. Must not run anything.
"""

from ms_fusion.why_not.edges import explain_edges
from ms_fusion.why_not.hot_spots import hot_spots
from ms_fusion.why_not.near_misses import find_rejected_groups
from ms_fusion.why_not.reasons import REASONS

__all__ = ["REASONS", "explain_edges", "find_rejected_groups", "hot_spots"]
