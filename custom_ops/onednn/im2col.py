"""Computes convolutions by im2col in NumPy, as a fallback and as a reference for oneDNN.

im2col copies the receptive field of each output position to a column of a matrix. The convolution
is then one matrix product per group, and the gradient of the weights is another matrix product. For
the gradient of the input, col2im adds the columns of a matrix product to the input positions.
16-bit inputs are widened to float32.
"""

from __future__ import annotations

import math
from collections.abc import Sequence

import numpy as np

from custom_ops.onednn.epilogues import Epilogue
from custom_ops.onednn.geometry import Geometry
from tbe_impl.errors import InputError

WISHES = ("x", "weight", "bias")


def check_wanted(operator: str, wanted: Sequence[str]) -> tuple[str, ...]:
    """Returns the names of the requested gradients in the order of `WISHES`.

    Raises:
        InputError: a name is unknown, or ``bias`` is requested without ``weight``.
    """
    names = (wanted,) if isinstance(wanted, str) else tuple(wanted)
    if not names or not set(names) <= set(WISHES) or ("bias" in names and "weight" not in names):
        raise InputError(
            f"{operator}: wanted is wrong",
            expected="some of x, weight, bias; bias only with weight",
            got=repr(wanted),
        )
    return tuple(name for name in WISHES if name in names)


def forward(
    sizes: Geometry, after: Epilogue, x: np.ndarray, weight: np.ndarray, *more: np.ndarray
) -> np.ndarray:
    """Returns the convolution with its epilogue.

    `more` contains the arrays that the epilogue needs, in the order bias, residual, scale.
    """
    wide = [_widen(item) for item in (x, weight, *more)]
    rest = iter(wide[2:])
    bias = next(rest).reshape(-1, 1, 1) if after.bias else None
    residual = next(rest) if after.residual else None
    scale = next(rest).reshape(-1, 1, 1) if after.scale else None
    kernel = wide[1].reshape(sizes.groups, sizes.weight[0] // sizes.groups, -1)
    product = np.matmul(kernel, im2col(sizes, wide[0])).reshape(sizes.y)
    return after.apply(product, bias, residual, scale)


def backward(
    sizes: Geometry,
    wanted: Sequence[str],
    grad: np.ndarray,
    weight: np.ndarray | None = None,
    x: np.ndarray | None = None,
) -> list[np.ndarray]:
    """Returns the gradients that `wanted` names (x, weight, bias), in the order of `wanted`."""
    batch, out, height, width = sizes.y
    rows = _widen(grad).reshape(batch, sizes.groups, out // sizes.groups, height * width)
    found = []
    for name in wanted:
        if name == "x":
            assert weight is not None
            kernel = _widen(weight).reshape(sizes.groups, out // sizes.groups, -1)
            found.append(col2im(sizes, np.matmul(kernel.transpose(0, 2, 1), rows)))
        elif name == "weight":
            assert x is not None
            each = np.matmul(rows, im2col(sizes, _widen(x)).transpose(0, 1, 3, 2))
            found.append(each.sum(0).reshape(sizes.weight))
        else:
            found.append(_widen(grad).sum((0, 2, 3)))
    return found


def im2col(sizes: Geometry, x: np.ndarray) -> np.ndarray:
    """Returns the receptive fields: (batch, groups, values per field, output positions)."""
    above, below, left, right = sizes.padding
    padded = np.pad(x, ((0, 0), (0, 0), (above, below), (left, right)))
    batch, channels = sizes.x[:2]
    found = np.empty((batch, channels, *sizes.weight[2:], *sizes.y[2:]), x.dtype)
    for row, column in np.ndindex(*sizes.weight[2:]):
        found[:, :, row, column] = padded[_window_slices(sizes, row, column)]
    return found.reshape(batch, sizes.groups, math.prod(sizes.weight[1:]), math.prod(sizes.y[2:]))


def col2im(sizes: Geometry, patches: np.ndarray) -> np.ndarray:
    """Adds all receptive fields to their input positions, as the transpose of `im2col`."""
    above, below, left, right = sizes.padding
    batch, channels, height, width = sizes.x
    padded = np.zeros(
        (batch, channels, height + above + below, width + left + right), patches.dtype
    )
    parts = patches.reshape(batch, channels, *sizes.weight[2:], *sizes.y[2:])
    for row, column in np.ndindex(*sizes.weight[2:]):
        padded[_window_slices(sizes, row, column)] += parts[:, :, row, column]
    return padded[:, :, above : above + height, left : left + width]


def _window_slices(sizes: Geometry, row: int, column: int) -> tuple[slice, ...]:
    """Returns slices of the padded input that select all elements that one weight multiplies."""
    found = [slice(None), slice(None)]
    for axis, offset in enumerate((row, column)):
        begin, step = offset * sizes.dilation[axis], sizes.stride[axis]
        found.append(slice(begin, begin + (sizes.y[2 + axis] - 1) * step + 1, step))
    return tuple(found)


def _widen(array: np.ndarray) -> np.ndarray:
    return array if array.dtype in (np.float32, np.float64) else array.astype(np.float32)
