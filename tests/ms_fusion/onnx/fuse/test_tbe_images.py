"""Operator files of convolution and pooling groups equal their kernels, on CPU and for a chip."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.kernels.tbe_source import descriptions, write_tbe_source
from ms_fusion.onnx.native.child import NativeWorkers
from tbe_impl.loading.operator import load_operator
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.fuse.models import Builder, convolutional_net
from tests.ms_fusion.onnx.fuse.test_tbe_source import group_of, manifest

ALLOWED = {"cpu": 1e-5, "Ascend910B": 2e-3}
"""Relative to the largest result: a chip multiplies float16 only."""


def conv(*weight: int, bias: bool = True, **told: Any) -> Callable[[Builder], str]:
    return lambda b: b.add(
        "Conv", "x", b.weight(*weight), *([b.weight(weight[0])] if bias else []), **told
    )


def turned(*weight: int, **told: Any) -> Callable[[Builder], str]:
    return lambda b: b.add(
        "ConvTranspose", "x", b.weight(*weight), b.weight(weight[1] * told.get("group", 1)), **told
    )


def pool(kind: str, **told: Any) -> Callable[[Builder], str]:
    return lambda b: b.add(kind, b.add("Tanh", "x"), **told)


IMAGE = (2, 4, 7, 6)
CASES: dict[str, tuple[tuple[int | str, ...], Callable[[Builder], str]]] = {
    "3 by 3": (IMAGE, conv(5, 4, 3, 3, pads=[1, 1, 1, 1])),
    "1 by 1": (IMAGE, conv(5, 4, 1, 1, bias=False)),
    "uneven padding, steps, gaps": (
        IMAGE,
        conv(3, 4, 3, 2, pads=[2, 0, 1, 1], strides=[2, 3], dilations=[2, 1]),
    ),
    "padding that follows": (IMAGE, conv(3, 4, 3, 3, auto_pad="SAME_UPPER", strides=[2, 2])),
    "groups": (IMAGE, conv(6, 2, 3, 3, group=2, pads=[1, 1, 1, 1])),
    "each channel alone": (IMAGE, conv(4, 1, 3, 3, group=4, pads=[1, 1, 1, 1])),
    "unknown batch": (("n", 4, 7, 6), conv(5, 4, 3, 3, pads=[1, 1, 1, 1])),
    "one axis": ((2, 4, 9), conv(5, 4, 3, pads=[1, 1], strides=[2])),
    "three axes": ((1, 2, 4, 5, 6), conv(3, 2, 2, 3, 2, pads=[0, 1, 1, 1, 1, 0])),
    "turned": (IMAGE, turned(4, 3, 3, 3)),
    "turned with steps": (
        IMAGE,
        turned(4, 3, 3, 2, strides=[2, 3], pads=[1, 0, 1, 1], output_padding=[1, 2]),
    ),
    "turned with groups and gaps": (
        IMAGE,
        turned(4, 3, 2, 2, group=2, dilations=[2, 1], strides=[1, 2]),
    ),
    "largest": (IMAGE, pool("MaxPool", kernel_shape=[3, 3], strides=[2, 2], pads=[1, 1, 1, 1])),
    "largest, with gaps": (IMAGE, pool("MaxPool", kernel_shape=[2, 2], dilations=[2, 2])),
    "mean": (IMAGE, pool("AveragePool", kernel_shape=[2, 3], strides=[2, 1])),
    "mean with edges": (
        IMAGE,
        pool("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1], count_include_pad=1),
    ),
    "mean without edges": (
        IMAGE,
        pool("AveragePool", kernel_shape=[3, 3], pads=[1, 1, 1, 1], strides=[2, 2]),
    ),
}


QUICK = {
    "uneven padding, steps, gaps": ("cpu", "Ascend910B"),
    "turned with groups and gaps": ("cpu", "Ascend910B"),
    "largest, with gaps": ("cpu",),
    "mean without edges": ("cpu",),
}
"""The richest cases, for these chips."""


@cases(
    "name, chips",
    [
        pytest.param(name, tuple(ALLOWED), marks=FULL)
        for name in CASES
        if QUICK.get(name) != tuple(ALLOWED)
    ]
    + list(QUICK.items()),
)
def test_a_file_computes_what_the_kernel_does(
    name: str, chips: tuple[str, ...], native: NativeWorkers, tmp_path: Path, full: bool
) -> None:
    """In `make test` the DSL definition is evaluated; nothing is compiled."""
    backend = "cpu" if full else "numpy"
    shape, made = CASES[name]
    b = Builder({"x": shape})
    kernel = group_of(b, native, tmp_path / "one.onnx", b.add("Relu", made(b)))
    source = write_tbe_source(kernel)
    file = tmp_path / "one.py"
    file.write_text(source.text)
    body = kernel.node.body
    assert body is not None
    values = [body.values[one] for one in (*body.inputs, *body.outputs)]
    given = descriptions(values, lambda size: {"n": 2}.get(size, size))
    random = np.random.default_rng(3)
    arrays = [
        random.standard_normal(one["shape"]).astype(np.float32) for one in given[: len(body.inputs)]
    ]  # type: ignore[arg-type]
    expected = kernel.kernel(*arrays)
    for chip in chips:
        most = ALLOWED[chip]
        found = load_operator(file).build(*given, soc=chip)(*arrays, backend=backend)
        np.testing.assert_allclose(found, expected, rtol=most, atol=most * np.abs(expected).max())
    assert {one.node.name for one in source.lines} == {node.name for node in body.nodes}


def test_every_group_of_a_convolutional_net_has_a_file(tmp_path: Path) -> None:
    auto_fuse(convolutional_net(tmp_path / "net.onnx"), tmp_path / "fused.onnx")
    told = manifest(tmp_path)
    assert any({"Conv", "MaxPool"} & {node["op"] for node in one["nodes"]} for one in told)
    assert [one["tbe"]["builds_for"] for one in told] == [["Ascend910B", "cpu"]] * len(told)
