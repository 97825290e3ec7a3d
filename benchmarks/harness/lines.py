"""The lines of `make bench`: claim, contestants, target; imports no framework."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from types import MappingProxyType

OURS, CUSTOM = "ours", "ours with custom_ops"
UNFUSED, REPAIRED, OWN = "unfused", "repaired", "MindSpore's fusion"
TORCH, COMPILED, RUNTIME = "torch", "torch.compile", "ONNX Runtime"
CEILING, INSIDE = "ceiling", "ceiling inside MindSpore"
IN_MINDSPORE = (OURS, CUSTOM, UNFUSED, REPAIRED, OWN, INSIDE)
WITH_OURS = (OURS, CUSTOM, INSIDE)
CEILINGS = (CEILING, INSIDE)
REPAIR: Mapping[str, str] = MappingProxyType({"ONEDNN_MAX_CPU_ISA": "AVX2"})
"""Repairs MindSpore's convolution."""
KEPT_TO_AVX2: Mapping[str, str] = MappingProxyType(
    {**REPAIR, "ATEN_CPU_CAPABILITY": "avx2", "MKL_ENABLE_INSTRUCTIONS": "AVX2"}
)
"""Set with `MS_FUSION_ISA=avx2`: the switches of oneDNN, torch and its MKL; MindSpore's own loops
have none.
"""
NOT_KEPT = (COMPILED, RUNTIME, REPAIRED)
"""Contestants that `MS_FUSION_ISA=avx2` excludes. torch.compile computes wrong results there (an
MLP is off by 6), ONNX Runtime has no switch, and default MindSpore equals repaired MindSpore.
"""
CONTESTANTS: Mapping[str, str] = MappingProxyType(
    {
        OURS: '`mf.enable(generator="ms_fusion")`',
        CUSTOM: "the same with Cells of `custom_ops` in the net; interleaved with ours like all "
        "other contestants",
        UNFUSED: "MindSpore with its default settings in graph mode",
        REPAIRED: "the same with `ONEDNN_MAX_CPU_ISA=AVX2`, which makes its convolution fast and "
        "its products slower",
        OWN: 'MindSpore\'s generator under our presets, `mf.enable(generator="mindspore")`; '
        "operators that this generator builds wrongly stay unfused",
        TORCH: "eager mode, with the fused function if there is one, in inference mode or with "
        "autograd, with the fastest Adam (`fused`); images in the default order or channels last, "
        "whichever is faster",
        COMPILED: "`torch.compile(dynamic=False, fullgraph=True)` of the whole step including the "
        "optimizer, after warm-up. Weights may change between calls, as in ours, so weights are "
        "not frozen",
        RUNTIME: "the net as torch exports it, all optimisations, one session",
        CEILING: "for operators: the time of a kernel that only moves the necessary bytes, the "
        "faster of two variants. For nets: the time of as many operations in one large product, "
        "by oneDNN or torch, whichever is faster",
        INSIDE: "for operators: the time of such a kernel when MindSpore calls it",
    }
)
"""The contestants and how each is tuned; all have the same threads, weights and inputs."""


@dataclass(frozen=True)
class Line:
    """A claim.

    Attributes:
        workload: its name in `workloads`.
        what: ``forward``, ``inference`` or ``training`` (a step with Adam).
        rivals: contestants besides ours.
        targets: rival → required speed-up of ours; for the ceiling the required share.
        is_quick: whether the short form includes it.
    """

    workload: str
    what: str
    rivals: tuple[str, ...]
    targets: Mapping[str, float] = field(default_factory=dict)
    is_quick: bool = False

    @property
    def title(self) -> str:
        """Name on the command line and in tables."""
        return f"{self.workload}, {self.what}"


_OPERATOR = (UNFUSED, OWN, TORCH, COMPILED, RUNTIME, CEILING, INSIDE)
_DENSE = (UNFUSED, OWN, TORCH, COMPILED, RUNTIME, CEILING)
_RECURRENT = (UNFUSED, OWN, TORCH, RUNTIME)
_LANGUAGE = (CUSTOM, UNFUSED, OWN, TORCH, COMPILED, CEILING)
_CONVOLUTIONAL = (UNFUSED, REPAIRED, TORCH, COMPILED, RUNTIME, CEILING)


def _operator(name: str, ceiling: float, *, is_quick: bool = False, **targets: float) -> Line:
    named = {"own": OWN, "unfused": UNFUSED}
    return Line(
        name,
        "forward",
        _OPERATOR,
        {CEILING: ceiling, **{named[one]: target for one, target in targets.items()}},
        is_quick,
    )


def _network(
    name: str, rivals: tuple[str, ...], *, quick: str = "", **targets: Mapping[str, float]
) -> tuple[Line, ...]:
    least = {UNFUSED: 1.0}
    # ONNX exporters have no training step
    return tuple(
        Line(
            name,
            what,
            tuple(who for who in rivals if what == "inference" or who != RUNTIME),
            {**least, **targets.get(what, {})},
            what == quick,
        )
        for what in ("inference", "training")
    )


_LIKE_TORCH = {UNFUSED: 50.0, REPAIRED: 1.3, TORCH: 1 / 1.3}
LINES = (
    _operator("swish", 0.90, own=3.0, is_quick=True),
    _operator("chain", 0.90, own=1.4, unfused=5.0),
    _operator("softmax", 0.75, own=2.5),
    _operator("layer_norm", 0.75, own=3.0),
    _operator("swish float16", 0.60),
    *_network("MLP", _DENSE, quick="training", training={UNFUSED: 1.8}),
    *_network("transformer", _DENSE, training={UNFUSED: 1.8, COMPILED: 1 / 0.85}),
    *_network("LSTM", _RECURRENT),
    *_network("GRU", _RECURRENT),
    *_network("small MLP", _DENSE),
    *_network("ResNet", _CONVOLUTIONAL, quick="inference"),
    *_network("U-Net", _CONVOLUTIONAL),
    *_network("ResNet-18", _CONVOLUTIONAL, inference=_LIKE_TORCH, training=_LIKE_TORCH),
    *_network("YOLO-like", _CONVOLUTIONAL, inference=_LIKE_TORCH, training=_LIKE_TORCH),
    Line("transformer layer", "training", _LANGUAGE, {UNFUSED: 1.8}),
    Line("language model", "training", _LANGUAGE, {UNFUSED: 1.8}),
    Line("YOLOv3", "inference", _CONVOLUTIONAL, {UNFUSED: 5.7, REPAIRED: 1.3}),
)
