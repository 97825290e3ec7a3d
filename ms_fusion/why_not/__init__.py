"""Explains each unfused edge by MindSpore's rules and suggests the smallest change to fuse it.

In: the graphs before and after fusion, and the fusion flags. Out: for each unfused edge, a reason,
the bytes at stake and a suggestion. The bytes at stake are the memory traffic that fusing the edge
would save. Another output is the near misses, which are groups of operators that a fusion rule
nearly matches. This package must not run operators.
"""

from ms_fusion.why_not.edges import explain_edges
from ms_fusion.why_not.hot_spots import hot_spots
from ms_fusion.why_not.near_misses import find_rejected_groups
from ms_fusion.why_not.reasons import REASONS

__all__ = ["REASONS", "explain_edges", "find_rejected_groups", "hot_spots"]
