"""NumPy formulas of convolutions, of the gradients of convolutions, and of filter layouts."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib import stride_tricks

from tbe_impl.dsl.array_semantics import Array
from tbe_impl.dsl.layouts import (
    fractal_z_c04_shape,
    fractal_z_shape,
    from_blocked_channels,
    from_fractal_z,
    from_fractal_z_c04,
    to_blocked_channels,
    to_fractal_z,
)

Pads = Sequence[tuple[int, int]]


def _patches(
    x: Array, kernel: Sequence[int], strides: Sequence[int], pads: Pads, dilations: Sequence[int]
) -> Array:
    """Views an image (N, C, spatial…) as its sliding windows (N, C, outputs…, kernel…)."""
    axes = tuple(range(2, 2 + len(kernel)))
    padded = np.pad(x, [(0, 0), (0, 0), *pads])
    reach = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
    views: Array = stride_tricks.sliding_window_view(
        padded,
        reach,
        axis=axes,  # type: ignore[call-overload]
    )
    return views[_spatial_slices(slice(None, None, step) for step in (*strides, *dilations))]


def _spatial_slices(inner: Iterable[slice]) -> tuple[slice, ...]:
    """Returns a NumPy index: all batches, all channels, and the slices `inner` of other axes."""
    return (slice(None), slice(None), *inner)


def convolve(
    x: Array,
    w: Array,
    strides: Sequence[int],
    pads: Pads,
    dilations: Sequence[int],
    groups: int = 1,
) -> Array:
    """Convolves x (N, C, spatial…) with w (O, C / groups, kernel…) → (N, O, outputs…).

    The convolution of each group is one matrix product.
    """
    rank = w.ndim - 2
    views = _patches(x, w.shape[2:], strides, pads, dilations)
    over = (1, *range(2 + rank, 2 + 2 * rank))
    parts = zip(np.split(views, groups, axis=1), np.split(w, groups, axis=0), strict=True)
    made = [
        np.moveaxis(np.tensordot(part, filters, (over, (1, *range(2, 2 + rank)))), -1, 1)
        for part, filters in parts
    ]
    return np.concatenate(made, axis=1)


def input_gradient(
    dy: Array,
    w: Array,
    size: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dilations: Sequence[int],
    groups: int = 1,
) -> Array:
    """Returns the gradient of `convolve` with respect to the image x.

    `size` contains the spatial sizes of x.

    The elements of dy are spread apart by the strides and convolved with the flipped filters.
    """
    spread_shape = [(n - 1) * s + 1 for n, s in zip(dy.shape[2:], strides, strict=True)]
    spread = np.zeros((*dy.shape[:2], *spread_shape), dy.dtype)
    spread[_spatial_slices(slice(None, None, s) for s in strides)] = dy
    cut, grown = [], []
    for n, k, d, (before, _), m in zip(
        spread_shape, w.shape[2:], dilations, pads, size, strict=True
    ):
        first = (k - 1) * d - before
        # a padding larger than the filter crops dy instead of padding it
        low = min(max(-first, 0), n)
        high = max(low, min(n, m + before))
        cut.append(slice(low, high))
        grown.append((max(first, 0), m + (k - 1) * d - max(first, 0) - (high - low)))
    turned = _exchange_channels(np.flip(w, tuple(range(2, w.ndim))), groups)
    return convolve(spread[_spatial_slices(cut)], turned, [1] * len(cut), grown, dilations, groups)


def filter_gradient(
    x: Array,
    dy: Array,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dilations: Sequence[int],
    groups: int = 1,
) -> Array:
    """Returns the gradient of `convolve` with respect to the filter w (O, C / groups, kernel…)."""
    views = _patches(x, kernel, strides, pads, dilations)
    views = views[_spatial_slices(slice(0, n) for n in dy.shape[2:])]
    over = (0, *range(2, 2 + len(kernel)))
    parts = zip(np.split(dy, groups, axis=1), np.split(views, groups, axis=1), strict=True)
    return np.concatenate([np.tensordot(d, part, (over, over)) for d, part in parts], axis=0)


def _exchanged_shape(shape: Sequence[int], groups: int) -> tuple[int, ...]:
    """Returns the shape that `_exchange_channels` gives a grouped filter of the shape `shape`."""
    return (shape[1] * groups, shape[0] // groups, *shape[2:])


def _exchange_channels(w: Array, groups: int) -> Array:
    """Exchanges the input and output channels of a grouped filter, group by group."""
    return np.concatenate([np.swapaxes(part, 0, 1) for part in np.split(w, groups)])


OIHW, FRACTAL_Z, FRACTAL_Z_C04 = "OIHW", "FRACTAL_Z", "FRACTAL_Z_C04"
FRACTAL_Z_IOHW = "FRACTAL_Z of IOHW"
"""The layout of int8 and uint8 filters in the gradient with respect to the input."""
FILTER_LAYOUTS: Mapping[str, tuple[Callable[..., Sequence[int]], Callable[..., Array]]] = {
    OIHW: (lambda shape, groups, block: shape, lambda w, shape, groups: w),
    FRACTAL_Z: (fractal_z_shape, from_fractal_z),
    FRACTAL_Z_C04: (fractal_z_c04_shape, from_fractal_z_c04),
    FRACTAL_Z_IOHW: (
        lambda shape, groups, block: fractal_z_shape(
            _exchanged_shape(shape, groups), groups, block
        ),
        lambda w, shape, groups: _exchange_channels(
            from_fractal_z(w, _exchanged_shape(shape, groups), groups), groups
        ),
    ),
}
"""Maps the layout of a filter to a pair of functions.

