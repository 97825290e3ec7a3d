"""The measured operators, each as DSL operations and as a formula in NumPy."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from tbe_impl.arguments import Argument
from tbe_impl.dsl import ext
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import Tensor, placeholder, static_shape
from tbe_impl.kernel import Kernel

Array = np.ndarray[Any, Any]
EPSILON = 1e-5
BETA1, BETA2, RATE = 0.9, 0.999, 1e-3


@dataclass(frozen=True)
class Measured:
    """An operator.

    Attributes:
        name: its name.
        write: builds the outputs from the inputs with DSL operations.
        formula: the same in NumPy, for float64 arrays.
        shapes: maps the shape of the largest input to those of all inputs.
    """

    name: str
    write: Callable[..., Sequence[Tensor]]
    formula: Callable[..., Sequence[Array]]
    shapes: Callable[[tuple[int, ...]], Sequence[tuple[int, ...]]] = lambda shape: (shape,)

    def kernel(self, shape: tuple[int, ...], dtype: str = "float32", **changes: Any) -> Kernel:
        """The compiled kernel; `changes` are fields of `Kernel`, such as ``threads``."""
        inputs = [
            placeholder(size, dtype, f"x{number}") for number, size in enumerate(self.shapes(shape))
        ]
        outputs = self.write(*inputs)

        def describe_tensors(tensors: Sequence[Tensor]) -> tuple[Argument, ...]:
            return tuple(Argument(item, static_shape(item) or (), item.name) for item in tensors)

        return Kernel(
            self.name, "cpu", describe_tensors(inputs), describe_tensors(outputs), **changes
        )

    def inputs(self, shape: tuple[int, ...], dtype: str = "float32") -> list[Array]:
        """Normally distributed inputs from a fixed seed; later ones are positive (variances)."""
        generator = np.random.default_rng(20250101)
        found = []
        for number, size in enumerate(self.shapes(shape)):
            values = generator.standard_normal(size, np.float32)
            found.append(
                (np.abs(values) + 0.5 if number > 1 else values).astype(dtype_of(dtype).numpy)
            )
        return found


def _word(name: str) -> Callable[..., Any]:
    return OPERATIONS[name]


vadd, vsub, vmul, vdiv = map(_word, ("vadd", "vsub", "vmul", "vdiv"))
vadds, vmuls, vmaxs, vmins = map(_word, ("vadds", "vmuls", "vmaxs", "vmins"))
vexp, vrec, vsqrt, vrsqrt = map(_word, ("vexp", "vrec", "vsqrt", "vrsqrt"))
broadcast, reduce_sum, reduce_max = map(_word, ("broadcast", "reduce_sum", "reduce_max"))


def _size(tensor: Tensor, axis: int) -> int:
    shape = static_shape(tensor)
    assert shape is not None
    return shape[axis]


def _swish(x: Tensor) -> list[Tensor]:
    return [vmul(x, vrec(vadds(vexp(vmuls(x, -1.0)), 1.0)))]


def _gelu(x: Tensor) -> list[Tensor]:
    return [vmul(vmuls(x, 0.5), vadds(ext.erf(vmuls(x, 0.5**0.5)), 1.0))]


def _softmax(x: Tensor) -> list[Tensor]:
    powers = vexp(vsub(x, broadcast(reduce_max(x, -1, True), x.shape)))
    return [vdiv(powers, broadcast(reduce_sum(powers, -1, True), x.shape))]


def _moments(x: Tensor) -> tuple[Tensor, Tensor]:
    share = 1.0 / _size(x, -1)
    away = vsub(x, broadcast(vmuls(reduce_sum(x, -1, True), share), x.shape))
    spread = vmuls(reduce_sum(vmul(away, away), -1, True), share)
    return away, broadcast(vrsqrt(vadds(spread, EPSILON)), x.shape)


def _layer_norm(x: Tensor, gamma: Tensor, beta: Tensor) -> list[Tensor]:
    away, scale = _moments(x)
    scaled = vmul(vmul(away, scale), broadcast(gamma, x.shape))
    return [vadd(scaled, broadcast(beta, x.shape))]


def _layer_norm_grad(x: Tensor, dy: Tensor, gamma: Tensor) -> list[Tensor]:
    away, scale = _moments(x)
    share = 1.0 / _size(x, -1)
    normal, inner = vmul(away, scale), vmul(dy, broadcast(gamma, x.shape))
    one = broadcast(vmuls(reduce_sum(inner, -1, True), share), x.shape)
    two = broadcast(vmuls(reduce_sum(vmul(inner, normal), -1, True), share), x.shape)
    dx = vmul(scale, vsub(vsub(inner, one), vmul(normal, two)))
    return [dx, reduce_sum(vmul(dy, normal), 0, False), reduce_sum(dy, 0, False)]


def _batch_norm(
    x: Tensor, mean: Tensor, variance: Tensor, gamma: Tensor, beta: Tensor
) -> list[Tensor]:
    scale = vmul(gamma, vrsqrt(vadds(variance, EPSILON)))
    away = vsub(x, broadcast(mean, x.shape))
    return [vadd(vmul(away, broadcast(scale, x.shape)), broadcast(beta, x.shape))]


def _adam(weight: Tensor, gradient: Tensor, first: Tensor, second: Tensor) -> list[Tensor]:
    m = vadd(vmuls(first, BETA1), vmuls(gradient, 1 - BETA1))
    v = vadd(vmuls(second, BETA2), vmuls(vmul(gradient, gradient), 1 - BETA2))
    step = vdiv(vmuls(m, RATE), vadds(vsqrt(v), 1e-8))
    return [vsub(weight, step), m, v]


def _chain(x: Tensor, y: Tensor) -> list[Tensor]:
    a = vmaxs(vsub(vmul(vmuls(vadd(x, y), 0.5), x), y), 0.0)
    b = vadds(a, 1.0)
    return [vmuls(vadd(vmins(vmul(b, b), 6.0), x), 0.25)]


def _np_erf(x: Array) -> Array:
    """float64 erf, accurate to 1e-7 (Abramowitz and Stegun 7.1.26), sufficient for comparisons."""
    t = 1.0 / (1.0 + 0.3275911 * np.abs(x))
    series = t * (
        0.254829592 + t * (-0.284496736 + t * (1.421413741 + t * (-1.453152027 + t * 1.061405429)))
    )
    return np.sign(x) * (1.0 - series * np.exp(-x * x))


def _np_softmax(x: Array) -> list[Array]:
    powers = np.exp(x - x.max(-1, keepdims=True))
    return [powers / powers.sum(-1, keepdims=True)]


def _np_normal(x: Array) -> tuple[Array, Array]:
    scale = 1.0 / np.sqrt(x.var(-1, keepdims=True) + EPSILON)
    return (x - x.mean(-1, keepdims=True)) * scale, scale


def _np_layer_norm_grad(x: Array, dy: Array, gamma: Array) -> list[Array]:
    normal, scale = _np_normal(x)
    inner = dy * gamma
    two = normal * (inner * normal).mean(-1, keepdims=True)
    dx = scale * (inner - inner.mean(-1, keepdims=True) - two)
    return [dx, (dy * normal).sum(0), dy.sum(0)]


def _np_adam(w: Array, g: Array, m: Array, v: Array) -> list[Array]:
    m, v = BETA1 * m + (1 - BETA1) * g, BETA2 * v + (1 - BETA2) * g * g
    return [w - RATE * m / (np.sqrt(v) + 1e-8), m, v]


def _np_chain(x: Array, y: Array) -> list[Array]:
    b = np.maximum((x + y) * 0.5 * x - y, 0.0) + 1.0
    return [(np.minimum(b * b, 6.0) + x) * 0.25]


OPERATORS = {
    item.name: item
    for item in (
        Measured("copy", lambda x: [vmaxs(x, -3e38)], lambda x: [x]),
        Measured("add", lambda x, y: [vadd(x, y)], lambda x, y: [x + y], lambda s: (s, s)),
        Measured("swish", _swish, lambda x: [x / (1.0 + np.exp(-x))]),
        Measured("gelu", _gelu, lambda x: [0.5 * x * (1.0 + _np_erf(x * 0.5**0.5))]),
        Measured("chain", _chain, _np_chain, lambda s: (s, s)),
        Measured("softmax", _softmax, _np_softmax),
        Measured(
            "layer_norm",
            _layer_norm,
            lambda x, g, b: [_np_normal(x)[0] * g + b],
            lambda s: (s, s[-1:], s[-1:]),
        ),
        Measured(
            "layer_norm_grad", _layer_norm_grad, _np_layer_norm_grad, lambda s: (s, s, s[-1:])
        ),
        Measured("reduce_sum_rows", lambda x: [reduce_sum(x, -1, False)], lambda x: [x.sum(-1)]),
        Measured("reduce_sum_columns", lambda x: [reduce_sum(x, 0, False)], lambda x: [x.sum(0)]),
        Measured(
            "batch_norm",
            _batch_norm,
            lambda x, m, v, g, b: [(x - m) / np.sqrt(v + EPSILON) * g + b],
            lambda s: (s, *[s[-1:]] * 4),
        ),
        Measured("adam", _adam, _np_adam, lambda s: (s, s, s, s)),
    )
}
"""By name."""
