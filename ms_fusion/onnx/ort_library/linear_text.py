"""Writes a product with constant weights and its epilogue as the C text of a custom operator."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from ms_fusion.onnx.ort_library.operator_text import ELEMENT_TYPES, OperatorText, describe_kernel

PANEL = 32
"""Columns of a panel of packed weights, ``LINEAR_PANEL`` of ``linear.h``."""
LAST_COLUMNS = (0, 8, 16, PANEL)
"""Columns behind the whole panels, as ``packed_columns`` computes them."""
ACTIVATIONS = {
    "": "",
    "relu": "f32_relu(v)",
    "silu": "((v) * f32_sigmoid(v))",
    "gelu by erf": "gelu_by_erf(v)",
    "gelu by tanh": "gelu_by_tanh(v)",
}
"""Maps an activation to the C text that computes it for the vector ``v``."""


@dataclass(frozen=True)
class LinearKernel:
    """Kernel of activation(x · weights + bias) + residual for float32 tensors.

    With `is_pair`, it computes activation(x · weights + bias) · weights₂ + bias₂ + residual.

    The inputs of the operator are x, the weights as `pack_weights` returns them and the bias of
    each product, and the residual if there is one. All sizes are read from the shapes in each call.

    Attributes:
        rank: rank of x, of the residual and of the result.
        activation: a key of `ACTIVATIONS`.
        has_residual: whether the last input is added to the result; it has the result's shape.
        is_pair: whether a second product reads the first one. The number of columns of the first
            product is then a multiple of `PANEL`.
    """

    rank: int
    activation: str
    has_residual: bool
    is_pair: bool = False

    def write(self) -> OperatorText:
        """Returns the operator. Equal descriptions get equal names."""
        name = f"Linear_{hashlib.sha256(repr(self).encode()).hexdigest()[:12]}"
        last = self.rank - 1
        sizes = [
            "int64_t rows = 1;",
            f"const int64_t depth = given[{last}], columns = given[2 * AXES_MAX];",
            f"for (int axis = 0; axis < {last}; axis++) rows *= made[axis] = given[axis];",
            f"made[{last}] = columns;",
            "if (given[AXES_MAX] != depth * packed_columns(columns)) return 0;",
            "sizes[0] = rows, sizes[1] = depth, sizes[2] = columns;",
        ]
        if self.is_pair:
            sizes += [
                f"if (columns % {PANEL}) return 2;",
                f"const int64_t next = made[{last}] = sizes[3] = given[4 * AXES_MAX];",
                "if (given[3 * AXES_MAX] != columns * packed_columns(next)) return 3;",
            ]
        residual = 3 + 2 * self.is_pair
        if self.has_residual:
            sizes += [
                f"for (int axis = 0; axis < {self.rank}; axis++)",
                f"if (given[{residual} * AXES_MAX + axis] != made[axis]) return {residual};",
            ]
        tensor = (ELEMENT_TYPES["float32"], self.rank)
        vector = (ELEMENT_TYPES["float32"], 1)
        inputs = [tensor, *([vector] * (residual - 1)), *([tensor] if self.has_residual else [])]
        computed = ACTIVATIONS[self.activation]
        head = f"#define LINEAR_ACTIVATION(v) {computed}\n" if computed else ""
        text = describe_kernel(name, inputs, [tensor], sizes, self._run_lines(residual))
        return OperatorText(name, f'{head}#include "linear.h"\n{text}')

    def _run_lines(self, residual: int) -> list[str]:
        """Returns the C statements that compute the result; `residual` is the input behind."""
        end = f".y = all[{residual + self.has_residual}], .rows = sizes[0]"
        if self.has_residual:
            end += f", .residual = all[{residual}]"
        first = ".x = all[0], .weight = all[1], .bias = all[2], .depth = sizes[1]"
        first += ", .columns = sizes[2], .activates = 1"
        if not self.is_pair:
            return [
                f"struct linear l = {{{first}, {end}}};",
                "multiply_linear(&l, threads);",
                "return 0;",
            ]
        second = ".weight = all[3], .bias = all[4], .depth = sizes[2], .columns = sizes[3]"
        return [
            f"struct linear_pair p = {{{{{first}, .rows = sizes[0]}}, {{{second}, {end}}}}};",
            "return multiply_pair(&p, threads);",
        ]


def pack_weights(weights: np.ndarray) -> np.ndarray:
    """Returns weights of shape (depth, columns) in the order in which ``linear.h`` reads them.

    The columns are divided into panels of `PANEL`; the rows of a panel follow each other. The
    columns behind the whole panels are filled up with zeros to the least number in `LAST_COLUMNS`
    that is enough. They are a panel of their own; 8 columns are part of the last whole panel
    instead, if there is one. The result is a vector.
    """
    depth, columns = weights.shape
    left = columns % PANEL
    last = next(width for width in LAST_COLUMNS if width >= left)
    whole = np.zeros((depth, columns - left + last), weights.dtype)
    whole[:, :columns] = weights
    bounds = [*range(PANEL, columns, PANEL)]
    if last == LAST_COLUMNS[1] and bounds:
        bounds.pop()
    return np.concatenate([part.ravel() for part in np.split(whole, bounds, axis=1)])
