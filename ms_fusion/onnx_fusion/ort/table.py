"""What ONNX Runtime has an operator for, and which of our rules it has none for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from ms_fusion.onnx_fusion.ort import activations, attention, norms, rotary, softmax
from ms_fusion.onnx_fusion.ort.equivalents import Equivalent

EQUIVALENTS: tuple[Equivalent, ...] = (
    *attention.EQUIVALENTS,
    *norms.EQUIVALENTS,
    *activations.EQUIVALENTS,
    *rotary.EQUIVALENTS,
    *softmax.EQUIVALENTS,
)
"""Large ones first."""
_BY_ITSELF = "ONNX Runtime fuses it itself when it loads the model, in a layout of its own; FusedConv with a residual sum is slower"
_AS_GEMM = "ONNX Runtime makes Gemm or FusedGemm of it itself where sizes are known, which is as quick as product and sum"
_NOTHING = "ONNX Runtime has no operator for it"
WITHOUT: Mapping[str, str] = {
    "ScaleMaskSoftmax": "ONNX Runtime has none on a CPU; within attention it is part of Attention",
    "SwiGLU": "ONNX Runtime has none; its SiLU becomes QuickGelu",
    "ConvBNActivation": _BY_ITSELF,
    "ConvResidual": _BY_ITSELF,
    "MatMulBiasReLU": _AS_GEMM,
    "LinearActivation": _AS_GEMM,
    "LinearBias": _AS_GEMM,
    "LinearResidual": _NOTHING,
    "LayerNormLinear": _NOTHING,
    "LayerNormLinearActivation": _NOTHING,
}
"""Rule → why it is not mapped."""


def lines() -> Iterator[str]:
    """Both tables in Markdown."""
    yield "| rule | operators of ONNX Runtime | dtypes | |"
    yield "|---|---|---|---|"
    for one in EQUIVALENTS:
        names = ", else ".join(name for name, _ in one.writers)
        yield f"| {one.rule.name} | {names} | {', '.join(one.dtypes)} | {one.told} |"
    yield ""
    yield "| rule | why it is left to ONNX Runtime |"
    yield "|---|---|"
    for name, why in WITHOUT.items():
        yield f"| {name} | {why} |"
