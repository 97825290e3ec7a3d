"""`custom_ops` operators with their shapes, MindSpore's versions and the bytes that must move."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn

import custom_ops

COLUMNS = 1024
LARGE = 16 << 20
"""Elements: far more than a cache holds."""


@dataclass(frozen=True)
class Case:
    """An operator and its measurement setup.

    Attributes:
        made: builds our Cell for a route.
        shapes: shapes of the floating-point inputs.
        built_in: builds MindSpore's own Cell.
        labels: number of classes, if a label array is a further input; its shape is `labelled`.
        labelled: axes of the first input that the labels have.
        tables: further inputs, without gradient.
        forward: least number of arrays of the first shape that are read and written; None if
            arithmetic dominates.
        gradient: the same with the gradients of inputs and weights.
        trains: whether it has a gradient.
    """

    made: Callable[[str], Any]
    shapes: tuple[tuple[int, ...], ...]
    built_in: Callable[[], Any] | None = None
    labels: int = 0
    labelled: int = 1
    tables: tuple[np.ndarray, ...] = ()
    forward: tuple[int, int] | None = (1, 1)
    gradient: tuple[int, int] | None = (2, 1)
    trains: bool = True


def cases(elements: int = LARGE) -> dict[str, Case]:
    """Cases by name, with about this many elements in each input."""
    own = custom_ops
    rows = max(1, elements // COLUMNS)
    one, two = ((rows, COLUMNS),), ((rows, COLUMNS),) * 2
    images = (_images(elements),)
    pairs: dict[str, Any] = {"shapes": two, "forward": (2, 1), "gradient": (3, 2)}
    return {
        "AddReLU": Case(
            lambda route: own.AddReLU(route=route), two, forward=(2, 1), gradient=(3, 1)
        ),
        "MulSigmoid": Case(lambda route: own.MulSigmoid(route=route), **pairs),
        "MyOp": Case(lambda route: own.MyOp(route=route), **pairs),
        "Swish": Case(lambda route: own.Swish(route=route), one, nn.SiLU),
        "GELU": Case(lambda route: own.GELU(False, route=route), one, lambda: nn.GELU(False)),
        "GELU tanh": Case(lambda route: own.GELU(True, route=route), one, lambda: nn.GELU(True)),
        "Mish": Case(lambda route: own.Mish(route=route), one, nn.Mish),
        "HardSwish": Case(lambda route: own.HardSwish(route=route), one, nn.HSwish),
        "SwiGLU": Case(lambda route: own.SwiGLU(route=route), **pairs),
        "GeGLU": Case(lambda route: own.GeGLU(route=route), **pairs),
        "BiasDropoutAdd": Case(
            lambda route: own.BiasDropoutAdd(0.9, seed=1, route=route).set_train(False),
            ((rows, COLUMNS), (COLUMNS,), (rows, COLUMNS)),
            forward=(2, 1),
            gradient=(1, 1),
        ),
        "Softmax": Case(lambda route: own.Softmax(-1, route=route), one, lambda: nn.Softmax(-1)),
        "LogSoftmax": Case(
            lambda route: own.LogSoftmax(-1, route=route), one, lambda: nn.LogSoftmax(-1)
        ),
        "ScaleMaskSoftmax": Case(
            lambda route: own.ScaleMaskSoftmax(0.125, route=route),
            ((max(1, rows // COLUMNS), min(rows, COLUMNS), COLUMNS),),
            tables=(np.triu(np.ones((min(rows, COLUMNS), COLUMNS), np.bool_), 1),),
        ),
        "LayerNorm": Case(
            lambda route: own.LayerNorm((COLUMNS,), route=route),
            one,
            lambda: nn.LayerNorm((COLUMNS,)),
        ),
        "RMSNorm": Case(lambda route: own.RMSNorm((COLUMNS,), route=route), one),
        "AddLayerNorm": Case(
            lambda route: own.AddLayerNorm((COLUMNS,), route=route),
            two,
            forward=(2, 2),
            gradient=(4, 1),
        ),
        "AddRMSNorm": Case(
            lambda route: own.AddRMSNorm((COLUMNS,), route=route),
            two,
            forward=(2, 2),
            gradient=(4, 1),
        ),
        "GroupNorm": Case(
            lambda route: own.GroupNorm(8, 64, route=route), images, lambda: nn.GroupNorm(8, 64)
        ),
        "BatchNorm": Case(
            lambda route: own.BatchNorm(64, route=route).set_train(),
            images,
            lambda: nn.BatchNorm2d(64).set_train(),
        ),
        "BatchNorm inference": Case(
            lambda route: own.BatchNorm(64, route=route).set_train(False),
            images,
            lambda: nn.BatchNorm2d(64).set_train(False),
        ),
        "SoftmaxCrossEntropy": Case(
            lambda route: own.SoftmaxCrossEntropy(route=route),
            one,
            nn.CrossEntropyLoss,
            labels=COLUMNS,
            forward=(1, 0),
        ),
        "TokenEmbedding": Case(
            lambda route: own.TokenEmbedding(4096, COLUMNS, route=route),
            ((rows,),),
            lambda: nn.Embedding(4096, COLUMNS),
            labels=4096,
            forward=None,
            gradient=None,
        ),
        "RotaryEmbedding": Case(
            lambda route: own.RotaryEmbedding(route=route),
            (_heads(elements),),
            tables=own.rotary_tables(_heads(elements)[2], 128),
        ),
        "IoU": Case(
            lambda route: own.IoU(route=route),
            ((_side(elements), 4),) * 2,
            forward=None,
            trains=False,
        ),
        "BoxDecode": Case(
            lambda route: own.BoxDecode(
                [(10, 13), (16, 30), (33, 23)], 8, float16_inside=False, route=route
            ),
            ((max(1, elements // (52 * 52 * 3 * 85)), 52, 52, 3, 85),),
            trains=False,
        ),
    } | _arithmetic(elements)


def _arithmetic(elements: int) -> dict[str, Case]:
    """Operators whose products dominate the time."""
    own = custom_ops
    rows = max(1, elements // 4 // COLUMNS)
    products: dict[str, Any] = {"shapes": ((rows, COLUMNS),), "forward": None, "gradient": None}
    wide = min(16384, max(128, elements // 1024))
    vocabulary = np.random.default_rng(1).standard_normal((wide, 256), dtype=np.float32) / 16
    found = {
        "MatMulBiasReLU": Case(
            lambda route: own.MatMulBiasReLU(COLUMNS, COLUMNS, route=route),
            built_in=lambda: nn.Dense(COLUMNS, COLUMNS, activation="relu"),
            **products,
        ),
        "MatMulBiasGELU": Case(
            lambda route: own.MatMulBiasGELU(COLUMNS, COLUMNS, route=route),
            built_in=lambda: nn.Dense(COLUMNS, COLUMNS, activation=nn.GELU(True)),
            **products,
        ),
        "MatMulBiasSiLU": Case(
            lambda route: own.MatMulBiasSiLU(COLUMNS, COLUMNS, route=route),
            built_in=lambda: nn.Dense(COLUMNS, COLUMNS, activation=nn.SiLU()),
            **products,
        ),
        "LayerNormLinear": Case(
            lambda route: own.LayerNormLinear(COLUMNS, COLUMNS, route=route),
            built_in=lambda: nn.SequentialCell(
                nn.LayerNorm((COLUMNS,)), nn.Dense(COLUMNS, COLUMNS)
            ),
            **products,
        ),
        "LinearResidual": Case(
            lambda route: own.LinearResidual(COLUMNS, COLUMNS, route=route),
            ((rows, COLUMNS),) * 2,
            _DenseAndSum,
            forward=None,
            gradient=None,
        ),
        "LinearCrossEntropy": Case(
            lambda route: own.LinearCrossEntropy(256, wide, vocabulary, route=route),
            ((max(16, elements // 8192), 256),),
            labels=wide,
            forward=None,
            gradient=None,
        ),
    }
    for name, activation in (
        ("ReLU", nn.ReLU),
        ("LeakyReLU", lambda: nn.LeakyReLU(0.1)),
        ("SiLU", nn.SiLU),
    ):
        for trains in (False, True):
            found[f"ConvBN{name}{' training' if trains else ''}"] = _convolution(
                name, activation, trains=trains
            )
    found["NMS"] = Case(
        lambda route: own.NMS(route=route),
        (),
        tables=_boxes(1000),
        forward=None,
        gradient=None,
        trains=False,
    )
    for shape in ((8, 8, 128, 64), (1, 8, 1024, 64), (1, 4, 4096, 64)):
        found["attention " + "x".join(map(str, shape))] = Case(
            lambda route: own.ScaledDotProductAttention(route=route),
            (shape,) * 3,
            forward=None,
            gradient=None,
        )
    return found


class _DenseAndSum(nn.Cell):
    """A dense layer and a residual, in MindSpore's operators."""

    def __init__(self) -> None:
        super().__init__()
        self.dense = nn.Dense(COLUMNS, COLUMNS)

    def construct(self, x: Any, residual: Any) -> Any:
        return self.dense(x) + residual


