"""Defines the flags for our own generator on CPU: whole clusters, nearly every operator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ms_fusion import operators
from ms_fusion.mindspore.flags.generator_limits import EXCLUDED_OPERATORS, GENERATOR
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
from ms_fusion.mindspore.flags.order_preserving_passes import disabled_passes

SPLITTER_PASS = "split.graph_kernel_splitter"
"""The pass that splits clusters: at reductions, at transposes, at a depth."""

SIMPLIFY_PASS = "highlevelopt1.arithmetic_simplify"
"""The pass that rewrites formulas: `x + -x` of integers becomes a float. Our compiler does common
subexpression elimination itself.
"""

OPERATORS_KEPT_WHOLE = tuple(
    "BiasAddGrad GeLU GeLUGrad Softplus SoftplusGrad SqrtGrad Square".split()
)
"""Operators that MindSpore expands unless disabled.

Its expansion computes in float32. The last basic operator is then float32, so a float16 net with
several results returns float32.
"""

WHOLE_OPERATORS = frozenset(
    (
        "FastGeLU",
        "HSigmoid",
        "HSwish",
        "LogSoftmax",
        "ReduceMean",
        "SiLU",
        "Sigmoid",
        *OPERATORS_KEPT_WHOLE,
    )
)
"""Operators that MindSpore could expand; it then computes in float32, also for float64, and returns
float32.
"""

CLUSTERED_OPERATORS = tuple(
    sorted(
        (
            operators.CPU_CLUSTERABLE_OPS
            | operators.CPU_CLUSTERABLE_BY_OWN_GENERATOR_ONLY
            | operators.MINDSPORE_GENERATOR_ONLY_OPS
            | WHOLE_OPERATORS
        )
        - EXCLUDED_OPERATORS.keys()
    )
)
"""Operators clustered in addition to MindSpore's default on CPU."""

UNCLUSTERED_OPERATORS = ("ReduceAll",)
"""Excluded operators that MindSpore clusters by default for other generators than its own."""

EXPANDED_OPERATORS = tuple(sorted(operators.CPU_EXPAND_OPS_OF_OWN_GENERATOR))
"""Operators expanded in addition to MindSpore's default."""


def flags_for_own_generator(level: int) -> GraphKernelFlags:
    """The flags for our generator at an opt_level."""
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


LIBRARY_OPERATORS = frozenset(
    "MatMul BatchMatMul Conv2D Conv2DBackpropInput Conv2DBackpropFilter".split()
)
"""Operators that oneDNN computes in our groups; without oneDNN MindSpore's own kernels are faster
than ours.
"""


def drop_excluded_operators(flags: GraphKernelFlags, *, library: bool = True) -> GraphKernelFlags:
    """Removes excluded operators from the lists; disables those that are clustered by default.

    Args:
        library: whether oneDNN can be called here.
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
