"""The flags under which MindSpore's fusion on CPU is built by `ms_fusion.kernel_server`: whole clusters, nearly every operator."""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ms_fusion import operators
from ms_fusion.flags import GraphKernelFlags

GENERATOR = "AKG_V2"
"""What MindSpore calls a generator that it imports as the module `akg_v2`; here that is ours."""

WHOLE = "split.graph_kernel_splitter"
"""The pass that cuts clusters into pieces: at reductions, at transposes, at a depth."""

KEPT_OUT: Mapping[str, str] = MappingProxyType(
    {
        "BatchNorm": "what it is told of epsilon and training is left out of the kernel's description, and in training "
        "MindSpore raises a type error",
        "Concat": "MindSpore raises an error when it is clustered",
        "CumSum": "a running sum is no loop nest, and nothing fuses with it",
        "Gather": "MindSpore raises an error for an index beyond the table, which a kernel cannot",
    }
)
"""Could be clustered, and is not, with the reason."""

CLUSTERED = tuple(
    sorted((operators.CPU_CLUSTERABLE | operators.CPU_CLUSTERABLE_ELSEWHERE) - KEPT_OUT.keys())
)
"""Added to what MindSpore clusters on CPU by itself."""

EXPANDED = tuple(
    "LayerNorm LogSoftmax ReduceMean ReluGrad SiLU Sigmoid SigmoidGrad Softmax SquaredDifference Squeeze".split()
)
"""Added to what MindSpore spells out in basic operators by itself."""


def generator_of(flags: str) -> str:
    """Who builds the kernels under a flag string on CPU: ``mindspore`` or ``ms_fusion``.

    >>> generator_of("--opt_level=2 --kernel_generator=AKG_V2"), generator_of("--opt_level=2")
    ('ms_fusion', 'mindspore')
    """
    return "ms_fusion" if f"--kernel_generator={GENERATOR}" in flags.split() else "mindspore"


def served(level: int) -> GraphKernelFlags:
    """The flags at an opt_level."""
    return GraphKernelFlags(
        opt_level=level,
        kernel_generator=GENERATOR,
        enable_cluster_ops=CLUSTERED,
        enable_expand_ops=EXPANDED,
        disable_pass=(WHOLE,),
    )
