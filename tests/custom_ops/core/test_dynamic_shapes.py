"""One kernel for dynamic sizes: the number of builds, and equal results."""

import numpy as np
import pytest

from custom_ops import LayerNormLinear
from custom_ops.core import computation
from custom_ops.core.computation import KERNEL_CACHE_SIZE, Computation
from custom_ops.core.dynamic_kernels import (
    LAST_SIZES,
    PATIENCE,
    BoundKernel,
    match_pattern,
    pattern_of,
)
from custom_ops.core.gradient import gradient_of
from custom_ops.core.kernel_interface import ArraySpec, to_tuple
from custom_ops.core.operator_spec import OpSpec
from tbe_impl import dsl
from tbe_impl.dsl.expr import Const, Var
from tbe_impl.errors import FusionError, InputError
from tests.cases import FULL, cases
from tests.custom_ops.spec_cases import SPECS, arrays_of

SCALED_ROWS = OpSpec(
    "VaryingRows",
    ("x", "y"),
    ("z",),
    forward=lambda x, y: dsl.vadd(
        dsl.vmul(x, y), dsl.broadcast(dsl.reduce_sum(x, [1], keepdims=True), x.shape)
    ),
)
NEEDS_COLUMNS = OpSpec(
    "VaryingNeedsColumns",
    ("x",),
    ("y",),
    forward=lambda x: dsl.vmuls(x, 1 / x.shape[1].value),
)
NEEDS_ALL = OpSpec(
    "VaryingNeedsAll", ("x",), ("y",), forward=lambda x: dsl.vmuls(x, x.shape[0].value * 1.0)
)


def floats(*shape, seed=0):
    return np.random.default_rng(seed).standard_normal(shape).astype(np.float32)


def test_fifty_batch_sizes_are_few_kernels():
    op = Computation(SCALED_ROWS, {})
    for rows in range(1, 51):
        x, y = floats(rows, 7), floats(rows, 7, seed=1)
        assert np.allclose(op(x, y), x * y + x.sum(1, keepdims=True), rtol=1e-5, atol=1e-5)
    assert op.built == PATIENCE + 2  # a single row has another kernel
    assert op.kernel([ArraySpec((50, 7), "float32")] * 2).outputs[0].shape == (50, 7)


@pytest.fixture
def _traced_alone(full, compiled_in_full, monkeypatch):
    """`make test` builds kernels here without compilation; the test pretends that they are fast."""
    if not full:
        monkeypatch.setattr(Computation, "_is_quick", lambda *_: True)


@pytest.mark.usefixtures("_traced_alone")
def test_another_axis_that_changes_makes_one_more():
    op = Computation(SCALED_ROWS, {})
    for rows in range(2, 9):
        op(floats(rows, 7), floats(rows, 7))
    built = op.built
    for columns in range(8, 40):
        x = floats(4, columns)
        assert np.allclose(op(x, x), x * x + x.sum(1, keepdims=True), rtol=1e-5, atol=1e-5)
    assert op.built <= built + LAST_SIZES + PATIENCE + 1


@pytest.mark.usefixtures("_traced_alone")
def test_few_sizes_of_a_last_axis_stay_known():
    op = Computation(SCALED_ROWS, {})
    for columns in (16, 32):
        for rows in range(2, 12):
            op(floats(rows, columns), floats(rows, columns))
    assert op.built == 2 * (PATIENCE + 1)
    found = op.kernel([ArraySpec((30, 32), "float32")] * 2)
    assert found.varying.pattern == (-1, 32, -1, 32)


def test_a_kernel_that_would_be_slow_is_not_taken(monkeypatch):
    monkeypatch.setattr(
        computation,
        "time_fastest_call",
        lambda kernel, _: 1.0 if kernel.inputs[0].shape[0] < 0 else 0.1,
    )
    op = Computation(SCALED_ROWS, {})
    for rows in range(2, 9):
        op(floats(rows, 7), floats(rows, 7))
    assert not isinstance(op.kernel([ArraySpec((8, 7), "float32")] * 2), BoundKernel)


