"""Defines the epilogue of a matrix product or convolution: scale, bias, residual, activation.

NaN propagates through every epilogue. At ±infinity, relu, leaky_relu, tanh and sigmoid return their
limits. The other activations return NaN for −infinity, as x · sigmoid(x) does. oneDNN's gelu also
returns NaN for +infinity, and returns infinity for inputs above half of the largest float32.
"""

from __future__ import annotations

import ctypes
import math
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Any

import numpy as np

from custom_ops.onednn import constants
from tbe_impl.errors import InputError
from tbe_impl.gelu_constants import CUBIC, SIGMOID_SCALE, SQRT_HALF


@dataclass(frozen=True)
class PostOpActivation:
    """Activation that oneDNN can fuse into a matrix product or convolution.

    Attributes:
        number: oneDNN's constant for the activation, or 0 if our own C code computes it.
        alpha: default of oneDNN's parameter alpha.
        beta: value of oneDNN's parameter beta.
        formula: the activation as a NumPy function of an array and alpha.
        takes_alpha: whether the user may set alpha.
    """

    number: int
    alpha: float
    beta: float
    formula: Callable[[np.ndarray, float], np.ndarray]
    takes_alpha: bool = False


def _sigmoid(x: np.ndarray) -> np.ndarray:
    with np.errstate(over="ignore"):
        return 1 / (1 + np.exp(-x))


# 1 + erf and 1 + tanh would cancel for negative x
def _gelu(x: np.ndarray, _: float) -> np.ndarray:
    return x * (0.5 * np.vectorize(math.erfc, otypes=[np.float64])(-x * SQRT_HALF))


# relu is computed by a pass of our own C code over the result, because oneDNN's relu maps NaN to 0;
# for a product of 1024 columns, this pass takes 3 % of the time
ACTIVATIONS = {
    "relu": PostOpActivation(0, 0, 0, lambda x, _: np.maximum(x, 0)),
    "leaky_relu": PostOpActivation(
        constants.RELU, 0.2, 0, lambda x, a: np.where(x > 0, x, a * x), True
    ),
    "swish": PostOpActivation(constants.SWISH, 1, 0, lambda x, a: x * _sigmoid(a * x), True),
    "silu": PostOpActivation(constants.SWISH, 1, 0, lambda x, _: x * _sigmoid(x)),
    "gelu": PostOpActivation(constants.GELU_ERF, 0, 0, _gelu),
    "gelu_tanh": PostOpActivation(
        constants.GELU_TANH, 0, 0, lambda x, _: x * _sigmoid(SIGMOID_SCALE * (x + CUBIC * x**3))
    ),
    "sigmoid": PostOpActivation(constants.SIGMOID, 0, 0, lambda x, _: _sigmoid(x)),
    "tanh": PostOpActivation(constants.TANH, 0, 0, lambda x, _: np.tanh(x)),
    "hard_swish": PostOpActivation(
        constants.HARD_SWISH, 1 / 6, 0.5, lambda x, _: x * np.clip(x / 6 + 0.5, 0, 1)
    ),
    "mish": PostOpActivation(constants.MISH, 0, 0, lambda x, _: x * np.tanh(np.logaddexp(0, x))),
}


@dataclass(frozen=True)
class Epilogue:
    """Epilogue ``activation(product · scale + bias + residual)``; every term is optional.

    Attributes:
        bias, residual: whether the operator has an input of this name.
        activation: a key of `ACTIVATIONS`, or empty for no activation.
        alpha: slope of leaky_relu or factor of swish. None means the default of the activation.
        scale: whether there is a scale for each output channel. Only convolutions have a scale.
    """

    bias: bool = False
    residual: bool = False
    activation: str = ""
    alpha: float | None = None
    scale: bool = False

    def check(self, operator: str) -> None:
        """Raises `InputError` if the activation is unknown or does not accept `alpha`."""
        if self.activation and self.activation not in ACTIVATIONS:
            raise InputError(
                f"{operator}: activation is unknown",
                expected=", ".join(ACTIVATIONS),
                got=repr(self.activation),
            )
        if self.alpha is not None:
            if not self.activation or not ACTIVATIONS[self.activation].takes_alpha:
                raise InputError(
                    f"{operator}: alpha is given to an activation without it",
                    expected="leaky_relu or swish",
                    got=repr(self.activation),
                )
            if not isinstance(self.alpha, int | float) or not math.isfinite(self.alpha):
                raise InputError(
                    f"{operator}: alpha is not finite",
                    expected="a finite number",
                    got=repr(self.alpha),
                )

    @property
    def has_own_relu(self) -> bool:
        """Whether the activation is relu, which our own C code computes instead of oneDNN."""
        return self.activation == "relu"

    def _alpha(self) -> float:
        known = ACTIVATIONS[self.activation]
        return known.alpha if self.alpha is None else float(self.alpha)

    def join(
        self,
        library: Any,
        attributes: Any,
        added: Sequence[Any] = (),
        multiplied: Sequence[Any] = (),
        *,
        onto: bool = False,
    ) -> None:
        """Adds the epilogue to the attributes of a primitive, as oneDNN's post-ops.

        Args:
            library: the loaded oneDNN library.
            attributes: attributes of the primitive.
            added, multiplied: memory descriptors of the addends and of the factors. The factors are
                applied first. At execution, the array that the post-op at position i reads is the
                primitive's argument with the index `constants.post_operation(i)`.
            onto: whether the primitive first adds its result to the previous content of the result
                array. If so, this addition is the post-op at position 0.
        """
        steps = ctypes.c_void_p()
        library.call("post_ops_create", ctypes.byref(steps))
        try:
            if onto:
                library.call(
                    "post_ops_append_sum", steps, ctypes.c_float(1), 0, constants.SAME_TYPE
                )
            for kind, descriptions in (
                (constants.BINARY_MUL, multiplied),
                (constants.BINARY_ADD, added),
            ):
                for description in descriptions:
                    library.call("post_ops_append_binary", steps, kind, description)
            if self.activation and not self.has_own_relu:
                known = ACTIVATIONS[self.activation]
                library.call(
                    "post_ops_append_eltwise",
                    steps,
                    known.number,
                    ctypes.c_float(self._alpha()),
                    ctypes.c_float(known.beta),
                )
            library.call("primitive_attr_set_post_ops", attributes, steps)
        finally:
            library.call("post_ops_destroy", steps)

    def apply(
        self,
        product: np.ndarray,
        bias: np.ndarray | None,
        residual: np.ndarray | None,
        scale: np.ndarray | None = None,
    ) -> np.ndarray:
        """Applies the epilogue in NumPy, in the precision of `product`.

        `bias` and `scale` have to broadcast with `product`.
        """
        found = product if scale is None else product * scale
        found = found if bias is None else found + bias
        if residual is not None:
            found = found + residual
        if self.activation:
            found = (
                ACTIVATIONS[self.activation]
                .formula(found, self._alpha())
                .astype(product.dtype, copy=False)
            )
        return found


EMPTY_EPILOGUE = Epilogue()
