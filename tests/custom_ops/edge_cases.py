"""Extreme input shapes for each operator, derived from its sample shapes, and their check."""

from __future__ import annotations

import warnings
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from custom_ops.core.arrays import attribute_key, computation_of
from custom_ops.core.gradient import gradient_of, inputs_with_own_gradient
from custom_ops.core.operator_spec import OpSpec
from tbe_impl.comparing import TOLERANCE
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.errors import InputError
from tests.custom_ops.spec_cases import SPECS, arrays_of, as_tuple, in_float64

Shapes = tuple[tuple[int, ...], ...]
SIZES = (0, 1, 2, 3, 7, 8, 9, 15, 16, 17, 31, 33, 63, 65, 127, 131)
"""Zero, one, primes, and the neighbours of vector lengths."""
WHOLE = ((), (0,), (0, 4), (1,), (13,), (7, 11), (2, 3, 5))
"""Shapes for all inputs alike."""
DTYPES = ("float64", "float32", "float16", "bfloat16")
STEPS = (1e-5, 1e-6, 1e-7)
RELATIVE = 1e-6
"""Relative limit between a gradient and fourth-order differences of the formula, in float64."""


@dataclass(frozen=True)
class Edge:
    """An operator, its input shapes, and the dtype of floating inputs."""

    spec: OpSpec
    shapes: Shapes
    dtype: str

    def __str__(self) -> str:
        return f"{self.spec.name} {self.dtype} {' '.join(map(str, self.shapes))}"


def shapes_of(spec: OpSpec) -> Iterator[Shapes]:
    """Samples with one size changed everywhere, with leading axes, and with broadcast inputs."""
    count = len(spec.inputs)
    yield from ((shape,) * count for shape in WHOLE)
    first = spec.samples[0]
    for old in sorted({size for shape in first for size in shape}):
        for new in SIZES:
            yield tuple(tuple(new if size == old else size for size in shape) for shape in first)
    for shapes in spec.samples[:2]:
        for before in ((2,), (1, 3), (0,), (2, 1, 1, 2)):
            alike = [len(shape) == len(shapes[0]) for shape in shapes]
            yield tuple(
                (*before, *shape) if one else shape
                for one, shape in zip(alike, shapes, strict=True)
            )
        longest = max(len(shape) for shape in shapes)
        yield tuple(
            (1,) * (8 - longest) + shape if len(shape) == longest else shape for shape in shapes
        )
        for place in range(count):
            for one in (
                (),
                (1,),
                shapes[place][1:],
                (1, *shapes[place][1:]),
                (*shapes[place][:-1], 1),
            ):
                yield (*shapes[:place], one, *shapes[place + 1 :])


def edges_of(spec: OpSpec) -> list[Edge]:
    """Every shape once, with alternating dtypes."""
    dtypes = [dtype for dtype in DTYPES if dtype in spec.dtypes]
    every = dict.fromkeys(shapes_of(spec))
    return [Edge(spec, shapes, dtypes[i % len(dtypes)]) for i, shapes in enumerate(every)]


def run(spec: OpSpec, given: Any, *arrays: np.ndarray) -> tuple[Any, ...]:
    """Its outputs, including hidden ones."""
    return as_tuple(computation_of(spec, attribute_key(spec, given))(*arrays))


def gradients(
    spec: OpSpec, given: Any, arrays: Sequence[Any], made: Sequence[Any], grads: Sequence[Any]
) -> list[Any]:
    """Gradients of the differentiable inputs, from inputs, outputs, and gradients of visible
    outputs.
    """
    gradient = gradient_of(spec)
    known = dict(zip((*spec.inputs, *spec.outputs), (*arrays, *made), strict=True))
    saved = [known[name] for name in gradient.inputs if name in known]
    own = dict(
        zip(inputs_with_own_gradient(spec), run(gradient, given, *saved, *grads), strict=True)
    )
    names = [spec.inputs[place] for place in spec.differentiable_inputs]
    return [own[spec.same_gradient.get(name, name)] for name in names]


