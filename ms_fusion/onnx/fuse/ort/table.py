"""Lists the rules with an equivalent in ONNX Runtime, and the reasons why other rules have none."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ms_fusion.onnx.fuse.ort import activations, attention, norms, rotary, softmax
from ms_fusion.onnx.fuse.ort.equivalents import Equivalent

EQUIVALENTS: tuple[Equivalent, ...] = (
    *attention.EQUIVALENTS,
    *norms.EQUIVALENTS,
    *activations.EQUIVALENTS,
    *rotary.EQUIVALENTS,
    *softmax.EQUIVALENTS,
)
"""All equivalents, ordered from large patterns to small patterns."""
_FUSED_ON_LOAD = (
    "ONNX Runtime fuses it itself when it loads the model, in a layout of its own; "
    "FusedConv with a residual sum is slower"
)
_FUSED_AS_GEMM = (
    "ONNX Runtime makes Gemm or FusedGemm of it itself where sizes are known, "
    "which is as quick as product and sum"
)
_NO_OPERATOR = "ONNX Runtime has no operator for it"
UNMAPPED_RULES: Mapping[str, str] = {
    "ScaleMaskSoftmax": "ONNX Runtime has none on a CPU; within attention it is part of Attention",
    "SwiGLU": "ONNX Runtime has none; its SiLU becomes QuickGelu",
    "ConvBNActivation": _FUSED_ON_LOAD,
    "ConvResidual": _FUSED_ON_LOAD,
    "MatMulBiasReLU": _FUSED_AS_GEMM,
    "LinearActivation": _FUSED_AS_GEMM,
    "LinearBias": _FUSED_AS_GEMM,
    "LinearResidual": _NO_OPERATOR,
    "LayerNormLinear": _NO_OPERATOR,
    "LayerNormLinearActivation": _NO_OPERATOR,
}
"""Maps the name of a rule without an equivalent to the reason."""


def lines() -> Iterator[str]:
    """Yields the lines of two Markdown tables: rules with an equivalent, and rules without one."""
    yield "| rule | operators of ONNX Runtime | dtypes | |"
    yield "|---|---|---|---|"
    for one in EQUIVALENTS:
        names = ", else ".join(name for name, _ in one.writers)
        yield f"| {one.rule.name} | {names} | {', '.join(one.dtypes)} | {one.told} |"
    yield ""
    yield "| rule | why it is left to ONNX Runtime |"
    yield "|---|---|"
    for name, why in UNMAPPED_RULES.items():
        yield f"| {name} | {why} |"