def _convolution(name: str, activation: Callable[[], Any], *, trains: bool) -> Case:
    """A block of 64 channels on four 28 × 28 images, where MindSpore's convolution is slow."""
    return Case(
        lambda route: getattr(custom_ops, f"ConvBN{name}")(64, 64, 3, route=route).set_train(
            trains
        ),
        ((4, 64, 28, 28),),
        lambda: nn.SequentialCell(nn.Conv2d(64, 64, 3), nn.BatchNorm2d(64), activation()).set_train(
            trains
        ),
        forward=None,
        gradient=None,
        trains=trains,
    )


def _boxes(count: int) -> tuple[np.ndarray, np.ndarray]:
    """Overlapping boxes of an image and their scores in one class."""
    rng = np.random.default_rng(2)
    corner, size = rng.uniform(0, 500, (1, count, 2)), rng.uniform(20, 120, (1, count, 2))
    boxes = np.concatenate([corner, corner + size], -1).astype(np.float32)
    return boxes, rng.uniform(0, 1, (1, count, 1)).astype(np.float32)


def _images(elements: int) -> tuple[int, ...]:
    """(images, 64 channels, height, width)."""
    side = next(side for side in (128, 64, 32, 16, 8) if elements >= 256 * side * side or side == 8)
    return max(1, elements // (64 * side * side)), 64, side, side


def _heads(elements: int) -> tuple[int, ...]:
    """(batch, heads, tokens, 128)."""
    return max(1, elements // (8 * 128 * 1024)), 8, max(4, min(1024, elements // (8 * 128))), 128


def _side(elements: int) -> int:
    return int(elements**0.5)


def inputs_of(case: Case) -> list[np.ndarray]:
    """Normally distributed inputs from a fixed seed, labels, and tables."""
    rng = np.random.default_rng(0)
    found: list[np.ndarray] = [
        rng.standard_normal(shape, dtype=np.float32) for shape in case.shapes
    ]
    if case.labels:
        labels = rng.integers(0, case.labels, case.shapes[0][: case.labelled], dtype=np.int32)
        found = [*found, labels] if len(case.shapes[0]) > 1 else [labels]
    return [*found, *case.tables]


BUILT_IN = {
    "Swish": "nn.SiLU",
    "GELU tanh": "nn.GELU",
    "HardSwish": "nn.HSwish",
    "BatchNorm": "nn.BatchNorm2d, training",
    "BatchNorm inference": "nn.BatchNorm2d",
    "SoftmaxCrossEntropy": "nn.CrossEntropyLoss",
    "TokenEmbedding": "nn.Embedding",
    "MatMulBiasReLU": "nn.Dense with ReLU",
    "MatMulBiasGELU": "nn.Dense with GELU",
    "MatMulBiasSiLU": "nn.Dense with SiLU",
    "LayerNormLinear": "nn.LayerNorm, nn.Dense",
    "LinearResidual": "nn.Dense and a sum",
}
"""MindSpore's name where it differs."""
OPTIMIZERS = ("Adam", "AdamWeightDecay", "Momentum")
PARAMETERS = {"16 x 1M": (16, 1 << 20), "200 small": (200, 1000)}


def optimizers(name: str, gradients: list[np.ndarray]) -> dict[str, Callable[[], Any]]:
    """A step with ours and with MindSpore's; each call returns the first parameter."""
    given = tuple(Tensor(one) for one in gradients)
    runs = {}
    for route, home in (("native", custom_ops), ("built in", nn)):
        weights = [
            ms.Parameter(Tensor(np.ones_like(one)), name=f"w{i}") for i, one in enumerate(gradients)
        ]
        rates = (1e-3, 0.9) if name == "Momentum" else (1e-3,)
        runs[route] = _stepping(getattr(home, name)(weights, *rates), given, weights[0])
    return runs


def _stepping(optimizer: Any, gradients: tuple[Any, ...], first: Any) -> Callable[[], Any]:
    def run() -> Any:
        optimizer(gradients)
        return first

    return run