The first function maps the OIHW shape of a filter to its shape in the layout. The second function
converts a filter from the layout to OIHW.
"""


def _widen_integers(x: Array) -> Array:
    """Widens integers to at least int32, the accumulator dtype of their products."""
    return x.astype(np.promote_types(x.dtype, np.int32), copy=False) if x.dtype.kind in "iu" else x


def convolution(
    a: Array,
    b: Array,
    *bias: Array,
    kind: str,
    rank: int,
    blocked: tuple[bool, bool],
    filter_shape: Sequence[int],
    size: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dilations: Sequence[int],
    groups: int,
    block: int,
    layout: str = OIHW,
    offset: int = 0,
) -> Array:
    """Computes a forward convolution or one of its gradients, in blocked or unblocked layouts.

    `kind` is ``forward``, ``input`` (gradient with respect to the image) or ``filter``.
    """
    axis = 2 if rank == 3 else 1
    outer, inner, *kernel = filter_shape

    def image(x: Array, channels: int) -> Array:
        return from_blocked_channels(x, channels, axis) if x.ndim == rank + 3 else x

    window = (strides, pads, dilations, groups)
    a, b = _widen_integers(a), _widen_integers(b)
    if kind == "filter":
        found = filter_gradient(image(a, inner * groups), image(b, outer), kernel, *window)
        return to_fractal_z(found, block, groups) if blocked[0] else found
    w = FILTER_LAYOUTS[layout][1](b, filter_shape, groups)
    if kind == "input":
        found = input_gradient(image(a, outer), w, size, *window)
    else:
        found = convolve(image(a, inner * groups) - offset, w, *window)
    if bias:
        row = bias[0].reshape(-1)[: found.shape[1]]
        found = found + row.reshape(1, -1, *([1] * rank))
    return to_blocked_channels(found, block, axis) if blocked[0] else found


def depthwise_convolution(
    x: Array, w: Array, *bias: Array, strides: Any, pads: Any, dilations: Any
) -> Array:
    plain = x.ndim == 4
    image, filters = _widen_integers(x), _widen_integers(w)
    if not plain:
        image = from_blocked_channels(image.reshape(*x.shape[:2], *x.shape[-3:]))
        whole = filters.reshape(*w.shape[:3], w.shape[-2], w.shape[-1])
        each = whole[..., 0, :] if w.shape[-2] == 1 else np.diagonal(whole, axis1=-2, axis2=-1)
        filters = np.moveaxis(each, -1, 1).reshape(-1, 1, *w.shape[1:3])
    found = convolve(image, filters, strides, pads, dilations, groups=image.shape[1])
    if bias:
        found = found + bias[0].reshape(1, -1, 1, 1)[:, : found.shape[1]]
    if plain:
        return found
    blocked = to_blocked_channels(found, x.shape[-1])
    return blocked.reshape(*x.shape[:-3], *found.shape[2:], x.shape[-1])
