"""Single operators that MindSpore computes slowly become our kernels, with gradients."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np

import ms_fusion as mf
from ms_fusion.onnx.native.child import NativeWorkers
from tests.ms_fusion.onnx.cell.modes import in_modes
from tests.ms_fusion.onnx.cell.test_cell import random, same
from tests.ms_fusion.onnx.fuse.models import Builder

Written = Callable[[Builder], str]


def convolution(*weight: int, bias: bool = True, **told: object) -> Written:
    return lambda b: b.add("Conv", "x", b.weight(*weight), *[b.weight(weight[0])] * bias, **told)


def normalised(op: str, *sizes: int, shift: bool = False) -> Written:
    return lambda b: b.add(
        op, "x", b.weight(*sizes), *[b.weight(*sizes)] * shift, axis=-len(sizes), epsilon=1e-3
    )


OURS: dict[str, tuple[tuple[int, ...], Written]] = {
    "Conv2d": ((2, 4, 9, 8), convolution(6, 4, 3, 3, pads=[1, 1, 1, 1])),
    "Conv2d, more on one side": (
        (2, 4, 9, 8),
        convolution(6, 4, 3, 2, pads=[0, 1, 2, 0], bias=False),
    ),
    "Conv2d, groups": (
        (2, 4, 9, 8),
        convolution(6, 2, 3, 3, group=2, strides=[2, 1], dilations=[1, 2]),
    ),
    "Conv2d, as large as before": (
        (2, 4, 9, 8),
        convolution(6, 4, 3, 3, auto_pad="SAME_LOWER", strides=[2, 2]),
    ),
    "Conv2d in one axis": ((2, 4, 9), convolution(6, 4, 3, pads=[1, 0])),
    "LayerNorm": ((2, 3, 16), normalised("LayerNormalization", 16, shift=True)),
    "LayerNorm, two axes": ((2, 3, 16), normalised("LayerNormalization", 3, 16, shift=True)),
    "RMSNorm": ((2, 3, 16), normalised("RMSNormalization", 16)),
}
"""Name of the kernel and its variant → shape of x, and the operator."""
MINDSPORES: dict[str, tuple[tuple[int, ...], Written]] = {
    "Conv in three axes": ((1, 2, 4, 5, 6), convolution(3, 2, 2, 2, 2)),
    "LayerNormalization without a shift": ((2, 3, 16), normalised("LayerNormalization", 16)),
    "LayerNormalization by one number": (
        (2, 3, 16),
        lambda b: b.add("LayerNormalization", "x", b.weight(1), b.weight(1)),
    ),
}
ALL = OURS | MINDSPORES


def model(name: str, path: Path) -> tuple[Path, np.ndarray]:
    shape, write = ALL[name]
    b = Builder({"x": ("n", *shape[1:])}, opset=23)
    return b.save(path / "model.onnx", write(b)), random(*shape)


@in_modes("name", ALL, quick=ALL.keys() - {"Conv2d", "LayerNorm"})
def test_single_operator_kernels_equal_onnx_runtime(
    name: str, native: NativeWorkers, tmp_path: Path
) -> None:
    source, x = model(name, tmp_path)
    mf.auto_fuse(source, tmp_path / "fused.onnx", opt_level=0)
    net = mf.from_onnx(tmp_path / "fused.onnx")
    assert [cell.spec.name for cell in net.cells()] == [name.split(" ")[0].strip(",")] * (
        name in OURS
    )
    same(net, source, {"x": x}, native)


def gradients(net: Any, x: Any, share: Any) -> Any:
    def loss(given: Any) -> Any:
        return (net(given) * share).sum()

    return ms.grad(loss, 0, net.trainable_params())(x)


@in_modes(
    "name",
    OURS,
    quick=("Conv2d, more on one side", "Conv2d, groups", "LayerNorm, two axes"),
)
def test_gradients_of_our_kernels_equal_mindspores(name: str, tmp_path: Path) -> None:
    source, x = model(name, tmp_path)
    mf.auto_fuse(source, tmp_path / "fused.onnx", opt_level=0)
    ours, theirs = (mf.from_onnx(file).set_train() for file in (tmp_path / "fused.onnx", source))
    assert not list(theirs.cells()), (
        "a model that was not fused is MindSpore's, for `enable` to fuse"
    )
    share = ms.Tensor(random(*ours(ms.Tensor(x)).shape))
    found, expected = (gradients(net, ms.Tensor(x), share) for net in (ours, theirs))
    for one, two in zip((found[0], *found[1]), (expected[0], *expected[1]), strict=True):
        np.testing.assert_allclose(one.asnumpy(), two.asnumpy(), rtol=1e-4, atol=1e-5)