@pytest.mark.usefixtures("_traced_alone")
def test_sizes_that_an_operator_has_to_know_stay_known():
    op = Computation(NEEDS_COLUMNS, {})
    for columns in (4, 8):
        for rows in range(2, 20):
            x = floats(rows, columns)
            assert np.allclose(op(x), x / columns)
    assert op.built <= 2 * (PATIENCE + 1) + PATIENCE
    fixed = Computation(NEEDS_ALL, {})
    for rows in range(2, 9):
        assert np.allclose(fixed(np.ones((rows, 2), np.float32)), rows)
    assert not isinstance(fixed.kernel([ArraySpec((8, 2), "float32")]), BoundKernel)


def test_sizes_that_were_announced_make_one_kernel_at_once():
    op = Computation(SCALED_ROWS, {})
    unknown = ArraySpec((-1, 7), "float32")
    assert op.describe_dynamic([unknown, unknown]) == (unknown,)
    for rows in range(2, 12):
        x = floats(rows, 7)
        assert np.allclose(op(x, x), x * x + x.sum(1, keepdims=True), rtol=1e-5, atol=1e-5)
    assert op.built == 1


def test_what_is_kept_is_bounded():
    op = Computation(NEEDS_ALL, {})
    for rows in range(2, KERNEL_CACHE_SIZE + 12):
        op.describe([ArraySpec((rows, 2), "float32")])
    assert len(op._outputs) == len(op._traced) == KERNEL_CACHE_SIZE


@FULL  # eighteen kernels; the last test checks without a compiler which sizes can be dynamic
@cases("changing", [0, 2], ids=["batch", "height"])
def test_groups_of_channels_are_few_kernels(changing):
    """Forward and backward: a reshape next to an unknown size keeps that axis unchanged."""
    spec = SPECS["GroupNorm"]
    ops = Computation(spec, {"num_groups": 2}), Computation(gradient_of(spec), {"num_groups": 2})
    for size in range(2, 10):
        shape = [4, 6, 3, 5]
        shape[changing] = size
        x, gamma, beta, grad = floats(*shape), floats(6), floats(6, seed=1), floats(*shape, seed=2)
        y, middle, rstd = ops[0](x, gamma, beta)
        wide = (one.astype(np.float64) for one in (x, gamma, beta))
        assert np.allclose(y, spec.formula(*wide, num_groups=2), rtol=1e-4, atol=1e-5)
        assert np.allclose(
            ops[1](x, gamma, middle, rstd, grad)[2], grad.sum((0, 2, 3)), rtol=1e-4, atol=1e-5
        )
    assert [op.built for op in ops] == [PATIENCE + 1] * 2


@pytest.mark.usefixtures("_traced_alone")
def test_kernels_of_a_chain_take_sizes_that_change():
    op = LayerNormLinear(8, 4, epsilon=2e-7)  # unique arguments: these kernels stay uncompiled
    weights = [floats(4, 8, seed=2), floats(4, seed=3)]
    for rows in range(2, 10):
        x, gamma, beta = floats(rows, 8), floats(8, seed=4), floats(8, seed=5)
        normal = (x - x.mean(1, keepdims=True)) / np.sqrt(x.var(1, keepdims=True) + 2e-7)
        wanted = (normal * gamma + beta) @ weights[0].T + weights[1]
        assert np.allclose(op.forward(x, gamma, beta, *weights), wanted, atol=1e-4)
        grads = op.backward(np.ones((rows, 4), np.float32))
        assert np.allclose(grads[3], np.ones((4, rows)) @ (normal * gamma + beta), atol=1e-3)
        assert np.allclose(grads[4], rows)


