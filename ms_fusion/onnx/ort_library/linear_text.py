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

    The inputs of the operator are x, the weights as `pack_weights` returns them, the bias, and the
    residual if there is one. All sizes are read from the shapes in each call.

    Attributes:
        rank: rank of x, of the residual and of the result.
        activation: a key of `ACTIVATIONS`.
        has_residual: whether the last input is added to the result; it has the result's shape.
    """

    rank: int
    activation: str
    has_residual: bool

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
        if self.has_residual:
            sizes += [
                f"for (int axis = 0; axis < {self.rank}; axis++)",
                "if (given[3 * AXES_MAX + axis] != made[axis]) return 3;",
            ]
        residual = "all[3]" if self.has_residual else "0"
        run = [
            f"struct linear l = {{all[0], all[1], all[2], {residual}, "
            f"all[{3 + self.has_residual}], sizes[0], sizes[1], sizes[2], 0, 0}};",
            "multiply_linear(&l, threads);",
            "return 0;",
        ]
        tensor = (ELEMENT_TYPES["float32"], self.rank)
        vector = (ELEMENT_TYPES["float32"], 1)
        inputs = [tensor, vector, vector, *([tensor] if self.has_residual else [])]
        computed = ACTIVATIONS[self.activation]
        head = f"#define LINEAR_ACTIVATION(v) {computed}\n" if computed else ""
        text = describe_kernel(name, inputs, [tensor], sizes, run)
        return OperatorText(name, f'{head}#include "linear.h"\n{text}')


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
