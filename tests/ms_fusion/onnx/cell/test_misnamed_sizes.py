"""One name for several sizes, as in PyTorch exports: a Cell uses the actual sizes."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import mindspore as ms
import onnx
import pytest
from onnx import helper

import ms_fusion as mf
from ms_fusion.onnx.native.child import NativeWorkers
from tbe_impl.errors import InputError
from tests.ms_fusion.onnx.cell.modes import in_modes
from tests.ms_fusion.onnx.cell.test_cell import random, same
from tests.ms_fusion.onnx.fuse.models import FLOAT, Builder

SHAPE = (2, 6, 8, 9)
NAMED = ("d", 6, "d", 9)
"""The model's declaration of a tensor of that shape."""


def weighed(b: Builder, x: str) -> str:
    return b.add("Mul", b.add("Sigmoid", x), x)


def normed(b: Builder, x: str) -> str:
    return b.add("InstanceNormalization", x, b.weight(3), b.weight(3))


MODELS: dict[str, Callable[[Builder, str], str]] = {
    "Reshape": lambda b, x: normed(
        b, b.add("Reshape", weighed(b, x), b.constant([0, 3, -1], "int64"))
    ),
    "Flatten": lambda b, x: b.add("Softmax", b.add("Flatten", weighed(b, x), axis=1)),
    "Unsqueeze": lambda b, x: b.add(
        "Softmax", b.add("Unsqueeze", weighed(b, x), b.constant([1, -1], "int64")), axis=3
    ),
    "Squeeze": lambda b, x: b.add(
        "Softmax",
        b.add(
            "Squeeze",
            b.add("ReduceMax", weighed(b, x), b.constant([1], "int64")),
            b.constant([1], "int64"),
        ),
    ),
    "Expand": lambda b, x: weighed(
        b, b.add("Expand", weighed(b, x), b.constant([3, 1, 6, 1, 1], "int64"))
    ),
    "MatMul": lambda b, x: weighed(
        b, b.add("Add", b.add("MatMul", x, b.weight(9, 9)), b.weight(9))
    ),
}
"""Operator with size arguments, or a library call with them → a group with it."""


def written(path: Path, group: Callable[[Builder, str], str]) -> Path:
    b = Builder({"x": ("b", 6, "h", 9)})
    first = b.add("Gather", "x", b.constant([5, 3, 1, 0, 2, 4], "int64"), axis=1)
    model: Any = b.model(first, group(b, first))
    model.graph.output[0].CopyFrom(helper.make_tensor_value_info(first, FLOAT, NAMED))
    onnx.save(model, path / "model.onnx")
    ledger = mf.auto_fuse(
        path / "model.onnx", path / "fused.onnx", assume={"b": 64, "h": 64, "d": 64}
    )
    assert ledger.kernels
    return path / "model.onnx"


@in_modes("name", MODELS, quick=("Reshape",), per_item=6)
def test_a_group_is_computed_with_sizes_not_names(
    name: str, native: NativeWorkers, tmp_path: Path
) -> None:
    source = written(tmp_path, MODELS[name])
    same(mf.from_onnx(tmp_path / "fused.onnx"), source, {"x": random(*SHAPE)}, native)


def test_a_size_that_only_such_a_name_says_is_refused(tmp_path: Path) -> None:
    def group(b: Builder, x: str) -> str:
        rows = b.add("Slice", b.add("Shape", x), *(b.constant([one], "int64") for one in (0, 1)))
        shape = b.add("Concat", rows, b.constant([3, -1], "int64"), axis=0)
        return normed(b, b.add("Reshape", weighed(b, x), shape))

    written(tmp_path, group)
    net = mf.from_onnx(tmp_path / "fused.onnx")
    with pytest.raises(InputError, match="a size that no input of the kernel has"):
        net(ms.Tensor(random(*SHAPE)))