def check(edge: Edge, seed: int = 0) -> bool:
    """Whether the operator accepts the case.

    Raises:
        AssertionError: a wrong result forward or backward, or an error with a bad message.
    """
    spec, given = edge.spec, edge.spec.with_defaults({})
    arrays = arrays_of(spec, edge.shapes, edge.dtype, seed)
    try:
        made = run(spec, given, *arrays)
    except InputError as error:
        check_error(error, spec)
        return False
    formula = _Formula(spec, given, in_float64(spec, arrays))
    wanted = formula.outputs()
    if wanted is None:
        return True  # values that are invalid indices for these shapes
    near = formula.outputs(*enumerate(moved(formula.arrays, spacing_of(edge.dtype), seed)))
    assert near is not None
    for got, want, other in zip(made, wanted, near, strict=False):
        close(got, want, TOLERANCE[edge.dtype], other)
    if not spec.differentiable_inputs:
        return True
    rng = np.random.default_rng([seed, 1])  # other values than those of the inputs
    visible = made[: len(spec.visible_outputs)]
    grads = [rng.standard_normal(one.shape).astype(one.dtype) for one in visible]
    found = gradients(spec, given, arrays, made, grads)
    for place, got in zip(spec.differentiable_inputs, found, strict=True):
        assert (got.shape, got.dtype) == (arrays[place].shape, arrays[place].dtype), spec.inputs[
            place
        ]
    wide = [np.asarray(grad, np.float64) for grad in grads]
    if edge.dtype == "float64":
        for place, got in zip(spec.differentiable_inputs, found, strict=True):
            formula.check_slope(place, got, wide, rng)
    elif "float64" in spec.dtypes:
        exact = in_float64(spec, arrays)
        right = gradients(spec, given, exact, run(spec, given, *exact), wide)
        near = moved(exact, spacing_of(edge.dtype), seed)
        slopes = moved(wide, spacing_of(edge.dtype), seed)
        others = gradients(spec, given, near, run(spec, given, *near), slopes)
        least = 8 * spacing_of(edge.dtype) * _magnified(spec, exact, right)
        for got, want, other in zip(found, right, others, strict=True):
            close(got, want, 2 * TOLERANCE[edge.dtype], other, least)
    return True


def _magnified(spec: OpSpec, arrays: Sequence[np.ndarray], right: Sequence[np.ndarray]) -> float:
    """Gradients of normalised rows of two are differences of values of this size, with heavy
    cancellation.
    """
    if "Norm" not in spec.name or arrays[0].shape[-1:] != (2,):
        return 1.0
    lasting = arrays[0] + arrays[1] if "residual" in spec.inputs else arrays[0]
    largest = max((float(np.abs(one).max()) for one in right if one.size), default=1.0)
    return max(1.0, 1 / max(float(lasting.std(-1).min(initial=1.0)), 1e-4)) * max(1.0, largest)


def check_error(error: InputError, spec: OpSpec) -> None:
    """The message names operator and argument, and what was expected and given."""
    text = str(error)
    assert any(name in text for name in SPECS), text
    assert any(name in text for name in spec.inputs), text
    assert error.expected and error.got, text


def spacing_of(dtype: str) -> float:
    """Relative spacing of a dtype."""
    import ml_dtypes

    return float(ml_dtypes.finfo(dtype_of(dtype).numpy).eps)


def moved(arrays: Sequence[np.ndarray], distance: float, seed: int) -> list[np.ndarray]:
    """Every value perturbed within that relative distance; integers are unchanged."""
    rng = np.random.default_rng(seed)
    return [
        array * (1 + distance * rng.uniform(-1, 1, array.shape))
        if array.dtype.kind == "f"
        else array
        for array in arrays
    ]


def close(got: Any, want: Any, tolerance: float, near: Any = None, least: float = 0.0) -> None:
    """Limits relative to the value and to the root mean square; NaN and infinities must agree.

    Args:
        near: results for inputs that differ by one rounding: errors may be a few times that
            difference.
        least: absolute limit: gradients of rows of two are differences of values near 1.
    """
    got, want = np.asarray(got, np.float64), np.asarray(want, np.float64)
    assert got.shape == want.shape, (got.shape, want.shape)
    finite = np.isfinite(want)
    assert np.array_equal(got[~finite], want[~finite], equal_nan=True), (got, want)
    if finite.any():
        known = want[finite]
        allowed = tolerance * (np.abs(known) + np.sqrt(np.mean(known * known))) + least
        if near is not None:
            allowed += 8 * np.nan_to_num(np.abs(np.asarray(near, np.float64)[finite] - known))
        off = np.abs(got[finite] - known) - allowed
        assert np.all(off <= 0), f"{off.max():.3g} more than allowed"


