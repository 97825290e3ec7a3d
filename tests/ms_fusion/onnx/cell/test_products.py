"""Groups with matrix products: our kernels in training too; gradients by finite differences."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import pytest
from onnx import TensorProto

import ms_fusion as mf
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.fuse.models import Builder

STEP = 1e-5


def gemm(*bias: int, **told: Any) -> Callable[[Builder], str]:
    def made(b: Builder) -> str:
        a = "x" if not told.get("transA") else b.add("Transpose", "x", perm=[1, 0])
        weight = b.weight(5, 4) if told.get("transB") else b.weight(4, 5)
        return b.add("Gemm", a, weight, *([b.weight(*bias)] if bias != (0,) else []), **told)

    return made


def heads(b: Builder) -> str:
    """A product with its rows laid out by heads; its gradient reads them in two shapes."""
    parted = b.add(
        "Reshape", b.add("MatMul", "x", b.weight(4, 6)), b.constant([0, 0, 2, 3], "int64")
    )
    return b.add("Transpose", parted, perm=[0, 2, 3, 1])


CASES: dict[str, tuple[tuple[int | str, ...], tuple[int, ...], Callable[[Builder], str]]] = {
    "3-D by 2-D": ((2, 3, 4), (2, 3, 4), lambda b: b.add("MatMul", "x", b.weight(4, 5))),
    "of unknown sizes": (("n", "t", 4), (2, 3, 4), lambda b: b.add("MatMul", "x", b.weight(4, 5))),
    "4-D by 4-D": (
        (2, 3, 4, 5),
        (2, 3, 4, 5),
        lambda b: b.add("MatMul", "x", b.weight(2, 3, 5, 4)),
    ),
    "batches repeated on the left": (
        (2, 1, 3, 4),
        (2, 1, 3, 4),
        lambda b: b.add("MatMul", "x", b.weight(1, 3, 4, 2)),
    ),
    "batches repeated on the right": (
        (2, 3, 4),
        (2, 3, 4),
        lambda b: b.add("MatMul", b.weight(5, 1, 2, 3), "x"),
    ),
    "a vector on the left": ((4,), (4,), lambda b: b.add("MatMul", "x", b.weight(2, 4, 3))),
    "a vector on the right": ((2, 3, 4), (2, 3, 4), lambda b: b.add("MatMul", "x", b.weight(4))),
    "two vectors": ((4,), (4,), lambda b: b.add("MatMul", "x", b.weight(4))),
    "by itself": ((3, 3), (3, 3), lambda b: b.add("MatMul", "x", "x")),
    "by heads": (("n", "t", 4), (2, 3, 4), heads),
    "Gemm": ((3, 4), (3, 4), gemm(0)),
    "Gemm, a row": ((3, 4), (3, 4), gemm(5)),
    "Gemm, a column": ((3, 4), (3, 4), gemm(3, 1, beta=0.5)),
    "Gemm, one number": ((3, 4), (3, 4), gemm(1, alpha=2.0)),
    "Gemm, all of it": ((3, 4), (3, 4), gemm(3, 5, alpha=0.5, beta=2.0)),
    "Gemm turned": ((3, 4), (3, 4), gemm(1, 5, transA=1, transB=1, alpha=1.5, beta=-1.0)),
}
"""Operand → shape of x in the model, actual shape, and the product."""


IN_QUICK = {"batches repeated on the left", "by heads", "Gemm turned"}
"""One of each layout: repeated batches, unknown sizes, a transposed addend."""


@cases(
    "name",
    [pytest.param(name, marks=() if name in IN_QUICK else FULL) for name in CASES],
    per_item=8,
)
def test_gradients_are_what_finite_differences_say(name: str, tmp_path: Path) -> None:
    told, shape, product = CASES[name]
    b = Builder({"x": told}, TensorProto.DOUBLE)
    b.save(tmp_path / "model.onnx", b.add("Sin", b.add("Tanh", product(b))))
    ledger = mf.auto_fuse(tmp_path / "model.onnx", tmp_path / "fused.onnx")
    assert any({"MatMul", "Gemm"} & set(one.operators) for one in ledger.kernels)
    net = mf.from_onnx(tmp_path / "fused.onnx").set_train()
    assert not any(cell.cells() for cell in net.cells()), "a group that is no kernel in training"
    random = np.random.default_rng(4)
    weights = net.trainable_params()
    at = [random.standard_normal(shape), *(one.asnumpy() for one in weights)]
    share = random.standard_normal(net(ms.Tensor(at[0])).shape)

    def loss(x: Any) -> Any:
        return (net(x) * ms.Tensor(share)).sum()

    found = ms.grad(loss, 0, weights or None)(ms.Tensor(at[0]))
    of_x, of_weights = found if weights else (found, ())

    def loss_at(place: int, array: np.ndarray) -> float:
        if place == 0:
            return float(loss(ms.Tensor(array)))
        weights[place - 1].set_data(ms.Tensor(array))
        return float(loss(ms.Tensor(at[0])))

    for place, gradient in enumerate((of_x, *of_weights)):
        way = random.standard_normal(at[place].shape)
        ahead, back = (loss_at(place, at[place] + sign * STEP * way) for sign in (1, -1))
        loss_at(place, at[place])
        assert (gradient.asnumpy() * way).sum() == pytest.approx(
            (ahead - back) / (2 * STEP), rel=1e-5, abs=1e-7
        )
