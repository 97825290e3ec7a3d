"""Row maxima without NaN checks: where they are legal, and that results keep their NaN."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.codegen import codegen_cache
from tbe_impl.codegen.passes.row_maxima import find_maxima_without_nan_checks
from tbe_impl.codegen.program import write_program
from tbe_impl.cpu.prepared_kernel import CpuKernel
from tbe_impl.dsl.expr import Reduce
from tbe_impl.dsl.tensor import compute, reduce_axis
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.graphs import prepare

Tensor = dsl.Tensor
Build = Callable[[Tensor], list[Tensor]]


def wide(row: Tensor, x: Tensor) -> Tensor:
    return dsl.broadcast(row, x.shape)


def parts(x: Tensor, axis: int = -1) -> tuple[Tensor, Tensor, Tensor, Tensor]:
    """Row maxima, differences from them, exponentials, their sums."""
    largest = dsl.reduce_max(x, axis, True)
    deficits = dsl.vsub(x, wide(largest, x))
    powers = dsl.vexp(deficits)
    return largest, deficits, powers, dsl.reduce_sum(powers, axis, True)


def softmax(x: Tensor, axis: int = -1) -> list[Tensor]:
    _, _, powers, total = parts(x, axis)
    return [dsl.vdiv(powers, wide(total, x))]


def by_inverse(x: Tensor) -> list[Tensor]:
    _, _, powers, total = parts(x)
    return [dsl.vmul(wide(dsl.vrec(total), x), powers)]


def logarithm(x: Tensor) -> list[Tensor]:
    _, deficits, _, total = parts(x)
    return [dsl.vsub(deficits, wide(dsl.vlog(total), x))]


def both(x: Tensor) -> list[Tensor]:
    _, deficits, powers, total = parts(x)
    return [dsl.vdiv(powers, wide(total, x)), dsl.vsub(deficits, wide(dsl.vlog(total), x)), total]


def in_half(x: Tensor) -> list[Tensor]:
    (found,) = softmax(dsl.cast_to(x, "float32"))
    return [dsl.cast_to(found, "float16")]


def with_the_largest(x: Tensor) -> list[Tensor]:
    return [parts(x)[0], *softmax(x)]


def largest_too(x: Tensor) -> list[Tensor]:
    largest, _, powers, total = parts(x)
    return [dsl.vdiv(powers, wide(total, x)), largest]


def powers_too(x: Tensor) -> list[Tensor]:
    _, _, powers, total = parts(x)
    return [dsl.vdiv(powers, wide(total, x)), powers]


def deficits_only(x: Tensor) -> list[Tensor]:
    return [parts(x)[1]]


def powers_only(x: Tensor) -> list[Tensor]:
    return [parts(x)[2]]


def log_sum(x: Tensor) -> list[Tensor]:
    """Adds the maximum again, which is NaN with the sum, but also has another reader."""
    largest, _, _, total = parts(x)
    return [dsl.vadd(dsl.vlog(total), largest)]


def times_the_sum(x: Tensor) -> list[Tensor]:
    """A product with a value other than an inverse is unchanged."""
    _, _, powers, total = parts(x)
    return [dsl.vmul(powers, wide(total, x))]


def of_a_part(x: Tensor) -> list[Tensor]:
    """The sum covers half a row."""
    _, _, powers, _ = parts(x)
    k = reduce_axis((0, int(x.shape[1]) // 2), "k")
    total = compute((x.shape[0], 1), lambda i, j: Reduce("sum", powers(i, k), [k]))
    return [dsl.vdiv(powers, wide(total, x))]


def of_another_row(x: Tensor) -> list[Tensor]:
    _, _, powers, total = parts(x)
    rows = int(x.shape[0])
    return [compute(x.shape, lambda i, j: powers[i, j] / total[rows - 1 - i, 0])]


def over_the_other_axis(x: Tensor) -> list[Tensor]:
    _, _, powers, _ = parts(x)
    return [dsl.vdiv(powers, wide(dsl.reduce_sum(powers, 0, True), x))]


TOLD: dict[str, tuple[Build, int]] = {
    "softmax": (softmax, 1),
    "over columns": (lambda x: softmax(x, 0), 1),
    "by an inverse": (by_inverse, 1),
    "logarithm": (logarithm, 1),
    "both, and the sum": (both, 1),
    "of half precision": (in_half, 1),
    "one of two maxima": (with_the_largest, 1),
    "the largest is a result": (largest_too, 0),
    "exponentials are a result": (powers_too, 0),
    "deficits alone": (deficits_only, 0),
    "exponentials alone": (powers_only, 0),
    "logarithm of the sum": (log_sum, 0),
    "times the sum": (times_the_sum, 0),
    "the sum of a part": (of_a_part, 0),
    "the sum of another row": (of_another_row, 0),
    "the sum over the other axis": (over_the_other_axis, 0),
}


@cases("case", TOLD)
def test_maxima_that_need_not_tell(case: str) -> None:
    build, wanted = TOLD[case]
    dtype = "float16" if build is in_half else "float32"
    assert len(find_maxima_without_nan_checks(build(dsl.placeholder((4, 8), dtype)))) == wanted


QUICK = {
    (8, 37): (
        "both, and the sum",
        "the largest is a result",
        "logarithm of the sum",
    ),
    (6, 1024): (),
}
"""What `make test` runs."""


def _rows() -> list[Any]:
    return [
        pytest.param(case, shape, marks=() if case in QUICK[shape] else FULL)
        for shape in QUICK
        for case in TOLD
    ]


@cases("case, shape", _rows())
def test_results_are_nan_where_they_have_to_be(
    case: str, shape: tuple[int, int], cache: Store
) -> None:
    build, told = TOLD[case]
    dtype = "float16" if build is in_half else "float32"
    differ = told > 0 and case != "over columns"
    with pytest.MonkeyPatch.context() as patch:
        if not told:
            given = dsl.placeholder(shape, dtype)
            outputs = build(given)
            text = write_program(outputs, [given]).source
            patch.setattr(
                "tbe_impl.codegen.program.find_maxima_without_nan_checks", lambda outputs: ()
            )
            assert text == write_program(outputs, [given]).source
            return
        patch.setattr("tbe_impl.codegen.program.find_maxima_without_nan_checks", lambda outputs: ())
        # no plan of the others is cached or reused
        patch.setattr(codegen_cache, "_LOADED_GENERATOR_FINGERPRINT", "maxima that show every NaN")
        # column maxima use another method
        plain = prepare_for(build, shape, dtype, cache)
    kernel = prepare_for(build, shape, dtype, cache)
    assert (kernel.source != plain.source) == differ
    x = np.random.default_rng(3).standard_normal(shape).astype(dtype)
    x[0, 3] = np.nan
    x[1, -1] = np.nan
    x[1, :-1] = -np.inf
    x[2] = np.nan
    x[3, 0], x[3, 1] = np.inf, np.nan
    x[4] = -np.inf
    for threads in (1, 2):
        for found, wanted in zip(
            kernel.run([x], {}, threads), plain.run([x], {}, threads), strict=True
        ):
            np.testing.assert_array_equal(found, wanted)


def prepare_for(build: Build, shape: tuple[int, int], dtype: str, cache: Store) -> CpuKernel:
    kernel, *_ = prepare(build, np.zeros(shape, dtype), cache=cache)
    return kernel


def test_a_maximum_that_need_not_tell_is_one_instruction(cache: Store) -> None:
    x = np.zeros((4, 1024), np.float32)
    kernel, *_ = prepare(softmax, x, cache=cache)
    plain, *_ = prepare(largest_too, x, cache=cache)
    assert " = f32_above(" in kernel.source
    assert " = f32_above(" not in plain.source


def test_a_sum_along_the_diagonal_is_no_row_s(cache: Store) -> None:
    def build(x: Tensor) -> list[Tensor]:
        k = reduce_axis((0, 4), "k")
        powers = parts(x)[2]
        return [compute((1,), lambda i: Reduce("sum", powers(k, k), [k]))]

    x = np.zeros((4, 4), np.float32)
    x[0, 3] = np.nan
    kernel, *_ = prepare(build, x, cache=cache)
    assert np.isnan(kernel.run([x], {}, 1)[0]).all()
