"""Defines the graph kernel flags that make MindSpore use our generator on CPU.

With these flags MindSpore clusters most operators, and does not split clusters into kernels.
"""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ms_fusion.mindspore.flags.generator_limits import EXCLUDED_OPERATORS, GENERATOR
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
from ms_fusion.mindspore.flags.order_preserving_passes import disabled_passes
from ms_fusion.ops import operators_where, operators_with, selections
from ms_fusion.ops.op_info import Cluster, Trait

SPLITTER_PASS = "split.graph_kernel_splitter"
"""The pass that splits clusters at reductions, at transposes and at a maximum depth."""

SIMPLIFY_PASS = "highlevelopt1.arithmetic_simplify"
"""The pass that simplifies arithmetic expressions; some of its rewrites are wrong.

For example, it turns `x + -x` of integers into a float. Our generator does its own common
subexpression elimination.
"""

OPERATORS_KEPT_WHOLE = tuple(
    sorted(operators_where(lambda operator: operator.whole) & selections.CPU_EXPAND_OPS)
)
"""Operators that MindSpore expands by default, but not under the flags of this module.

MindSpore's expansion computes in float32, and its last basic operator has a float32 result. So a
float16 net with several results would return float32.
"""

WHOLE_OPERATORS = operators_where(lambda operator: operator.whole)
"""Operators that MindSpore clusters under our flags without expanding them.

MindSpore could expand these operators. But MindSpore's expansion computes in float32, even for
float64 inputs, and returns float32.
"""

CLUSTERED_OPERATORS = tuple(
    sorted(
        (
            selections.CPU_CLUSTERABLE_OPS
            | selections.CPU_CLUSTERABLE_BY_OWN_GENERATOR_ONLY
            | selections.MINDSPORE_GENERATOR_ONLY_OPS
            | WHOLE_OPERATORS
        )
        - EXCLUDED_OPERATORS.keys()
    )
)
"""Operators that are clustered in addition to MindSpore's default on CPU."""

UNCLUSTERED_OPERATORS = tuple(
    sorted(
        operators_where(
            lambda operator: (
                bool(operator.excluded)
                and operator.mindspore.cluster is Cluster.BY_DEFAULT_FOR_OTHERS
            )
        )
    )
)
"""The `EXCLUDED_OPERATORS` that MindSpore would cluster for our generator by default."""

EXPANDED_OPERATORS = tuple(sorted(selections.CPU_EXPAND_OPS_OF_OWN_GENERATOR))
"""Operators that are expanded in addition to MindSpore's default."""


def flags_for_own_generator(level: int) -> GraphKernelFlags:
    """Returns the graph kernel flags for our generator at the given ``--opt_level``."""
    return GraphKernelFlags(
        opt_level=level,
        kernel_generator=GENERATOR,
        enable_cluster_ops=CLUSTERED_OPERATORS,
        disable_cluster_ops=UNCLUSTERED_OPERATORS,
        enable_expand_ops=EXPANDED_OPERATORS,
        disable_expand_ops=OPERATORS_KEPT_WHOLE,
        disable_pass=(
            SPLITTER_PASS,
            *((SIMPLIFY_PASS,) if level >= 2 else ()),
            *disabled_passes(level),
        ),
    )


LIBRARY_OPERATORS = operators_with(Trait.ONEDNN | Trait.MATRIX_UNIT)
"""Operators for which our kernels call oneDNN.

If oneDNN is not available, these operators are not clustered, since MindSpore's own kernels are
then faster than ours.
"""


def drop_excluded_operators(flags: GraphKernelFlags, *, library: bool = True) -> GraphKernelFlags:
    """Returns the flags without `EXCLUDED_OPERATORS` in the lists of operators to cluster.

    Excluded operators that MindSpore clusters by default are added to ``disable_cluster_ops``.

    Args:
        library: whether oneDNN is available. Without oneDNN, the function also removes
            `LIBRARY_OPERATORS`.
    """
    out = EXCLUDED_OPERATORS.keys() if library else EXCLUDED_OPERATORS.keys() | LIBRARY_OPERATORS
    kept: dict[str, Any] = {
        name: tuple(one for one in names if one not in out)
        for name, names in flags.set_flags().items()
        if name in ("enable_cluster_ops", "enable_cluster_ops_only")
    }
    if flags.enable_cluster_ops_only is None:
        kept["disable_cluster_ops"] = tuple(
            dict.fromkeys((*(flags.disable_cluster_ops or ()), *UNCLUSTERED_OPERATORS))
        )
    return replace(flags, **kept)
