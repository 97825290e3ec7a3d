"""Every operator against float64 formulas: results and gradients, on arrays and in MindSpore."""

from __future__ import annotations

import sys
import warnings

import ml_dtypes
import numpy as np
import pytest

from custom_ops.core.arrays import attribute_key, computation_of
from custom_ops.core.gradient import gradient_of, inputs_with_own_gradient
from custom_ops.core.operator_spec import OpSpec
from tbe_impl.comparing import TOLERANCE
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.custom_ops.modes import MODES, set_mode
from tests.custom_ops.spec_cases import (
    BY_INTERPRETER,
    COMPILED_EVERY,
    SLOW_TO_COMPILE,
    SPECS,
    STEPS,
    arrays_of,
    as_tuple,
    attributes_of,
    half_of,
    in_float64,
    name_of,
    run_by,
    tail_of,
)

DTYPES = ("float16", "bfloat16", "float32", "float64")
GRADIENT_EVERY = 12
"""`make test` compares the gradients of every twelfth operator inside MindSpore."""


def only_full(is_full):
    """The marks of a row."""
    return [FULL] if is_full else []


TRIED = [
    *(
        (spec, spec.with_defaults({}), tail_of(spec), f"{name}-tail", False)
        for name, spec in SPECS.items()
    ),
    *(
        (
            spec,
            spec.with_defaults({}),
            shapes,
            f"{name}-{'x'.join(map(str, shapes[0])) or 'scalar'}",
            True,
        )
        for name, spec in SPECS.items()
        for shapes in spec.samples
        if shapes != tail_of(spec)
    ),
    *(
        (spec, given, spec.samples[0], f"{name}-{name_of(given)}", number > 0)
        for name, spec in SPECS.items()
        for number, given in enumerate(attributes_of(spec)[1:])
    ),
]
"""Operator, attributes, shapes, label, and whether only `make test-all` runs it."""


def is_compiled(spec, given, dtype):
    """Whether `make test` compiles it: float32 with defaults, and every other of these in a half
    dtype.
    """
    if spec.forward is None:  # there is no alternative
        is_half = dtype == half_of(spec) and spec.name not in SLOW_TO_COMPILE
        return dtype == "float32" or (is_half and given == spec.with_defaults({}))
    number = list(SPECS).index(spec.name)
    is_half_quick = dtype == half_of(spec) and number % (2 * COMPILED_EVERY) == 0
    is_default = given == spec.with_defaults({})
    return spec.name not in BY_INTERPRETER and is_default and (dtype == "float32" or is_half_quick)


def compiled_or_not(tried):
    """Rows of operator, attributes, shapes, dtype and back end; the rest uses NumPy in `make test`.

    `make test-all` compiles all.
    """
    for spec, given, shapes, label, is_full, dtype in tried:
        compiled = not is_full and is_compiled(spec, given, dtype)
        yield pytest.param(
            spec, given, shapes, dtype, "cpu", id=f"{label}-{dtype}", marks=only_full(not compiled)
        )
        if not is_full and not compiled and spec.forward is not None and dtype != "float64":
            yield pytest.param(spec, given, shapes, dtype, "numpy", id=f"{label}-{dtype}-numpy")


NUMBERS = list(
    compiled_or_not(
        (*tried, dtype)
        for tried in TRIED
        for dtype in DTYPES
        if dtype in tried[0].dtypes and tried[0].has_kernel
    )
)
DIFFERENTIATED = list(
    compiled_or_not(
        (*tried, dtype)
        for tried in TRIED
        for dtype in ("float32", "float64")
        if tried[0].has_kernel
        and tried[0].differentiable_inputs
        and {"float32", "float64"} <= set(tried[0].dtypes)
    )
)
SLOPES = {"float32": (2e-3, 2e-4), "float64": (1e-3, 1e-5)}
"""Limits of the distance between gradients and finite differences: relative, absolute."""


def close(got, want, dtype: str) -> None:
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape
    if not want.size:
        return
    allowed = TOLERANCE[dtype] * (np.abs(want) + np.sqrt(np.mean(want * want)))
    assert np.all(np.abs(got - want) <= allowed), (np.abs(got - want).max(), allowed.min())


def run(spec, given, *arrays):
    return as_tuple(computation_of(spec, attribute_key(spec, given))(*arrays))


