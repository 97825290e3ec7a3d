"""Dynamic operators that change layouts, and operations that operators probe before use."""

from __future__ import annotations

from itertools import product
from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbe_impl
from tbe_impl import compat
from tbe_impl.errors import FusionError
from tests.cases import cases
from tests.tbe_impl.operator_files.test_wild import BACKENDS, TREE, draw, in_backends, operator
from tests.tbe_impl.ops.calls import describe

FORWARD = {0: 0, 1: (1, 4), 2: 2, 3: 3}
BACKWARD = {0: 0, (1, 4): 1, 2: 2, 3: 3}


def in_blocks(x: np.ndarray, filler: float = 0) -> np.ndarray:
    """NCHW in blocks of 16 channels."""
    n, c, h, w = x.shape
    blocks = -(-c // 16)
    padded = np.full((n, blocks * 16, h, w), filler, x.dtype)
    padded[:, :c] = x
    return padded.reshape(n, blocks, 16, h, w).transpose(0, 1, 3, 4, 2)


@cases(
    "backend, dtype, channels",
    in_backends([*product(("float16", "float32", "int32"), (16, 20))], in_c=(1,)),
)
def test_blocks_of_channels_and_back(channels: int, dtype: str, backend: str) -> None:
    shape, blocked = (2, channels, 3, 5), (2, -(-channels // 16), 3, 5, 16)
    x = (draw(*shape) * 9).astype(dtype)
    made = operator("laid_out_dynamic").build(describe(shape, dtype), list(blocked), FORWARD, 7)
    np.testing.assert_array_equal(made(x, backend=backend), in_blocks(x, 7))
    back = operator("laid_out_dynamic").build(describe(blocked, dtype), list(shape), BACKWARD)
    np.testing.assert_array_equal(back(in_blocks(x), backend=backend), x)


@cases("backend", BACKENDS)
def test_sizes_that_come_late(backend: str) -> None:
    kernel = operator("laid_out_dynamic").build(
        describe((-1, -1, -1, -1), "float16"), [-1, -1, -1, -1, 16], FORWARD
    )
    for shape in ((2, 20, 3, 5), (1, 33, 2, 2)):
        x = draw(*shape).astype(np.float16)
        np.testing.assert_array_equal(kernel(x, backend=backend), in_blocks(x))
    back = operator("laid_out_dynamic").build(
        describe((-1, -1, -1, -1, 16), "float16"), [-1, -1, -1, -1], BACKWARD
    )
    x = draw(2, 20, 3, 5).astype(np.float16)
    np.testing.assert_array_equal(back(in_blocks(x), backend=backend, scalars={"_dst_1": 20}), x)
    with pytest.raises(FusionError, match="the size _dst_1 is not the size of any input"):
        back(in_blocks(x), backend=backend)
    rows = operator("laid_out_dynamic").build(
        describe((-1, -1), "float32"), [-1, -1, 16], {0: [1], 1: [0, 2]}
    )
    x = draw(5, 40)
    padded = np.zeros((16, 48), np.float32)
    padded[:5, :40] = x
    np.testing.assert_array_equal(
        rows(x, backend=backend), padded.reshape(16, 3, 16).transpose(1, 0, 2)
    )


@cases("axes", [{0: 0, 1: 1, 2: 2}, {0: 0, 1: (1, 2, 3), 2: 4}, [0, 1]])
def test_maps_of_axes_that_do_not_fit(axes: Any) -> None:
    with compat.installed(soc="Ascend910A"):
        from tbe import dsl, tvm  # type: ignore[import-not-found]

        data = tvm.placeholder((2, 3, 4), "float32", "data")
        with pytest.raises(RuntimeError, match="axes_map of transdata"):
            dsl.transdata(data, (2, 1, 3, 4), axes)


@cases("backend, shape", in_backends([((3, 4, 5),), ((-1, 4, -1),)], in_c=(1,)))
def test_axes_in_another_order(shape: Any, backend: str) -> None:
    result = tuple(shape[axis] for axis in (2, 0, 1))
    kernel = operator("turned_dynamic").build(
        describe(shape, "float32"), describe(result, "float32"), [2, 0, -2]
    )
    x = draw(3, 4, 5)
    np.testing.assert_array_equal(kernel(x, backend=backend), x.transpose(2, 0, 1))


@cases(
    "backend, dtype, rows",
    in_backends([*product(("int16", "int32", "int64"), (1, 6))], in_c=(4,)),
)
def test_divisors(rows: int, dtype: str, backend: str) -> None:
    random = np.random.default_rng(0)
    x = random.integers(-3000, 3000, (rows, 37)).astype(dtype)
    y = random.integers(-3000, 3000, (6, 37)).astype(dtype)
    y[:, :3] = 0
    x[:, :2] = 0
    kernel = operator("divisors").build(
        describe(x.shape, dtype), describe(y.shape, dtype), {}, soc="Ascend910B1"
    )
    np.testing.assert_array_equal(kernel(x, y, backend=backend), np.gcd(x, y))


@cases(
    "name, message",
    [
        (
            "with_tvm_of_te",
            r":10: `te.placeholder` has no .*`tvm.placeholder` after `from te import tvm`",
        ),
        (
            "with_reshape",
            r":17: `te.lang.cce.reshape` has no .*give the placeholder the other shape",
        ),
        ("with_tanh", r":23: `te.lang.cce.tanh` has no .*tbe_impl.dsl.ext.tanh"),
        (
            "with_other_arguments",
            r":29: te.lang.cce.vmuls does not take these arguments.*expected.*scalar.*factor",
        ),
    ],
)
def test_first_tries_are_told_what_to_write(name: str, message: str) -> None:
    tensor = describe((4, 5), "float32")
    source = TREE / "impl" / "first_tries.py"
    with pytest.raises(FusionError, match=message):
        tbe_impl.load_operator(source, name).build(tensor, tensor)


def test_a_script_is_told_to_be_a_function(tmp_path: Path) -> None:
    (tmp_path / "script.py").write_text("import te\nfrom te import tvm\n")
    with pytest.raises(FusionError, match="Put what the script does into a function"):
        tbe_impl.load_operator(tmp_path / "script.py")


def test_findings_in_an_automatic_schedule_name_the_operator() -> None:
    tensor = describe((64, 5), "float32")
    kernel = operator("turned_dynamic").build(tensor, describe((5, 64), "float32"), [1, 0])
    record = kernel.schedule.record()
    places = [stage.attach.place for stage in record.stages if stage.attach is not None]
    places += [relation.place for stage in record.stages for relation in stage.relations]
    assert places and all("turned_dynamic.py" in place for place in places)


def test_a_missing_import_is_named(tmp_path: Path) -> None:
    source = tmp_path / "copied.py"
    source.write_text("def copied(x, y, kernel_name='copied'):\n    tvm.placeholder(x['shape'])\n")
    with pytest.raises(
        FusionError, match=r"copied.py:2: .*'tvm'.*lacks a line: from te import tvm"
    ):
        tbe_impl.load_operator(source).build(describe((4, 5), "float32"), {})


def test_rounding_words_that_are_one_conversion() -> None:
    with compat.installed(soc="Ascend910B1"):
        from tbe import dsl, tvm  # type: ignore[import-not-found]

        whole = tvm.placeholder((5,), "int64", "whole")
        for word in (dsl.round, dsl.floor, dsl.ceil, dsl.trunc):
            assert word(whole, "float32").dtype == "float32"
        with pytest.raises(RuntimeError, match=r"tbe\.dsl\.floor does not take int64"):
            dsl.floor(whole, "float16")
    with (
        compat.installed(soc="Ascend910A"),
        pytest.raises(RuntimeError, match="does not take int64"),
    ):
        dsl.round(whole, "float32")
