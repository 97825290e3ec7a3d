"""What follows a matrix product or a convolution before its result is written: a scale, a bias, a residual, one activation.

NaN stays NaN everywhere. relu, leaky_relu, tanh and sigmoid of ±infinity are their limits; the others give NaN for
−infinity, as x · sigmoid(x) does, and gelu, by oneDNN, for infinity too and infinity above half of the largest float32.
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


@dataclass(frozen=True)
class Activation:
    """An activation that oneDNN can join to a product.

    Attributes:
        number: oneDNN's number of it, 0 for a pass of our own.
        alpha: oneDNN's first parameter, where the user does not give it.
        beta: its second.
        formula: of an array and alpha, in NumPy.
        takes_alpha: whether the user may give it.
    """

    number: int
    alpha: float
    beta: float
    formula: Callable[[np.ndarray, float], np.ndarray]
    takes_alpha: bool = False


def _erf(x: np.ndarray) -> np.ndarray:
    return np.vectorize(math.erf, otypes=[np.float64])(x)


def _sigmoid(x: np.ndarray) -> np.ndarray:
    return 1 / (1 + np.exp(-x))


# relu is a pass of our own over the result, 3 % of a product of 1024 columns: oneDNN's turns NaN into 0
ACTIVATIONS = {
    "relu": Activation(0, 0, 0, lambda x, _: np.maximum(x, 0)),
    "leaky_relu": Activation(constants.RELU, 0.2, 0, lambda x, a: np.where(x > 0, x, a * x), True),
    "swish": Activation(constants.SWISH, 1, 0, lambda x, a: x * _sigmoid(a * x), True),
    "silu": Activation(constants.SWISH, 1, 0, lambda x, _: x * _sigmoid(x)),
    "gelu": Activation(
        constants.GELU_ERF, 0, 0, lambda x, _: 0.5 * x * (1 + _erf(x / math.sqrt(2)))
    ),
    "gelu_tanh": Activation(
        constants.GELU_TANH,
        0,
        0,
        lambda x, _: 0.5 * x * (1 + np.tanh(math.sqrt(2 / math.pi) * (x + 0.044715 * x**3))),
    ),
    "sigmoid": Activation(constants.SIGMOID, 0, 0, lambda x, _: _sigmoid(x)),
    "tanh": Activation(constants.TANH, 0, 0, lambda x, _: np.tanh(x)),
    "hard_swish": Activation(
        constants.HARD_SWISH, 1 / 6, 0.5, lambda x, _: x * np.clip(x / 6 + 0.5, 0, 1)
    ),
    "mish": Activation(constants.MISH, 0, 0, lambda x, _: x * np.tanh(np.logaddexp(0, x))),
}


@dataclass(frozen=True)
class Epilogue:
    """What follows: ``activation(product · scale + bias + residual)``, each of them only when asked for.

    Attributes:
        bias, residual: whether they are inputs.
        scale: whether there is one for each channel; only convolutions have it.
        activation: a key of `ACTIVATIONS`, or empty.
        alpha: the slope of leaky_relu, the factor of swish; its default when None.
    """

    bias: bool = False
    residual: bool = False
    activation: str = ""
    alpha: float | None = None
    scale: bool = False

    def check(self, operator: str) -> None:
        """Raises `InputError` unless the activation is known and takes its parameter."""
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
        """Whether relu is to be done by a pass of ours."""
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
        """Puts it on the attributes of a primitive.

        Args:
            library: oneDNN.
            attributes: of the primitive.
            added, multiplied: descriptions of what the product is multiplied with first, then what is added, each an
                argument `constants.post_operation` of its number.
            onto: whether what lies in the result is added before all that, as number 0.
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
        """The same in NumPy, in the precision of `product`; `bias` and `scale` are broadcast as they come."""
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


NOTHING = Epilogue()
