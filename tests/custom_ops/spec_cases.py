"""Arrays and expected results of an operator's tests, from its OpSpec.

Also selects the kernels that `make test` compiles.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from custom_ops.core.arrays import attribute_key, computation_of
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.core.operator_spec import OpSpec
from custom_ops.operators import all_specs
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.kernel import Kernel

STEPS = frozenset(
    {
        "ActivationGradient",
        "ActivationGradientAndSum",
        "Cast",
        "Conv2dGradWeight",
        "Conv2dGradX",
        "Product",
        "ProductOfRows",
        "RowsSum",
    }
)
"""Steps of operators with several kernels: tested through those operators."""
STEPS |= {name for name, spec in all_specs().items() if (spec.formula or spec.composite) is None}
SPECS = {name: spec for name, spec in all_specs().items() if name not in STEPS}


def arrays_of(spec: OpSpec, shapes, dtype: str, seed: int = 0) -> list[np.ndarray]:
    """Inputs of these shapes; the same values in every dtype, rounded to it."""
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
    """The same for the formula."""
    return [
        array if name in spec.integers else array.astype(np.float64)
        for name, array in zip(spec.inputs, arrays, strict=True)
    ]


def as_tuple(made) -> tuple:
    return made if isinstance(made, tuple) else (made,)


def attributes_of(spec: OpSpec) -> list[dict]:
    """All attributes, from the defaults and from each variant."""
    return [spec.with_defaults(given) for given in ({}, *spec.variants)]


def name_of(given: dict) -> str:
    """Attributes in the name of a test."""
    return ",".join(f"{name}={value}" for name, value in given.items())


_ROWS = ((3, 5, 7),)
_OTHER_TAILS = {
    "BatchNormInference": 2,
    "BatchNormTraining": 2,
    "BoxDecode": 0,
    "FoldBatchNorm": 0,
    "FoldBatchNormBias": 0,
    "MaskedScaledDotProductAttention": 0,
    "NMS": 0,
    "ScaledDotProductAttention": 0,
    "ScaleAddSoftmax": 2,
    "ScaleMaskSoftmax": 2,
    "ScaleSoftmax": 4,
    "TokenEmbedding": 0,
    "BiasDropoutAdd": ((3, 23), (23,), (3, 23), (1,)),
    "GeGLU": _ROWS * 2,
    "GeGLUHalves": ((3, 46),),
    "SwiGLU": _ROWS * 2,
    "SwiGLUHalves": ((3, 46),),
    "GroupNorm": ((2, 4, 5, 7), (4,), (4,)),
    "RotaryEmbedding": ((2, 3, 5, 22), (5, 22), (5, 22)),
    "SoftmaxCrossEntropy": ((6, 43), (6,)),
    "SoftmaxCrossEntropyDense": ((6, 43), (6, 43)),
    "SoftmaxCrossEntropyWeighted": ((6, 43), (6,), (43,)),
}
"""Shapes, or the sample index if the second sample has only whole vectors or less than one."""


def tail_of(spec: OpSpec) -> tuple[tuple[int, ...], ...]:
    """Shapes with whole vectors and a tail, for 8 and 16 lanes.

    `make test` uses these for every operator, so that all tests share the compiled kernels.
    """
    other = _OTHER_TAILS.get(spec.name, 1)
    if spec.name.startswith("Conv2d"):
        other = 0
    elif len(spec.samples[0][0]) == 2 and spec.samples[0][0] == (6, 24):  # a product
        sizes = {6: 7, 24: 19, 17: 21}
        return tuple(tuple(sizes[size] for size in shape) for shape in spec.samples[0])
    return spec.samples[other] if isinstance(other, int) else other


SLOW_TO_COMPILE = frozenset(
    {
        "AddLayerNorm",
        "BoxDecode",
        "FoldBatchNormBias",
        "LayerNormLinearWithoutBias",
        "MaskedScaledDotProductAttention",
        "SoftmaxCrossEntropyDense",
        "SoftmaxCrossEntropyWeighted",
    }
)
"""Operators that `make test` does not compile.

Their kernels are like those of others, or cost seconds.
"""
COMPILED_EVERY = 4
BY_INTERPRETER = frozenset(
    name
    for number, (name, spec) in enumerate(SPECS.items())
    if spec.forward is not None and (number % COMPILED_EVERY or name in SLOW_TO_COMPILE)
)
"""Operators that `make test` computes by the NumPy back end, which takes milliseconds.

Every fourth operator is compiled.
"""


def half_of(spec: OpSpec) -> str:
    """The half dtype in `make test`, alternating."""
    return ("float16", "bfloat16")[list(SPECS).index(spec.name) % 2]


def run_by(backend: str, spec: OpSpec, given: Mapping[str, Any], *arrays: Any) -> tuple[Any, ...]:
    """Its outputs, including hidden ones.

    Kernels without DSL definition run unchanged on either back end.
    """
    kernel = computation_of(spec, attribute_key(spec, given)).kernel(
        [ArraySpec.from_array(array) for array in arrays]
    )
    if not isinstance(kernel, Kernel):
        return as_tuple(kernel(*arrays))
    if backend == "cpu":
        assert kernel.compiled  # a call would fall back on the NumPy back end
    return as_tuple(kernel(*arrays, backend=backend))
