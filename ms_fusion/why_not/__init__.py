"""Why an edge was not fused: the rules that MindSpore follows, applied again, with the smallest change that would fuse it.

In: graphs before and after, flags. Out: a reason, the bytes at stake and a suggestion for each unfused edge. It runs nothing.
"""

from ms_fusion.why_not.edges import explain_edges
from ms_fusion.why_not.hot_spots import hot_spots
from ms_fusion.why_not.reasons import REASONS

__all__ = ["REASONS", "explain_edges", "hot_spots"]
