"""Kernels built from composite JSON, against the formulas in float64."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ms_fusion.accuracy.sample_inputs import seeded_inputs
from ms_fusion.readers.composite import parse_kernel
from tests.cases import FULL, cases
from tests.ms_fusion.kernel_server.composites import Text, check, directory_of_recorded, run

FLOATS = ("float16", "bfloat16", "float32", "float64")
WHOLE = ("int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64")
ROUNDED = "Floor Ceil Trunc Round Rint".split()
OF_FLOATS = """Abs Neg Sign Sqrt Rsqrt Reciprocal Inv Exp Expm1 Log Log1p Sin Cos Tan Asin ACos Atan
    Sinh Cosh Tanh Asinh Acosh Atanh Erf Erfc""".split()
QUESTIONS = "IsNan IsInf IsFinite".split()
ARITHMETIC = "Add Sub Mul Maximum Minimum SquaredDifference".split()
DIVISIONS = "RealDiv FloorDiv Mod FloorMod".split()
COMPARISONS = "Equal NotEqual Less LessEqual Greater GreaterEqual".split()
TRUTHS = "LogicalAnd LogicalOr".split()
POSITIVE = frozenset("Sqrt Rsqrt Log Log1p Pow".split())
INSIDE = frozenset("Asin ACos Atanh".split())
SHAPE = (5, 37)
NARROW = (3, 19)
"""Rows with a tail that the compiler does not unroll for long."""


@cases("path", directory_of_recorded(), ids=lambda path: path.stem[:60], quick=5, per_item=20)
def test_recorded_kernels(path: Path) -> None:
    kernel = parse_kernel(path.read_text("utf-8"), file=path.name)
    check(kernel, seeded_inputs(kernel.graph, 0))


def _numbers(operator: str, dtype: str, shape: tuple[int, ...], seed: int) -> np.ndarray:
    random = np.random.default_rng([seed, *operator.encode()])
    if dtype == "bool":
        return random.random(shape) < 0.5
    if dtype in WHOLE:
        low = 1 if operator in DIVISIONS or dtype.startswith("u") else -9
        return random.integers(low, 10, shape)
    if operator in INSIDE:
        return random.uniform(-0.9, 0.9, shape)
    if operator == "Acosh":
        return random.uniform(1.1, 4, shape)
    return random.uniform(0.2, 4, shape) * (
        1 if operator in POSITIVE else random.choice([-1, 1], shape)
    )


def _operators(dtype: str) -> list[tuple[str, int, str]]:
    """Operator, number of inputs, dtype of the result."""
    found = [(name, 2, "bool") for name in COMPARISONS]
    if dtype == "bool":
        return [*found, *((name, 2, "bool") for name in TRUTHS), ("LogicalNot", 1, "bool")]
    found += [(name, 2, dtype) for name in (*ARITHMETIC, *DIVISIONS)]
    if dtype in WHOLE:
        return [*found, ("Neg", 1, dtype), ("Abs", 1, dtype), ("Square", 1, dtype)]
    found += [(name, 1, dtype) for name in (*OF_FLOATS, *ROUNDED, "Square", "Sigmoid", "GeLU")]
    return [
        *found,
        *((name, 1, "bool") for name in QUESTIONS),
        ("Pow", 2, dtype),
        ("Atan2", 2, dtype),
        ("Div", 2, dtype),
    ]


PARTS = {
    **{dtype: slice(at, None, 4) for at, dtype in enumerate(FLOATS)},
    "int8": slice(0, None, 2),
    "uint32": slice(1, None, 2),
    "bool": slice(None),
}
"""Operators of one kernel, each in some dtype; the compiler takes long for a kernel with all."""
BUILT = ("float16", "int8", "bool")
"""Dtypes whose operators `make test` compiles; NumPy runs the graphs of the others, with every
operator.
"""


@cases(
    "dtype, part, reduced, shape",
    [
        *((dtype, part, 3, NARROW) for dtype, part in PARTS.items()),
        *(
            pytest.param(one, slice(None), 1, SHAPE, marks=FULL)
            for one in (*FLOATS, *WHOLE, "bool")
        ),
    ],
    per_item=4,
    ids=lambda row: row[0],
)
def test_operators_alone_with_a_broadcast_before_a_reduction(
    dtype: str, part: slice, reduced: int, shape: tuple[int, int], full: bool
) -> None:
    """Each operator is a result; every `reduced`-th is also reduced."""
    built = full or dtype in BUILT
    text, inputs, outputs = Text(f"Fused_table_{dtype}"), {}, []
    chosen = _operators(dtype)[part] if built else _operators(dtype)
    for place, (operator, count, result) in enumerate(chosen):
        names = []
        for number, given in enumerate([shape, shape[1:]][:count]):
            names.append(text.input(given, dtype))
            inputs[names[-1]] = _numbers(operator, dtype, given, number)
        made = text.step(operator, names, shape, result)
        outputs.append(made)
        if place % reduced:
            continue
        if result == "bool":
            sums = text.step(
                "ReduceAny",
                [made, text.constant([1], "int64"), text.constant(False, "bool")],
                shape[:1],
                "bool",
            )
        elif operator in ("Exp", "Sinh", "Cosh", "Tan") or dtype in WHOLE:
            sums = text.step(
                "ReduceMax", [made, text.constant([1], "int64")], shape[:1], result, keep_dims=False
            )
        else:
            sums = text.step(
                "ReduceSum", [made, text.constant([1], "int64")], shape[:1], result, keep_dims=False
            )
        outputs.append(sums)
    check(text.kernel(*outputs), inputs, built=built)


@cases("factor", [0, 1, 2])
def test_differences_of_truth_values(factor: int) -> None:
    text, inputs = Text(f"Fused_truth_{factor}"), {}
    for number in range(2):
        inputs[text.input(SHAPE, "bool")] = _numbers("SubExt", "bool", SHAPE, number)
    made = text.step("SubExt", [*inputs, text.constant(factor, "int64")], SHAPE, "bool")
    check(text.kernel(made), inputs)


@cases("source", [*FLOATS, *WHOLE, "bool"])
def test_casts(source: str, full: bool) -> None:
    """`make test` compiles those of two dtypes."""
    text, outputs = Text(f"Fused_casts_{source}"), []
    x = text.input(SHAPE, source)
    for target in (*FLOATS, *WHOLE, "bool"):
        if target != source:
            outputs.append(text.step("Cast", [x, text.constant(43, "int64")], SHAPE, target))
    given = {x: np.abs(_numbers("Cast", source, SHAPE, 0))}
    check(text.kernel(*outputs), given, built=full or source in ("bfloat16", "int32"))


BUILT_REDUCTIONS = {"ReduceSum": [2], "ReduceMax": [0], "ReduceProd": [0, 2]}
"""With their axes: compiled in `make test`; NumPy runs the graphs of the others."""


@cases("axes", [[0], [1], [2], [0, 2], [1, 2], [0, 1, 2], []])
@cases("operator", ["ReduceSum", "ReduceMax", "ReduceMin", "ReduceMean", "ReduceProd"])
def test_reductions_with_work_before_between_and_after(
    operator: str, axes: list[int], full: bool
) -> None:
    shape = (3, 5, 7)
    kept = [1 if axis in (axes or range(3)) else size for axis, size in enumerate(shape)]
    text = Text(f"Fused_{operator}_{''.join(map(str, axes))}")
    x = text.input(shape, "float32")
    scaled = text.step("Mul", [x, text.constant(0.5, "float32")], shape, "float32")
    level = text.step(
        operator, [scaled, text.constant(axes, "int64")], kept, "float32", keep_dims=True
    )
    centred = text.step("Sub", [x, level], shape, "float32")
    squares = text.step("Mul", [centred, centred], shape, "float32")
    total = text.step(
        "ReduceSum", [squares, text.constant(axes, "int64")], kept, "float32", keep_dims=True
    )
    normal = text.step("RealDiv", [centred, total], shape, "float32")
    given = {x: np.random.default_rng(1).uniform(0.5, 1.5, shape)}
    built = full or BUILT_REDUCTIONS.get(operator) == axes
    check(text.kernel(normal, level), given, built=built)


def test_axes_that_are_none_are_all_whatever_the_file_says() -> None:
    """MindSpore reads past the end of an empty list; typical values look like this."""
    text = Text("Fused_all_axes")
    x = text.input((3, 5), "float32")
    none = {**text.constant([], "int64"), "value": 94315493990673}
    mean = text.step("ReduceMean", [x, none], (1,), "float32", keep_dims=False)
    check(text.kernel(mean), {x: np.arange(15).reshape(3, 5)})


def test_an_optimizer_in_place_writes_its_parameter_and_state() -> None:
    text, shape = Text("Fused_momentum"), (33, 5)
    parameter, state, gradient = (text.input(shape, "float32") for _ in range(3))
    faded = text.step("Mul", [state, text.constant(0.9, "float32")], shape, "float32")
    new = text.step("Add", [faded, gradient], shape, "float32")
    step = text.step("Mul", [new, text.constant(0.1, "float32")], shape, "float32")
    moved = text.step("Sub", [parameter, step], shape, "float32")
    first = text.step("Assign", [state, new], (1,), "float32")
    second = text.step("Assign", [parameter, moved], (1,), "float32")
    random = np.random.default_rng(2)
    check(
        text.kernel(first, second),
        {name: random.standard_normal(shape) for name in (parameter, state, gradient)},
    )


def test_what_is_written_in_place_is_read_before_elsewhere() -> None:
    text, shape = Text("Fused_turned"), (6, 6)
    parameter = text.input(shape, "float32")
    turned = text.step("Transpose", [parameter, text.constant([1, 0], "int64")], shape, "float32")
    done = text.step("Assign", [parameter, turned], (1,), "float32")
    check(text.kernel(done), {parameter: np.arange(36.0).reshape(shape)})


def test_reshaping_and_moving_operators_are_right() -> None:
    text = Text("Fused_places")
    x = text.input((4, 6), "float32")
    made = [
        text.step("Reshape", [x, text.constant([3, 8], "int64")], (3, 8), "float32"),
        text.step("Transpose", [x, text.constant([1, 0], "int64")], (6, 4), "float32"),
        text.step("BroadcastTo", [x, text.constant([2, 4, 6], "int64")], (2, 4, 6), "float32"),
        text.step("Tile", [x, text.constant([2, 1], "int64")], (8, 6), "float32"),
        text.step(
            "StridedSlice",
            [
                x,
                *(text.constant(item, "int64") for item in ([0, 1], [4, 6], [2, 2])),
                *(text.constant(0, "int64") for _ in range(5)),
            ],
            (2, 3),
            "float32",
        ),
        text.step(
            "Slice",
            [x, text.constant([1, 2], "int64"), text.constant([2, 3], "int64")],
            (2, 3),
            "float32",
        ),
        text.step("Concat", [x, x], (4, 12), "float32", axis=1),
    ]
    check(text.kernel(*made), {x: np.random.default_rng(3).standard_normal((4, 6))})


def test_a_number_stands_for_one_element_of_any_rank() -> None:
    text = Text("Fused_one_element")
    x = text.input((3,), "float32")
    one = {**text.constant(2.5, "float32"), "shape": [1, 1, 1]}
    kept = text.step("Triu", [one, text.constant(0, "int64")], (1, 1, 1), "float32")
    turned = text.step(
        "ReverseV2", [text.constant(1.5, "float32"), text.constant([0], "int64")], (1,), "float32"
    )
    both = text.step(
        "Add", [text.step("Mul", [x, kept], (1, 1, 3), "float32"), turned], (1, 1, 3), "float32"
    )
    found = run(text.kernel(both), {x: np.arange(3.0)})
    assert found[both].tolist() == [[[1.5, 4.0, 6.5]]]


@cases("dtype", ["int8", "uint64", "bool"])
def test_whole_numbers_are_told_apart_by_truth_and_factors_cut(dtype: str) -> None:
    """As MindSpore does: a factor of 0.5 counts as 0, and any two nonzero values are both true."""
    text = Text(f"Fused_whole_{dtype}")
    x, y = (text.input((4,), dtype) for _ in range(2))
    factor = text.constant(0.5, "float32")
    unlike = text.step("LogicalXor", [x, y], (4,), "bool")
    moved = text.step("Addcmul", [x, y, y, factor], (4,), dtype)
    given = (np.array(one, dtype) for one in ([3, 0, 2, 0], [5, 0, 0, 7]))
    found = run(text.kernel(unlike, moved), dict(zip((x, y), given, strict=True)))
    assert found[unlike].tolist() == [False, False, True, True]
    assert found[moved].tolist() == ([True, False, True, True] if dtype == "bool" else [3, 0, 2, 0])


@cases(
    "dtype, described, third",
    [("int32", "int32", 1 / 3), ("float32", "float16", float(np.float16(1 / 3)))],
)
def test_a_quotient_of_integers_is_a_float(dtype: str, described: str, third: float) -> None:
    """Its description has the dtype of its inputs, followed by a Cast."""
    text = Text("Fused_quotient")
    x, y = (text.input((4,), dtype) for _ in range(2))
    quotient = text.step("Div", [x, y], (4,), described)
    cast = text.step("Cast", [quotient], (4,), "float32", dst_type="float32")
    given = (np.array(one, dtype) for one in ([7, -7, 1, 0], [2, 2, 3, 5]))
    found = run(text.kernel(cast), dict(zip((x, y), given, strict=True)))
    np.testing.assert_allclose(found[cast], [3.5, -3.5, third, 0], rtol=1e-6)


def test_an_input_and_a_result_handed_out_twice() -> None:
    text = Text("Fused_twice")
    x = text.input((7,), "float32")
    same = text.step("Reshape", [x, text.constant([7], "int64")], (7,), "float32")
    double = text.step("Add", [x, x], (7,), "float32")
    check(text.kernel(same, double), {x: np.arange(7.0)})


def test_hundreds_of_operators_behind_each_other(full: bool) -> None:
    text, shape = Text("Fused_chain"), (3, 17)
    x = value = text.input(shape, "float32")
    for _ in range(200 if full else 100):
        value = text.step("Mul", [text.step("Abs", [value], shape, "float32"), x], shape, "float32")
        value = text.step("Maximum", [value, x], shape, "float32")
    check(text.kernel(value), {x: np.linspace(-1, 1, 51, dtype=np.float32).reshape(shape)})


def test_special_values_survive() -> None:
    text = Text("Fused_special")
    x = text.input((8,), "float32")
    given = np.float32([np.nan, np.inf, -np.inf, 0.0, -0.0, 100.0, -100.0, 1e-40])
    log, exp = (text.step(name, [x], (8,), "float32") for name in ("Log", "Exp"))
    equal = text.step("Equal", [x, x], (8,), "bool")
    found: Any = run(text.kernel(log, exp, equal), {x: given})
    with np.errstate(all="ignore"):
        np.testing.assert_allclose(found[log], np.log(given.astype(np.float64)), rtol=1e-6)
        np.testing.assert_allclose(
            found[exp], np.exp(given.astype(np.float64)).astype(np.float32), rtol=1e-6
        )
    assert found[equal].tolist() == [False] + [True] * 7


@cases("dtype", [*(pytest.param(one, marks=FULL) for one in ("int8", "uint8", "int64")), "int32"])
def test_powers_of_integers(dtype: str) -> None:
    """Exact where they fit; a negative exponent gives the truncated quotient."""
    text = Text(f"Fused_power_{dtype}")
    bases, exponents = np.meshgrid([-3, -1, 0, 1, 2, 5], [-3, -2, 0, 1, 2, 3])
    keep = (exponents >= 0) | (bases != 0)
    x, y = (np.array(one[keep], dtype) for one in (bases, exponents))
    names = [text.input(x.shape, dtype) for _ in range(2)]
    power = text.step("Pow", names, x.shape, dtype)
    square = text.step("Pow", [names[0], text.constant(2, dtype)], x.shape, dtype)
    found = run(text.kernel(power, square), dict(zip(names, (x, y), strict=True)))
    wide = x.astype(object)
    wanted = [
        int(a ** int(b)) if b >= 0 else int(float(a) ** int(b))
        for a, b in zip(wide, y, strict=True)
    ]
    np.testing.assert_array_equal(
        found[power],
        np.array(wanted, object).astype(np.int64).astype(dtype)
        if dtype != "uint8"
        else np.power(x, y),
    )
    np.testing.assert_array_equal(found[square], x * x)