def is_half_without_a_compiler(row):
    """Whether a row belongs to the second of the next two tests."""
    _, _, _, dtype, backend = row.values
    return backend == "numpy" and dtype != "float32"


@cases(
    "spec, given, shapes, dtype, backend",
    [row for row in NUMBERS if not is_half_without_a_compiler(row)],
)
def test_results_and_gradients_agree_with_the_formula(spec, given, shapes, dtype, backend):
    check_numbers(spec, given, shapes, dtype, backend)


@cases(
    "spec, given, shapes, dtype, backend",
    [row for row in NUMBERS if is_half_without_a_compiler(row)],
)
def test_halves_without_a_compiler(spec, given, shapes, dtype, backend):
    """Definition and casts of the operators whose half-precision kernels only `make test-all`
    compiles.
    """
    check_numbers(spec, given, shapes, dtype, backend)


def check_numbers(spec, given, shapes, dtype, backend):
    """The outputs against float64."""
    arrays = arrays_of(spec, shapes, dtype)
    want = as_tuple(spec.formula(*in_float64(spec, arrays), **given))
    made = run_by(backend, spec, given, *arrays)
    for got, one in zip(made[: len(spec.visible_outputs)], want, strict=True):
        close(got, one, dtype)


@cases("spec, given, shapes, dtype, backend", DIFFERENTIATED)
def test_gradients_by_finite_differences(spec, given, shapes, dtype, backend, full):
    """Gradients for twelve elements of each input; ``make test`` takes six."""
    count = 12 if full else 6
    given_arrays = arrays_of(spec, shapes, dtype, seed=1)
    arrays = in_float64(spec, given_arrays)
    rng = np.random.default_rng(2)
    outputs = as_tuple(spec.formula(*arrays, **given))
    grads = [np.asarray(rng.standard_normal(np.shape(one)), dtype) for one in outputs]
    gradient = gradient_of(spec)
    made = run_by(backend, spec, given, *given_arrays)
    known = dict(zip((*spec.inputs, *spec.outputs), (*given_arrays, *made), strict=True))
    relative, absolute = SLOPES[dtype]
    saved = [known[name] for name in gradient.inputs if name in known]
    found = run_by(backend, gradient, given, *saved, *grads)

    def loss(changed) -> float:
        got = as_tuple(spec.formula(*changed, **given))
        return sum(float(np.sum(one * grad)) for one, grad in zip(got, grads, strict=True))

    own = dict(zip(inputs_with_own_gradient(spec), found, strict=True))
    for place in spec.differentiable_inputs:
        got = own[spec.same_gradient.get(spec.inputs[place], spec.inputs[place])]
        step = 1e-6
        for number in rng.permutation(arrays[place].size)[:count]:
            changed = [array.copy() for array in arrays]
            at = np.unravel_index(number, arrays[place].shape)
            changed[place][at] += step
            up = loss(changed)
            changed[place][at] -= 2 * step
            slope = (up - loss(changed)) / (2 * step)
            assert abs(got[at] - slope) <= relative * abs(slope) + absolute, (
                spec.inputs[place],
                at,
            )


ROUTES = [
    pytest.param(
        spec,
        shapes,
        mode,
        with_gradient,
        id=f"{name}-{label}-{mode}-{with_gradient}",
        marks=only_full(
            shapes != tail_of(spec)
            or (mode == "graph") != (number == 16)
            or with_gradient != (number % GRADIENT_EVERY == 4)
            or name in BY_INTERPRETER
        ),
    )
    for number, (name, spec) in enumerate(SPECS.items())
    for label, shapes in [("tail", tail_of(spec)), ("sample", spec.samples[0])]
    for mode in MODES
    for with_gradient in (True, False)
    if spec.has_kernel
    and spec.composite is not None
    and (label == "tail" or shapes != tail_of(spec))
    if with_gradient or (label == "tail" and mode == "pynative" and number % GRADIENT_EVERY != 4)
]
"""The composite forward of each operator that `make test` compiles; few gradients: MindSpore
derives all alike.
"""


