"""Arrays for an operator's tries, and what should come out, from its OpSpec."""

from __future__ import annotations

import numpy as np

from custom_ops.operators import all_specs
from custom_ops.specs import OpSpec
from tbe_impl.dsl.dtypes import dtype_of

STEPS = frozenset({
    "ActivationGradient", "ActivationGradientAndSum", "Cast", "Conv2dGradWeight", "Conv2dGradX", "Product", "ProductOfRows", "RowsSum"
})  # fmt: skip
"""Steps of operators that are several kernels in a row: tested through those."""
STEPS |= {name for name, spec in all_specs().items() if spec.is_tbe_only}
SPECS = {name: spec for name, spec in all_specs().items() if name not in STEPS}


def arrays_of(spec: OpSpec, shapes, dtype: str, seed: int = 0) -> list[np.ndarray]:
    """Inputs of these shapes; the same numbers in every dtype, as far as it holds them."""
    rng = np.random.default_rng(seed)
    made = []
    for name, shape in zip(spec.inputs, shapes, strict=True):
        if name in spec.integers:
            own, below = spec.integers[name]
            made.append(rng.integers(0, below, shape).astype(own))
            continue
        low, high = spec.ranges.get(name, (None, None))
        numbers = rng.standard_normal(shape) if low is None else rng.uniform(low, high, shape)
        made.append(np.asarray(numbers).astype(dtype_of(dtype).numpy))
    return made


def in_float64(spec: OpSpec, arrays) -> list[np.ndarray]:
    """The same, as the formula takes them."""
    return [
        array if name in spec.integers else array.astype(np.float64)
        for name, array in zip(spec.inputs, arrays, strict=True)
    ]


def as_tuple(made) -> tuple:
    return made if isinstance(made, tuple) else (made,)


def attributes_of(spec: OpSpec) -> list[dict]:
    """All attributes, of the defaults and of each variant."""
    return [spec.with_defaults(given) for given in ({}, *spec.variants)]


def name_of(given: dict) -> str:
    """Attributes in the name of a test."""
    return ",".join(f"{name}={value}" for name, value in given.items())
