"""Table lookup for unary float16 functions: accurate everywhere, independent of position."""

from __future__ import annotations

import functools
import subprocess
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np
import pytest

import tbe_impl.dsl as dsl
from tbe_impl.codegen.options import Options
from tbe_impl.codegen.passes.half_precision_tables import (
    MAX_ULP,
    evaluate_table,
    fit_lookup_table,
    float16_domain,
    ulp_of,
)
from tbe_impl.codegen.program import write_program
from tbe_impl.dsl import ext
from tbe_impl.dsl.functions import FUNCTIONS
from tbe_impl.dsl.tensor import Tensor, placeholder
from tbe_impl.runtime import compiler
from tbe_impl.runtime.store import Store
from tests.cases import FULL, cases
from tests.tbe_impl.codegen.graphs import assert_same, behind, marches, prepare

HALVES = ("__AVX512FP16__", "__AVX512VBMI__")
EVERY = np.arange(1 << 16, dtype=np.uint16).view(np.float16)

sigmoid = FUNCTIONS["sigmoid"].numpy
Build = Callable[[Tensor], Tensor]
CASES: dict[str, tuple[Build, Callable[[np.ndarray], np.ndarray]]] = {
    "swish": (lambda x: dsl.vmul(x, ext.sigmoid(x)), lambda x: x * sigmoid(x)),
    "swish of many": (
        lambda x: dsl.vdiv(x, dsl.vadds(dsl.vexp(dsl.vmuls(x, -1.0)), 1.0)),
        lambda x: x / (1 + np.exp(-x)),
    ),
    "sigmoid": (ext.sigmoid, sigmoid),
    "tanh": (
        lambda x: ext.tanh(dsl.vadds(dsl.vmuls(x, 0.5), 0.25)),
        lambda x: np.tanh(x * 0.5 + 0.25),
    ),
    "softplus": (
        lambda x: dsl.vadd(dsl.vrelu(x), ext.log1p(dsl.vexp(dsl.vmuls(dsl.vabs(x), -1.0)))),
        lambda x: np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x))),
    ),
    "by way of float32": (
        lambda x: dsl.cast_to(ext.sigmoid(dsl.cast_to(x, "float32")), "float16"),
        sigmoid,
    ),
}


@functools.cache
def kernels_compute_with_halves() -> bool:
    """Whether processor and compiler support it."""
    how = compiler.find_compiler().command
    march = [f"-march={compiler.march()}"] if compiler.march() else []
    asked = [*how, *march, "-dM", "-E", "-x", "c", "/dev/null"]
    macros = subprocess.run(asked, capture_output=True, text=True, check=True).stdout
    return all(f"#define {name} " in macros for name in HALVES)


@cases("name", CASES, quick=1, per_item=3)
def test_every_number(name: str, cache: Store) -> None:
    build, function = CASES[name]
    cells = fit_lookup_table(function)
    assert cells is not None
    kernel, *_ = prepare(build, EVERY, cache=cache)
    plain, *_ = prepare(build, EVERY, cache=cache, float16_tables=False)
    (found,), (wanted,) = kernel.run([EVERY], {}, 2), plain.run([EVERY], {}, 1)
    near = np.isin(EVERY.view(np.uint16), float16_domain(cells.step).view(np.uint16))
    assert_same(found[~near], wanted[~near])
    # the kernel's table comes from other operations of the same function
    truth = function(EVERY[near].astype(np.float64))
    assert (np.abs(found[near] - truth) <= MAX_ULP * ulp_of(truth)).all()
    zero = truth == 0
    assert_same(np.signbit(found[near][zero]), np.signbit(truth[zero]))
    if kernels_compute_with_halves():
        assert_same(found[near].astype(np.float64), evaluate_table(cells, EVERY[near]))
    else:
        assert_same(found, wanted)


@cases("march", marches(), sample=1)
@cases("stream_bytes", [1, 1 << 30])
@cases("length", [65, 300, 5000, *(pytest.param(n, marks=FULL) for n in (64, 127, 128, 129, 1000))])
def test_a_result_does_not_depend_on_its_position(
    length: int, stream_bytes: int, march: str, cache: Store
) -> None:
    """Near 0 or far from it, at any position, at any alignment, on any thread."""
    build, _ = CASES["swish"]
    whole, *_ = prepare(build, EVERY, cache=cache, march=march)
    result = dict(
        zip(EVERY.view(np.uint16), whole.run([EVERY], {}, 1)[0].view(np.uint16), strict=True)
    )
    chance = np.random.default_rng(length)
    x = (chance.standard_normal(length) * chance.choice([1, 8, 40])).astype(np.float16)
    x[:: chance.integers(20, 90)] = chance.choice(EVERY, 1)
    wanted = np.array([result[key] for key in x.view(np.uint16)]).view(np.float16)
    kernel, *_ = prepare(
        build, x, cache=cache, march=march, stream_bytes=stream_bytes, parallel_elements=1
    )
    for place in (0, 2, 32, 62):
        given = behind(x, place)
        given[...] = x
        for threads in (1, 2):
            assert_same(kernel.run([given], {}, threads)[0], wanted)


def test_written_over_what_is_read(cache: Store) -> None:
    build, _ = CASES["swish"]
    x = (np.random.default_rng(6).standard_normal(3000) * 9).astype(np.float16)
    wanted = prepare(build, x, cache=cache)[0].run([x], {}, 1)[0]
    own = x.copy()
    prepare(build, x, cache=cache, inplace=True)[0].run([own], {}, 1)
    assert_same(own, wanted)