@pytest.mark.mindspore
@cases("spec, shapes, mode, with_gradient", ROUTES)
def test_both_routes_agree_inside_mindspore(spec, shapes, mode, with_gradient):
    ms = pytest.importorskip("mindspore")
    from custom_ops.core.cell import FusedCell

    set_mode(mode)
    arrays = arrays_of(spec, shapes, "float32")
    inputs = [ms.Tensor(array) for array in arrays]
    native, composite = (FusedCell(spec, {}, route) for route in ("native", "composite"))
    one, other = as_tuple(native(*inputs)), as_tuple(composite(*inputs))
    for got, want in zip(one, other, strict=True):
        close(got.asnumpy(), want.asnumpy(), "float32")
    if spec.differentiable_inputs and with_gradient:
        rng = np.random.default_rng(3)
        grads = [ms.Tensor(rng.standard_normal(made.shape).astype(np.float32)) for made in one]
        backward = ms.ops.GradOperation(get_all=True, sens_param=True)
        sens = tuple(grads) if len(grads) > 1 else grads[0]
        one, other = (backward(cell)(*inputs, sens) for cell in (native, composite))
        for place in spec.differentiable_inputs:
            close(one[place].asnumpy(), other[place].asnumpy(), "float32")


@pytest.mark.mindspore
@cases(
    "name",
    [name for name, spec in SPECS.items() if name in BY_INTERPRETER and spec.composite is not None],
)
def test_basic_operators_compute_the_formula(name):
    """The PyNative composite of each operator whose kernels `make test` does not compile."""
    ms = pytest.importorskip("mindspore")
    from custom_ops.core.cell import FusedCell

    set_mode("pynative")
    spec = SPECS[name]
    arrays = arrays_of(spec, tail_of(spec), "float32")
    made = as_tuple(FusedCell(spec, {}, "composite")(*map(ms.Tensor, arrays)))
    wanted = as_tuple(spec.formula(*in_float64(spec, arrays), **spec.with_defaults({})))
    for got, want in zip(made, wanted, strict=True):
        close(got.asnumpy(), want, "float32")


SPECIAL = (np.nan, np.inf, -np.inf, 0.0, -0.0, 1.5, -2.0)


def extremes(dtype: str) -> tuple[float, ...]:
    """The largest, the smallest, and the smallest normal number, with both signs."""
    limits = ml_dtypes.finfo(dtype_of(dtype).numpy)
    found = (limits.max, limits.smallest_subnormal, limits.smallest_normal)
    return tuple(sign * float(one) for one in found for sign in (1, -1))


SPECIALS = [
    row
    for row in NUMBERS
    for spec, _, shapes, _, _ in [row.values]
    if spec.nan != "undefined" and shapes in (tail_of(spec), spec.samples[0])
]


@cases("spec, given, shapes, dtype, backend", SPECIALS)
def test_special_values(spec, given, shapes, dtype, backend, subtests, full):
    """NaN, infinities and signed zeros agree with the formula; ``make test`` takes half of the
    tries.
    """
    for seed in range(8 if full else 4):
        with subtests.test(seed=seed):
            arrays = _with_special_values(spec, shapes, dtype, seed)
            with np.errstate(all="ignore"):
                wanted = as_tuple(spec.formula(*in_float64(spec, arrays), **given))
            made = run_by(backend, spec, given, *arrays)[: len(spec.visible_outputs)]
            for got, want in zip(made, wanted, strict=True):
                _same_pattern(np.asarray(got, np.float64), np.asarray(want), dtype)
                zero = want == 0
                if spec.nan == "propagates":
                    assert np.array_equal(np.signbit(got[zero]), np.signbit(want[zero]))


def _with_special_values(spec, shapes, dtype, seed):
    """All elements are special values; only one where a whole row would be NaN."""
    rng = np.random.default_rng(seed)
    arrays = arrays_of(spec, shapes, dtype, seed)
    shape = arrays[0].shape  # the shapes of other inputs are those of weights
    floats = [
        place
        for place, name in enumerate(spec.inputs)
        if name not in spec.integers and name not in spec.ranges and arrays[place].shape == shape
    ]
    # between two values at the range limit the interpolation may overflow
    alone = len(spec.inputs) == 1 and arrays[0].shape == np.shape(
        spec.formula(*in_float64(spec, arrays), **spec.with_defaults({}))
    )
    if spec.nan == "propagates":
        for place in floats:
            chosen = (*SPECIAL, *extremes(dtype)) if alone else SPECIAL
            arrays[place][...] = rng.choice(chosen, arrays[place].shape)
        return arrays
    place = floats[seed % len(floats)]
    if arrays[place].size:
        arrays[place].reshape(-1)[rng.integers(arrays[place].size)] = SPECIAL[seed % 7]
    return arrays