def test_arrays_that_do_not_fit_are_refused_as_before():
    op = Computation(SCALED_ROWS, {})
    for rows in range(2, 9):
        op(floats(rows, 7), floats(rows, 7))
    with pytest.raises(InputError, match="VaryingRows"):
        op(floats(5, 7), floats(6, 7))


def test_patterns():
    seen = [(4, 7, 4), (5, 7, 5), (6, 7, 6)]
    assert pattern_of(seen) == (-1, 7, -1)
    assert pattern_of([(4, 7, 4), (5, 7, 6)]) == (-1, 7, -2)
    assert pattern_of([(4, 7, 4)], frozenset({0, 2})) == (-1, 7, -1)
    assert match_pattern((-1, 7, -1), (9, 7, 9)) == {0: 9}
    assert match_pattern((-1, 7, -1), (9, 7, 8)) is None
    assert match_pattern((-1, 7, -1), (1, 7, 1)) is None
    assert match_pattern((-1, 7), (9, 6)) is None


@cases("columns", [3, pytest.param(5000, marks=FULL)])
def test_a_size_used_as_a_number_is_never_taken_for_another(columns):
    def forward(x):
        rows = x.shape[0].value if isinstance(x.shape[0], Const) else x.shape[0]
        return dsl.vmuls(x, 1 / rows)  # the reciprocal of a dynamic integer size: 0

    op = Computation(OpSpec("VaryingCounts", ("x",), ("y",), forward=forward), {})
    for rows in range(300, 308):
        x = floats(rows, columns)
        assert np.allclose(op(x), x / rows)


CASES = [
    pytest.param(spec, given, id=f"{name}-{number}")
    for name, spec in SPECS.items()
    if spec.forward is not None and spec.samples
    for number, given in enumerate(({}, *spec.variants))
]


@cases("spec, attributes", CASES, quick=16)
def test_every_operator_computes_the_same_where_sizes_come_later(spec, attributes):
    """Each size alone, and all together, dynamic: the operator refuses, or its definition is
    unchanged.
    """
    full = spec.with_defaults(attributes)
    large = [shapes for shapes in spec.samples if all(size > 1 for one in shapes for size in one)]
    arrays = arrays_of(spec, (large or spec.samples)[0], "float32")
    forward = Computation(spec, full)
    made = to_tuple(
        forward._trace_shapes(described(arrays), shapes_of(arrays))(*arrays, backend="numpy")
    )
    check_open_sizes(forward, arrays)
    if not spec.differentiable_inputs or gradient_of(spec).forward is None:
        return
    gradient = gradient_of(spec)
    known = dict(zip((*spec.inputs, *spec.outputs), (*arrays, *made), strict=True))
    grads = [
        floats(*one.shape, seed=2).astype(one.dtype) for one in made[: len(spec.visible_outputs)]
    ]
    saved = [known[name] for name in gradient.inputs[: -len(grads)]]
    check_open_sizes(Computation(gradient, full), [*saved, *grads])


def described(arrays):
    return [ArraySpec.from_array(array) for array in arrays]


def shapes_of(arrays):
    return [array.shape for array in arrays]


def check_open_sizes(op, arrays):
    wanted = to_tuple(
        op._trace_shapes(described(arrays), shapes_of(arrays))(*arrays, backend="numpy")
    )
    sizes = {size for array in arrays for size in array.shape if size > 1}
    for left_open in [*({size} for size in sizes), sizes]:
        variables = {size: Var(f"n{size}", "int64") for size in left_open}
        shapes = [[variables.get(size, size) for size in array.shape] for array in arrays]
        try:
            kernel = op._trace_shapes(described(arrays), shapes)
        except FusionError:
            continue
        for got, want in zip(to_tuple(kernel(*arrays, backend="numpy")), wanted, strict=True):
            assert got.shape == want.shape and got.dtype == want.dtype
            assert np.allclose(got, want, rtol=1e-5, atol=1e-6, equal_nan=True)
