"""Sets of operator types that several packages use, selected by the fields of `OpInfo`.

The CPU sets were measured on MindSpore 2.10; the Ascend sets were read from MindSpore's source.
"""

from __future__ import annotations

from ms_fusion.ops import operators_where, operators_with
from ms_fusion.ops.op_info import FOR_OTHER_GENERATORS, Cluster, Expand, Trait


def _names_clustered(*kinds: Cluster) -> frozenset[str]:
    return operators_where(lambda operator: operator.mindspore.cluster in kinds)


def _names_expanded(*kinds: Expand) -> frozenset[str]:
    return operators_where(lambda operator: operator.mindspore.expand in kinds)


CPU_CLUSTER_OPS = _names_clustered(Cluster.BY_DEFAULT, Cluster.BY_DEFAULT_FOR_MINDSPORE)
"""Operators that MindSpore clusters on CPU by default."""

MINDSPORE_GENERATOR_ONLY_OPS = _names_clustered(Cluster.BY_DEFAULT_FOR_MINDSPORE)
"""Subset of `CPU_CLUSTER_OPS` that is clustered by default only for MindSpore's generator.

For other generators, the presets enable the clustering of these operators by a flag.
"""

CPU_CLUSTERABLE_OPS = _names_clustered(Cluster.BY_FLAG)
"""Operators that `--enable_cluster_ops` clusters on CPU and that MindSpore's generator builds."""

CPU_CLUSTERABLE_BY_OWN_GENERATOR_ONLY = _names_clustered(*FOR_OTHER_GENERATORS)
"""Operators that can be clustered on CPU, but that MindSpore's own generator does not build.

Some of these operators cannot be built by any generator.
"""

CPU_EXPAND_OPS = _names_expanded(Expand.BY_DEFAULT)
"""Operators that MindSpore expands into basic operators on CPU by default."""

CPU_EXPANDABLE_OPS = _names_expanded(Expand.BY_FLAG, Expand.BY_FLAG_FOR_OURS)
"""Operators that `--enable_expand_ops` can expand into basic operators on CPU."""

CPU_EXPAND_OPS_OF_OWN_GENERATOR = _names_expanded(Expand.BY_FLAG_FOR_OURS)
"""Subset of `CPU_EXPANDABLE_OPS` that the presets expand for our generator."""

ASCEND_CLUSTER_OPS = operators_where(lambda operator: operator.mindspore.ascend_level == 0)
"""Operators that MindSpore clusters on Ascend by default."""

ASCEND_CLUSTER_OPS_LEVEL_1 = operators_where(lambda operator: operator.mindspore.ascend_level == 1)
"""Further operators that MindSpore clusters on Ascend at `--fusion_ops_level=1` and above."""

REDUCTIONS = operators_with(Trait.REDUCTION)
RANDOM_OPS = operators_with(Trait.RANDOM)
VIEWS = operators_with(Trait.VIEW)
BOOKKEEPING = operators_with(Trait.BOOKKEEPING)
