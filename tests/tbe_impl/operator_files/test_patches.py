"""Explicit convolutions in operators, the matrix unit's memories, and the small boards' chip."""

from __future__ import annotations

import numpy as np

from tbe_impl import soc
from tbe_impl.chip.schedule_checks import check
from tbe_impl.dsl.expr import Reduce
from tbe_impl.dsl.tensor import compute, placeholder, reduce_axis
from tbe_impl.scheduling.schedule import create_schedule
from tests.cases import cases
from tests.tbe_impl.operator_files.test_wild import BACKENDS, draw, in_backends, operator
from tests.tbe_impl.ops.calls import describe
from tests.tbe_impl.tolerances import assert_close


@cases(
    "backend, strides, pads, dilations",
    in_backends(
        [
            ((1, 1), (1, 1, 0, 1), (1, 1)),
            ((2, 3), (0, 2, 3, 1), (1, 2)),
            ((1, 2), (0, 0, 0, 0), (2, 1)),
        ],
        in_c=(1,),
    ),
)
def test_a_convolution_of_patches(
    strides: tuple[int, int],
    pads: tuple[int, int, int, int],
    dilations: tuple[int, int],
    backend: str,
) -> None:
    high, wide = 3, 2
    x = draw(2, 1, 1, 7, 6, 16).astype(np.float16)
    w = draw(1, high * wide, 1, 16, 16, seed=1).astype(np.float16)
    padded = np.pad(x[:, 0, 0].astype(np.float64), ((0, 0), pads[:2], pads[2:], (0, 0)))
    rows = (padded.shape[1] - (high - 1) * dilations[0] - 1) // strides[0] + 1
    columns = (padded.shape[2] - (wide - 1) * dilations[1] - 1) // strides[1] + 1
    wanted = np.zeros((2, rows, columns, 16))
    for i in range(high):
        for j in range(wide):
            part = padded[:, i * dilations[0] :: strides[0], j * dilations[1] :: strides[1]]
            wanted += part[:, :rows, :columns] @ w[0, i * wide + j, 0].astype(np.float64).T
    places = -(-rows * columns // 16) * 16
    y = describe((2, 1, 1, places, 16), "float32") | {"places": rows * columns}
    kernel = operator("product_of_patches").build(
        describe(x.shape, "float16"), describe(w.shape, "float16"), y, strides, pads, dilations
    )
    found = kernel(x, w, backend=backend)[:, 0, 0]
    assert_close(found[:, : rows * columns], wanted.reshape(2, -1, 16), "float32", times=10)
    assert not found[:, rows * columns :].any()


@cases("rows, severity", [(48, None), (128, "warning"), (256, "error")])
def test_second_copies_before_the_matrix_unit(rows: int, severity: str | None) -> None:
    # rows · 256 · 2 bytes of 64 KiB, twice
    x, w = placeholder((rows, 256), "float16", "x"), placeholder((256, 16), "float16", "w")
    left = compute((rows, 256), lambda i, k: x(i, k), name="left")
    k = reduce_axis((0, 256), "k")
    z = compute((rows, 16), lambda i, j: Reduce("sum", left(i, k) * w(k, j), (k,), None), name="z")
    schedule = create_schedule(z.op)
    schedule[left].set_scope("local.L0A")
    schedule[left].double_buffer()
    found = [one for one in check(schedule, "Ascend910A") if one.code == "capacity"]
    assert [one.severity for one in found] == ([severity] if severity else [])
    assert severity != "warning" or "too small for second copies" in found[0].what


def test_the_chip_of_small_boards() -> None:
    chip = soc.find_soc("310b")
    assert (chip.name, chip.cores, chip.unified_buffer_bytes) == ("Ascend310B1", 1, 248 * 1024)
    assert soc.find_soc("Ascend310B4").name == "Ascend310B4"
    for word, dtype in (("vadd", "float32"), ("vexp", "float32"), ("cast_to", "f322bf16")):
        assert soc.is_operation_supported("Ascend310B1", word, dtype)
    tensor = describe((3, 4, 5), "float32")
    operator("turned_dynamic").build(
        tensor, describe((5, 3, 4), "float32"), [2, 0, 1], soc="Ascend310B1"
    )


def _windows(size: int) -> tuple[int, int, int]:
    """Number of windows of 3 at a stride of 2, and their padding."""
    needed = max(((size + 1) // 2 - 1) * 2 + 3 - size, 0)
    return (size + 1) // 2, needed // 2, needed - needed // 2


@cases("backend", BACKENDS)
def test_padding_that_follows_from_sizes_that_come_late(backend: str) -> None:
    image, filters = describe((2, 1, -1, -1, 16), "float16"), describe((9, 1, 16, 16), "float16")
    there = operator("same_dynamic").build(image, filters, image)
    back = operator("same_dynamic").build(image, filters, image, True)
    w = draw(9, 1, 16, 16, seed=1).astype(np.float16)
    kernel = w.reshape(3, 3, 16, 16).astype(np.float64)
    for high, wide in ((5, 8), (8, 3)):
        (rows, *pad_rows), (columns, *pad_columns) = _windows(high), _windows(wide)
        x = draw(2, 1, high, wide, 16).astype(np.float16)
        padded = np.pad(x[:, 0].astype(np.float64), ((0, 0), pad_rows, pad_columns, (0, 0)))
        wanted = np.zeros((2, rows, columns, 16))
        dy = draw(2, 1, rows, columns, 16, seed=2).astype(np.float16)
        gradient = np.zeros_like(padded)
        for i in range(3):
            for j in range(3):
                here = np.s_[:, i : i + 2 * rows : 2, j : j + 2 * columns : 2]
                wanted += padded[here][:, :rows, :columns] @ kernel[i, j].T
                gradient[here][:, :rows, :columns] += dy[:, 0].astype(np.float64) @ kernel[i, j]
        found = there(x, w, backend=backend)
        assert_close(found[:, 0], wanted, "float16", times=10)
        size = {"high": high, "wide": wide}
        found = back(dy, w, backend=backend, scalars=size)
        inner = gradient[
            :, pad_rows[0] : pad_rows[0] + high, pad_columns[0] : pad_columns[0] + wide
        ]
        assert_close(found[:, 0], inner, "float16", times=10)