def _same_pattern(got, want, dtype):
    with np.errstate(all="ignore"):
        want = want.astype(dtype_of(dtype).numpy).astype(np.float64)
    assert np.array_equal(np.isnan(got), np.isnan(want)), (got, want)
    assert np.array_equal(got[np.isinf(got)], want[np.isinf(want)]), (got, want)
    assert np.array_equal(np.isinf(got), np.isinf(want)), (got, want)


ONE_SHAPE = ((), (0,), (0, 4), (1,), (13,), (7, 11), (2, 3, 5))


@cases(
    "spec, shape, backend",
    [
        pytest.param(
            spec,
            shape,
            backend,
            id=f"{spec.name}-{shape}-{backend}",
            marks=only_full(
                number % 7 != place or (backend == "cpu" and spec.name in BY_INTERPRETER)
            ),
        )
        for number, spec in enumerate(SPECS.values())
        for place, shape in enumerate(ONE_SHAPE)
        for backend in ("cpu", "numpy")
        if spec.has_kernel
        and (backend == "cpu" or (spec.name in BY_INTERPRETER and number % 7 == place))
    ],
)
def test_any_shape_works_or_is_refused(spec, shape, backend):
    """All inputs of one shape: right, or an error that names operator, argument and value."""
    given = spec.with_defaults({})
    arrays = arrays_of(spec, [shape] * len(spec.inputs), "float32")
    try:
        made = run_by(backend, spec, given, *arrays)
    except InputError as error:
        text = str(error)
        assert any(name in text for name in SPECS) and any(name in text for name in spec.inputs), (
            text
        )
        assert error.expected and error.got, text
        return
    with warnings.catch_warnings(), np.errstate(all="ignore"):
        warnings.simplefilter("ignore")  # the mean of an empty array
        try:
            wanted = as_tuple(spec.formula(*in_float64(spec, arrays), **given))
        except (IndexError, ArithmeticError):
            return  # values that are invalid indices for these shapes
    for got, want in zip(made[: len(spec.visible_outputs)], wanted, strict=True):
        if not np.isnan(want).all() or not np.isnan(got).all():
            close(got, want, "float32")


@cases(
    "spec, shapes",
    [
        pytest.param(
            spec,
            shapes,
            id=f"{name}-{label}",
            marks=only_full(shapes != tail_of(spec) or name in BY_INTERPRETER),
        )
        for name, spec in SPECS.items()
        for label, shapes in [("tail", tail_of(spec)), ("sample", spec.samples[0])]
        if spec.has_kernel and (label == "tail" or shapes != tail_of(spec))
    ],
)
def test_arrays_that_are_not_contiguous(spec, shapes):
    given = spec.with_defaults({})
    arrays = arrays_of(spec, shapes, "float32")
    apart = [np.repeat(array, 2, -1)[..., ::2] if array.ndim else array for array in arrays]
    turned = [np.asfortranarray(array) for array in arrays]
    aside = [_one_byte_aside(array) for array in arrays]
    wanted = run(spec, given, *arrays)
    for others in (apart, turned, aside):
        for got, want in zip(run(spec, given, *others), wanted, strict=True):
            assert np.array_equal(got, want)


def _one_byte_aside(array):
    """The same at an unaligned address."""
    raw = np.zeros(array.nbytes + 1, np.uint8)[1:]
    made = np.ndarray(array.shape, array.dtype, buffer=raw)
    made[...] = array
    return made


def test_every_public_operator_is_in_the_table():
    import custom_ops
    from custom_ops.core.arrays import ArrayOperator

    for name in custom_ops.__all__:
        found = getattr(custom_ops, name)
        if not isinstance(found, type) or not found.__module__.startswith("custom_ops.operators"):
            continue
        if name == "FusedConvBN":
            continue  # composed of array operators, without an OpSpec; see test_conv_bn
        assert issubclass(found, ArrayOperator), f"{name} takes no arrays"
        modules = [kind.__module__ for kind in found.__mro__]
        homes = [vars(sys.modules[one]) for one in modules if one.startswith("custom_ops.")]
        specs = [item.name for home in homes for item in home.values() if isinstance(item, OpSpec)]
        assert specs, f"{name} has no OpSpec"
        assert set(specs) <= {*SPECS, *STEPS}