PLACES: dict[str, tuple[Build, bool]] = {
    "shifted": (lambda x: dsl.compute((6, 390), lambda i, j: x[i, j + 7] * 1.0), True),
    "over and over": (lambda x: dsl.compute((6, 800), lambda i, j: x[i, j % 400]), True),
    "twice": (lambda x: dsl.vmul(x, x), True),
    "at two places": (lambda x: dsl.compute((6, 390), lambda i, j: x[i, j] + x[i, j + 5]), False),
    "each second": (lambda x: dsl.compute((6, 200), lambda i, j: x[i, j * 2]), False),
    "each again": (lambda x: dsl.compute((6, 800), lambda i, j: x[i, j // 2]), False),
    "one of a row": (lambda x: dsl.compute((6, 400), lambda i, j: x[i, 3]), False),
    "turned": (lambda x: dsl.transpose(x, (1, 0)), False),
    "padded": (lambda x: ext.pad(x, ((0, 0), (3, 5)), 0.0), False),
}


QUICK_PLACES = ("shifted", "at two places")


@cases(
    "place", [pytest.param(place, marks=() if place in QUICK_PLACES else FULL) for place in PLACES]
)
def test_tables_are_accurate_for_every_kind_of_read(place: str, cache: Store) -> None:
    of, are_there = PLACES[place]
    x = (np.random.default_rng(7).standard_normal((6, 400)) * 5).astype(np.float16)
    kernel, outputs, inputs = prepare(lambda t: [ext.sigmoid(of(t))], x, cache=cache)
    plain, *_ = prepare(lambda t: [ext.sigmoid(of(t))], x, cache=cache, float16_tables=False)
    assert ("FLOAT16_TABLES" in write_program(outputs, inputs).source) == are_there
    (found,), (wanted,) = kernel.run([x], {}, 2), plain.run([x], {}, 1)
    assert (
        np.abs(found.astype(np.float64) - wanted) <= 1.7 * ulp_of(wanted.astype(np.float64))
    ).all()


def _source(
    build: Callable[..., Any], shape: Sequence[int], dtype: str = "float16", **options: Any
) -> str:
    x, y = (placeholder(tuple(shape), dtype, name) for name in "xy")
    made = build(x, y)
    outputs = list(made) if isinstance(made, (list, tuple)) else [made]
    return write_program(outputs, [x, y], options=Options(**options)).source


def _swish(x: Tensor, y: Tensor) -> Tensor:
    return dsl.vmul(x, ext.sigmoid(x))


@cases("place", PLACES)
def test_tables_are_used_for_the_listed_reads_only(place: str) -> None:
    of, are_there = PLACES[place]
    assert ("FLOAT16_TABLES" in _source(lambda x, y: ext.sigmoid(of(x)), (6, 400))) == are_there


@cases("shape", [(64,), (300, 7), (3, 64, 5)])
def test_the_source_has_one_table_block(shape: tuple[int, ...]) -> None:
    assert _source(_swish, shape).count("#if FLOAT16_TABLES") == 1


@cases(
    "build, options",
    [
        (_swish, {"dtype": "float32"}),
        (_swish, {"dtype": "bfloat16"}),
        (_swish, {"float16_tables": False}),
        (_swish, {"rounding": "device"}),
        (_swish, {"unroll": 2}),
        (_swish, {"shape": (63,)}),
        (lambda x, y: dsl.vmul(y, ext.sigmoid(x)), {}),
        (lambda x, y: dsl.vmul(x, x), {}),
        (
            lambda x, y: ext.sigmoid(
                dsl.vsub(x, dsl.broadcast(dsl.reduce_max(x, -1, True), x.shape))
            ),
            {},
        ),
        (lambda x, y: [_swish(x, y), ext.tanh(x)], {}),
        (lambda x, y: dsl.cast_to(ext.sigmoid(x), "float32"), {}),
        (lambda x, y: ext.sigmoid(dsl.cast_to(dsl.cast_to(x, "bfloat16"), "float16")), {}),
        (lambda x, y: dsl.vadds(dsl.vlog(x), 1.0), {}),
        (lambda x, y: dsl.vadds(ext.sin(x), 1.0), {}),
        (lambda x, y: ext.tanh(x), {}),
        (lambda x, y: dsl.vexp(dsl.vmuls(x, -0.5)), {}),
    ],
    ids=[
        "float32",
        "bfloat16",
        "not asked for",
        "each operator rounded",
        "several vectors",
        "few",
        "of two",
        "short",
        "of a row",
        "two results",
        "another result",
        "rounded between",
        "not everywhere",
        "too fine",
        "rounded once",
        "rounded once after a product that is exact",
    ],
)
def test_tables_are_absent_where_they_do_not_apply(
    build: Callable[..., Any], options: dict[str, Any]
) -> None:
    assert "FLOAT16_TABLES" not in _source(build, **{"shape": (64, 64), **options})


def test_a_function_that_is_not_smooth_has_no_table() -> None:
    assert fit_lookup_table(lambda x: np.floor(x)) is None
    assert fit_lookup_table(lambda x: np.where(x > 3, x, 0)) is None
    assert fit_lookup_table(lambda x: 1 / x) is None
    assert fit_lookup_table(lambda x: np.abs(x)) is None
