"""Flags for our own generator on CPU: whole clusters, nearly every operator."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

from ms_fusion import operators
from ms_fusion.flags import GraphKernelFlags
from ms_fusion.generator_limits import GENERATOR, KEPT_OUT
from ms_fusion.presets.order_preserving_passes import order_kept

WHOLE = "split.graph_kernel_splitter"
"""The pass that cuts clusters into pieces: at reductions, at transposes, at a depth."""

REWRITING = "highlevelopt1.arithmetic_simplify"
"""The pass that rewrites formulas: `x + -x` of integers becomes a float. Our compiler finds what is the same by itself."""

NOT_EXPANDED = tuple("BiasAddGrad GeLU GeLUGrad Softplus SoftplusGrad SqrtGrad Square".split())
"""Spelled out by MindSpore unless it is told not to.

MindSpore computes them in float32. When they are expanded, the last basic operator is float32, and a net of float16 that has
several results hands out float32.
"""

WHOLE_OPERATORS = frozenset(
    ("FastGeLU", "HSigmoid", "HSwish", "LogSoftmax", "ReduceMean", "SiLU", "Sigmoid", *NOT_EXPANDED)
)
"""Could be spelled out by MindSpore, which then computes them in float32, float64 too, and hands out float32."""

CLUSTERED = tuple(
    sorted(
        (
            operators.CPU_CLUSTERABLE
            | operators.CPU_CLUSTERABLE_ELSEWHERE
            | operators.NOT_FOR_ANOTHER_GENERATOR
            | WHOLE_OPERATORS
        )
        - KEPT_OUT.keys()
    )
)
"""Added to what MindSpore clusters on CPU by itself."""

TAKEN_OUT = ("ReduceAll",)
"""Of what is kept out, what MindSpore clusters by itself when it is not its own generator that builds."""

EXPANDED = tuple(sorted(operators.CPU_EXPANDED_FOR_OURS))
"""Added to what MindSpore spells out in basic operators by itself."""


def served(level: int) -> GraphKernelFlags:
    """The flags at an opt_level."""
    return GraphKernelFlags(
        opt_level=level,
        kernel_generator=GENERATOR,
        enable_cluster_ops=CLUSTERED,
        disable_cluster_ops=TAKEN_OUT,
        enable_expand_ops=EXPANDED,
        disable_expand_ops=NOT_EXPANDED,
        disable_pass=(WHOLE, *((REWRITING,) if level >= 2 else ()), *order_kept(level)),
    )


OF_LIBRARY = frozenset("MatMul BatchMatMul Conv2D Conv2DBackpropInput Conv2DBackpropFilter".split())
"""Computed by oneDNN in our groups; without it MindSpore's own are quicker than anything of ours."""


def without_kept_out(flags: GraphKernelFlags, *, library: bool = True) -> GraphKernelFlags:
    """The flags without operators in their lists that are kept out of the groups; those that come by themselves are taken out.

    Args:
        library: whether oneDNN can be called here.
    """
    out = KEPT_OUT.keys() if library else KEPT_OUT.keys() | OF_LIBRARY
    kept: dict[str, Any] = {
        name: tuple(one for one in names if one not in out)
        for name, names in flags.set_flags().items()
        if name in ("enable_cluster_ops", "enable_cluster_ops_only")
    }
    if flags.enable_cluster_ops_only is None:
        kept["disable_cluster_ops"] = tuple(
            dict.fromkeys((*(flags.disable_cluster_ops or ()), *TAKEN_OUT))
        )
    return replace(flags, **kept)