class _Formula:
    """The formula of an operator for given inputs."""

    def __init__(self, spec: OpSpec, given: Any, arrays: Sequence[np.ndarray]):
        self.spec, self.given, self.arrays = spec, given, list(arrays)

    def outputs(self, *changes: tuple[int, np.ndarray]) -> tuple[Any, ...] | None:
        """The expected results; None for an index out of range."""
        arrays = list(self.arrays)
        for place, array in changes:
            arrays[place] = array
        assert self.spec.formula is not None
        with warnings.catch_warnings(), np.errstate(all="ignore"):
            warnings.simplefilter("ignore")  # the mean of an empty array
            try:
                return as_tuple(self.spec.formula(*arrays, **self.given))
            except (IndexError, ArithmeticError):
                return None

    def check_slope(
        self, place: int, got: np.ndarray, grads: Sequence[np.ndarray], rng: Any
    ) -> None:
        """The directional derivative is the change of the outputs; shorter steps near a kink."""
        if not got.size:
            return  # there is no direction, and the mean of an empty array is NaN
        # a direction without cancellation in the gradient
        direction = np.copysign(rng.standard_normal(got.shape), got)
        along = float(np.sum(got * direction))
        size = float(np.abs(got * direction).sum())
        seen = []
        for step in STEPS:
            slope, scale = self._slope(place, direction, step, grads)
            if np.isnan(slope) and np.isnan(along):
                return
            if abs(along - slope) <= RELATIVE * (scale + size) + 1e-9:
                return
            seen.append(slope)
        raise AssertionError(
            f"gradient of {self.spec.inputs[place]}: {along}, by differences {seen}"
        )

    def _slope(
        self, place: int, direction: np.ndarray, step: float, grads: Sequence[np.ndarray]
    ) -> tuple[float, float]:
        """Σ grad·change along the direction, and the sum of the magnitudes."""
        changed = []
        for times in (1, -1, 2, -2):
            made = self.outputs((place, self.arrays[place] + times * step * direction))
            assert made is not None
            changed.append([np.asarray(one, np.float64) for one in made])
        slope, scale = 0.0, 0.0
        for a, b, c, d, grad in zip(*changed, grads, strict=False):
            each = grad * (8 * (a - b) - (c - d)) / (12 * step)
            slope, scale = slope + float(each.sum()), scale + float(np.abs(each).sum())
        return slope, scale


OTHER_DTYPES = ("int32", "uint8", "bool", "float64", "float16", "complex64")


def check_other_dtype(spec: OpSpec, place: int, dtype: str) -> bool:
    """Whether one input may have another dtype than the others, which have float32.

    Raises:
        AssertionError: a wrong result, or an error with a bad message.
    """
    given = spec.with_defaults({})
    arrays = arrays_of(spec, spec.samples[0], "float32")
    with np.errstate(over="ignore"):
        arrays[place] = arrays[place].astype(dtype)
    try:
        made = run(spec, given, *arrays)
    except InputError as error:
        check_error(error, spec)
        return False
    wide = [one.astype(np.float64) if one.dtype.kind == "f" else one for one in arrays]
    assert spec.formula is not None
    for got, want in zip(made, as_tuple(spec.formula(*wide, **given)), strict=False):
        close(
            got, want, TOLERANCE["float16" if "float16" in (dtype, str(got.dtype)) else "float32"]
        )
    if spec.differentiable_inputs:
        grads = [np.ones(one.shape, one.dtype) for one in made[: len(spec.visible_outputs)]]
        for one, got in zip(
            spec.differentiable_inputs, gradients(spec, given, arrays, made, grads), strict=True
        ):
            assert got.dtype == arrays[one].dtype, spec.inputs[one]
    return True
