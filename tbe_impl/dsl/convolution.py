"""Words of convolution: forward, the two gradients, depthwise, in two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any

import numpy as np
from numpy.lib import stride_tricks

from tbe_impl.dsl.arrays import Array
from tbe_impl.dsl.convolution_arguments import (
    first_of,
    groups_of,
    listed,
    options_of,
    whole_number,
    window_of,
)
from tbe_impl.dsl.convolution_checks import check_bias, check_shape, check_sizes
from tbe_impl.dsl.layouts import (
    BLOCK,
    blocks_of,
    fractal_z_c04_shape,
    fractal_z_shape,
    from_blocked_channels,
    from_fractal_z,
    from_fractal_z_c04,
    to_blocked_channels,
    to_fractal_z,
)
from tbe_impl.dsl.location import here
from tbe_impl.dsl.tensor import Tensor, WordUse, as_shape, fresh_name, library_stage, shape_text
from tbe_impl.dsl.word import Word, check_tensor
from tbe_impl.errors import InputError

Pads = Sequence[tuple[int, int]]
ORDERS = {2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
"""Number of spatial axes → the layouts that strides and dilations of all axes may have."""


def _patches(
    x: Array, kernel: Sequence[int], strides: Sequence[int], pads: Pads, dilations: Sequence[int]
) -> Array:
    """(N, C, spatial…) → a view (N, C, outputs…, kernel…)."""
    axes = tuple(range(2, 2 + len(kernel)))
    padded = np.pad(x, [(0, 0), (0, 0), *pads])
    reach = tuple((k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True))
    views: Array = stride_tricks.sliding_window_view(
        padded,
        reach,
        axis=axes,  # type: ignore[call-overload]
    )
    return views[_cut(slice(None, None, step) for step in (*strides, *dilations))]


def _cut(inner: Iterable[slice]) -> tuple[slice, ...]:
    """An index of the axes after batch and channels."""
    return (slice(None), slice(None), *inner)


def convolve(
    x: Array,
    w: Array,
    strides: Sequence[int],
    pads: Pads,
    dilations: Sequence[int],
    groups: int = 1,
) -> Array:
    """x (N, C, spatial…) with w (O, C / groups, kernel…) → (N, O, outputs…).

    One matrix product per group.
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
    """The gradient of `convolve` for x of spatial size `size`.

    A convolution of dy, spread by the strides, with the mirrored filters.
    """
    spread_shape = [(n - 1) * s + 1 for n, s in zip(dy.shape[2:], strides, strict=True)]
    spread = np.zeros((*dy.shape[:2], *spread_shape), dy.dtype)
    spread[_cut(slice(None, None, s) for s in strides)] = dy
    cut, grown = [], []
    for n, k, d, (before, _), m in zip(
        spread_shape, w.shape[2:], dilations, pads, size, strict=True
    ):
        first = (k - 1) * d - before
        # a padding larger than the filter cuts dy instead of widening it
        low = min(max(-first, 0), n)
        high = max(low, min(n, m + before))
        cut.append(slice(low, high))
        grown.append((max(first, 0), m + (k - 1) * d - max(first, 0) - (high - low)))
    turned = _exchange(np.flip(w, tuple(range(2, w.ndim))), groups)
    return convolve(spread[_cut(cut)], turned, [1] * len(cut), grown, dilations, groups)


def filter_gradient(
    x: Array,
    dy: Array,
    kernel: Sequence[int],
    strides: Sequence[int],
    pads: Pads,
    dilations: Sequence[int],
    groups: int = 1,
) -> Array:
    """The gradient of `convolve` for its filters, (O, C / groups, kernel…)."""
    views = _patches(x, kernel, strides, pads, dilations)
    views = views[_cut(slice(0, n) for n in dy.shape[2:])]
    over = (0, *range(2, 2 + len(kernel)))
    parts = zip(np.split(dy, groups, axis=1), np.split(views, groups, axis=1), strict=True)
    return np.concatenate([np.tensordot(d, part, (over, over)) for d, part in parts], axis=0)


def _exchanged(shape: Sequence[int], groups: int) -> tuple[int, ...]:
    """The shape of a filter of groups with input and output channels exchanged."""
    return (shape[1] * groups, shape[0] // groups, *shape[2:])


def _exchange(w: Array, groups: int) -> Array:
    """A filter of groups with input and output channels exchanged."""
    return np.concatenate([np.swapaxes(part, 0, 1) for part in np.split(w, groups)])


PLAIN, FRACTAL_Z, FRACTAL_Z_C04 = "OIHW", "FRACTAL_Z", "FRACTAL_Z_C04"
EXCHANGED = "FRACTAL_Z of IOHW"
"""The layout in which the gradient for the input takes filters of 8-bit integers."""
_FILTERS: Mapping[str, tuple[Callable[..., Sequence[int]], Callable[..., Array]]] = {
    PLAIN: (lambda shape, groups, block: shape, lambda w, shape, groups: w),
    FRACTAL_Z: (fractal_z_shape, from_fractal_z),
    FRACTAL_Z_C04: (fractal_z_c04_shape, from_fractal_z_c04),
    EXCHANGED: (
        lambda shape, groups, block: fractal_z_shape(_exchanged(shape, groups), groups, block),
        lambda w, shape, groups: _exchange(
            from_fractal_z(w, _exchanged(shape, groups), groups), groups
        ),
    ),
}
"""Layout of a filter → its shape, and how it is read as OIHW."""


class _Image:
    """Batch, channels and spatial sizes of NCHW, NC1HWC0, NCDHW or NDC1HWC0.

    Raises:
        InputError: another number of axes.
    """

    def __init__(self, word: str, name: str, shape: Sequence[Any], rank: int):
        if len(shape) not in (rank + 2, rank + 3):
            raise InputError(
                f"{word}: {name} is no image",
                place=str(here()),
                expected=f"{rank + 2} axes, or {rank + 3} in blocks",
                got=shape_text(shape),
            )
        self.blocked = len(shape) == rank + 3
        self.axis = 2 if rank == 3 and self.blocked else 1
        self.block = whole_number(word, "blocks", shape[-1]) if self.blocked else BLOCK
        self.together = self.block if self.blocked else 1  # channels that lie together
        self.batch, channels = shape[0], shape[self.axis]
        self.channels = channels * self.block if self.blocked else channels
        inner = list(shape[1 : rank + 2])
        del inner[self.axis - 1]
        self.sizes = (self.batch, self.channels, *inner)

    def shape_of(self, channels: Any, spatial: Sequence[Any]) -> list[Any]:
        """The shape of an image with that many channels in the same layout."""
        if not self.blocked:
            return [self.batch, channels, *spatial]
        shape = [self.batch, *spatial, BLOCK]
        shape.insert(self.axis, blocks_of(int(channels)))
        return shape


def _stage(
    word: str,
    kind: str,
    inputs: Sequence[Tensor],
    shape: Sequence[Any],
    dtype: str,
    parameters: Mapping[str, Any],
) -> Tensor:
    use = WordUse(word, tuple(inputs), {"kind": kind, **parameters})
    tag = f"convolution_{kind}"
    (made,) = library_stage(fresh_name(word), [as_shape(list(shape))], [dtype], use, tag=tag)
    return made


def _wide(x: Array) -> Array:
    """Integers as int32 or wider, in which their products are summed."""
    return x.astype(np.promote_types(x.dtype, np.int32), copy=False) if x.dtype.kind in "iu" else x


def _convolution(
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
    layout: str = PLAIN,
    offset: int = 0,
) -> Array:
    """One formula for all of them; images and filters are in blocks or plain."""
    axis = 2 if rank == 3 else 1
    outer, inner, *kernel = filter_shape

    def image(x: Array, channels: int) -> Array:
        return from_blocked_channels(x, channels, axis) if x.ndim == rank + 3 else x

    window = (strides, pads, dilations, groups)
    a, b = _wide(a), _wide(b)
    if kind == "filter":
        found = filter_gradient(image(a, inner * groups), image(b, outer), kernel, *window)
        return to_fractal_z(found, block, groups) if blocked[0] else found
    w = _FILTERS[layout][1](b, filter_shape, groups)
    if kind == "input":
        found = input_gradient(image(a, outer), w, size, *window)
    else:
        found = convolve(image(a, inner * groups) - offset, w, *window)
    if bias:
        row = bias[0].reshape(-1)[: found.shape[1]]
        found = found + row.reshape(1, -1, *([1] * rank))
    return to_blocked_channels(found, block, axis) if blocked[0] else found


def _forward(
    word: str,
    data: Tensor,
    weight: Tensor,
    filter_shape: Any,
    rank: int,
    given: Mapping[str, Any],
) -> Tensor:
    x, w = check_tensor(word, data, "data"), check_tensor(word, weight, "weight")
    image = _Image(word, x.name, x.shape, rank)
    if filter_shape is None and image.blocked and w.ndim == 4:
        kernel = [given.get(f"filter_{axis}") for axis in "dhw"[-rank:]]
        filter_shape = [w.shape[1] * w.shape[2], image.channels, *kernel]
    shape = _filter_sizes(word, w.shape if filter_shape is None else filter_shape, rank)
    groups, shape = groups_of(word, given, shape, image.block)
    if "group_opt" in given and image.blocked:
        # where groups are packed, the channels of all of them are given
        shape = [shape[0], shape[1] // max(groups, 1), *shape[2:]]
    parameters = _parameters(word, given, ORDERS[rank], image, w, shape, groups)
    parameters["offset"] = whole_number(word, "offset_x", first_of(given, "offset_x", default=0))
    outputs = check_sizes(word, image.sizes, shape, None, parameters, block=image.together)
    parameters["layout"] = _filter_layout(word, w, parameters, image.block)
    dtype = given.get("res_dtype") or ("int32" if x.dtype in ("int8", "uint8") else x.dtype)
    inputs = [x, w, *_bias(word, given, shape[0])]
    return _stage(word, "forward", inputs, image.shape_of(shape[0], outputs), dtype, parameters)


def _filter_sizes(word: str, sizes: Any, rank: int) -> list[int]:
    return [
        whole_number(word, "sizes of the filter", size)
        for size in listed(word, "sizes of the filter", sizes, rank + 2)
    ]


def _parameters(
    word: str,
    given: Mapping[str, Any],
    orders: Sequence[str],
    image: _Image,
    weight: Tensor | None,
    shape: Sequence[int],
    groups: int,
) -> dict[str, Any]:
    """What `_convolution` takes beside arrays; a filter of four axes beside blocks is FRACTAL_Z."""
    rank = len(shape) - 2
    plain = not image.blocked if rank == 2 or weight is None else weight.ndim == 5
    return {
        "rank": rank,
        "blocked": (image.blocked, not plain),
        "filter_shape": tuple(shape),
        "size": (),
        "groups": groups,
        "block": BLOCK,
        **window_of(word, given, rank, orders),
    }


def _filter_layout(word: str, weight: Tensor, parameters: Mapping[str, Any], block: int) -> str:
    """The layout of a filter, whose shape has to be the declared one."""
    shape, groups = parameters["filter_shape"], parameters["groups"]
    fractal = parameters["blocked"][1]
    layouts = [FRACTAL_Z] if fractal else [PLAIN]
    if fractal and parameters["size"] and weight.dtype in ("int8", "uint8"):
        layouts = [EXCHANGED]
    elif fractal and not parameters["size"] and groups == 1 and shape[1] <= 4:
        layouts.append(FRACTAL_Z_C04)
    expected = [_FILTERS[layout][0](shape, groups, block) for layout in layouts]
    return layouts[check_shape(word, "the filter", weight, *expected)]


def _bias(word: str, given: Mapping[str, Any], channels: Any) -> list[Tensor]:
    bias = first_of(given, "bias_tensor", "tensor_bias", "bias")
    if bias is None:
        return []
    found = check_tensor(word, bias, "bias")
    check_bias(word, found.shape, channels, block=BLOCK)
    return [found]


def conv(
    data: Tensor,
    weight: Tensor,
    para_dict: Mapping[str, Any],
    optim_dict: Any = None,
    dsl_flag: bool = True,
) -> Tensor:
    """Convolution of an image.

    Args:
        data: NC1HWC0, or NCHW.
        weight: FRACTAL_Z (C1·Kh·Kw, N1, N0, C0) beside NC1HWC0, OIHW beside NCHW.
        para_dict: ``stride_h``, ``stride_w``, ``pad_h`` and ``pad_w`` (pairs), ``dilate_h``,
            ``dilate_w``, ``filter_h``, ``filter_w``, ``bias_tensor``, ``group``, ``res_dtype``,
            ``weight_ori_shape_nchw``; or ``strides``, ``pads`` …
        optim_dict, dsl_flag: of the toolkit's signature, without effect.
    """
    shape = first_of(para_dict, "weight_ori_shape_nchw", "filter_shape")
    return _forward("conv", data, weight, shape, 2, para_dict)


def conv3d(
    x: Tensor, filter: Tensor, filter_size: Sequence[Any], para_dict: Mapping[str, Any]
) -> Tensor:
    """Convolution of a volume.

    Args:
        x: NDC1HWC0, or NCDHW.
        filter: FRACTAL_Z_3D, or OIDHW.
        filter_size: O, C / groups, D, H, W.
        para_dict: ``strides``, ``pads``, ``dilations`` or ``dilation_dhw``, ``groups`` or
            ``group_dict``, ``tensor_bias``, ``res_dtype``.
    """
    return _forward("conv3d", x, filter, filter_size, 3, para_dict)


def _gradient_input(word: str, rank: int) -> Any:
    order = "NDHWC" if rank == 3 else "NCHW"
    names = ("strides", "padding", "dilations", "res_dtype")

    def build(
        filters: Tensor,
        out_backprop: Tensor,
        filter_sizes: Any,
        input_sizes: Any,
        para_dict: Any = None,
        *args: Any,
        **keywords: Any,
    ) -> Tensor:
        given = options_of(word, para_dict, names, args, keywords)
        w = check_tensor(word, filters, "filters")
        dy = check_tensor(word, out_backprop, "out_backprop")
        image = _Image(word, dy.name, dy.shape, rank)
        shape = _filter_sizes(word, filter_sizes, rank)
        groups, shape = groups_of(word, given, shape, image.block)
        sizes = listed(word, "sizes of the input", input_sizes, rank + 2)
        if rank == 3 and image.blocked:  # N, D, H, W, C
            sizes = [sizes[0], sizes[4], *sizes[1:4]]
        parameters = _parameters(word, given, [order], image, w, shape, groups)
        parameters["size"] = tuple(as_shape(sizes[2:]))
        check_sizes(word, as_shape(sizes), shape, image.sizes, parameters, block=image.together)
        parameters["layout"] = _filter_layout(word, w, parameters, image.block)
        channels = whole_number(word, "channels", sizes[1]) if image.blocked else sizes[1]
        dtype = given.get("res_dtype") or "float16"
        out = image.shape_of(channels, sizes[2:])
        return _stage(word, "input", [dy, w, *_bias(word, given, channels)], out, dtype, parameters)

    build.__name__ = word
    build.__doc__ = (
        "The gradient of a convolution for its input; "
        f"{', '.join(names)} one by one or in para_dict, which may have tensor_bias."
    )
    return build


def _gradient_filter(word: str, rank: int) -> Any:
    order = "NDCHW" if rank == 3 else "NCHW"
    names = ("strides", "padding", "dilations", "groups", "res_dtype")

    def build(
        input_x: Tensor,
        out_backprop: Tensor,
        filter_sizes: Any,
        para_dict: Any = None,
        *args: Any,
        **keywords: Any,
    ) -> Tensor:
        given = options_of(word, para_dict, names, args, keywords)
        x = check_tensor(word, input_x, "input_x")
        dy = check_tensor(word, out_backprop, "out_backprop")
        image, made = (_Image(word, one.name, one.shape, rank) for one in (x, dy))
        shape = _filter_sizes(word, filter_sizes, rank)
        if rank == 3 and image.blocked:  # N, D, C, H, W
            shape[1:3] = shape[2], shape[1]
        groups, shape = groups_of(word, given, shape, image.block)
        parameters = _parameters(word, given, [order], image, None, shape, groups)
        parameters["block"] = image.block
        check_sizes(word, image.sizes, shape, made.sizes, parameters, block=image.together)
        out = fractal_z_shape(shape, groups, image.block) if image.blocked else shape
        return _stage(word, "filter", [x, dy], out, given.get("res_dtype") or "float32", parameters)

    build.__name__ = word
    build.__doc__ = (
        "The gradient of a convolution for its filter; "
        f"{', '.join(names)} one by one or in para_dict."
    )
    return build


def depthwise_conv2d(
    fmap: Tensor,
    weight: Tensor,
    depthwise_res_dtype: str = "float16",
    stride: Any = 1,
    pad: Any = 0,
    dilation: Any = 1,
    para_dict: Mapping[str, Any] | None = None,
    l1_fusion_para: Any = None,
    kernel_name: str = "depthwise_conv2d_compute",
) -> Tensor:
    """Each channel with a filter of its own.

    Args:
        fmap: (N, C1, H, W, C0), (N, C1, 1, H, W, C0), or NCHW.
        weight: (C1, H, W, 1, C0) or (C1, H, W, C0, C0) of which the diagonal counts, either with
            an axis of size 1 after W; or (C, 1, H, W) beside NCHW.
        depthwise_res_dtype: of the result.
        stride, pad, dilation: one number, one per axis, or for `pad` above, below, left, right.
        para_dict: may have ``bias_tensor``.
        l1_fusion_para, kernel_name: of the toolkit's signature, without effect.
    """
    word = "depthwise_conv2d"
    x, w = check_tensor(word, fmap, "fmap"), check_tensor(word, weight, "weight")
    shape = list(x.shape)
    if x.ndim == 6:
        check_shape(word, "the image", x, [*shape[:2], 1, *shape[3:]])
        del shape[2]
    image = _Image(word, x.name, shape, 2)
    lead, c0 = w.shape[0], image.block
    channels = lead * c0 if image.blocked else lead
    sizes = w.shape[1:3] if image.blocked else w.shape[2:4]
    kernel = [whole_number(word, "sizes of the filter", size) for size in sizes]
    given = {"strides": stride, "pads": pad, "dilations": dilation}
    window = window_of(word, given, 2, ORDERS[2])
    outputs = check_sizes(word, image.sizes, [channels, channels, *kernel], None, window)
    blocks = [(lead, *kernel, *tail) for tail in ((1, c0), (c0, c0), (1, 1, c0), (1, c0, c0))]
    check_shape(word, "the filter", w, *(blocks if image.blocked else [(lead, 1, *kernel)]))
    made, at = [*x.shape], x.ndim - 3 if image.blocked else 2
    made[at : at + 2] = outputs
    inputs = (x, w, *_bias(word, para_dict or {}, image.channels))
    use = WordUse(word, inputs, window)
    (out,) = library_stage(
        fresh_name("depthwise"), [as_shape(made)], [depthwise_res_dtype], use, tag=word
    )
    return out


def _depthwise(x: Array, w: Array, *bias: Array, strides: Any, pads: Any, dilations: Any) -> Array:
    plain = x.ndim == 4
    image, filters = _wide(x), _wide(w)
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


WORDS = (
    Word("conv", conv, _convolution, "mmad"),
    Word("conv2d", conv),
    Word("conv3d", conv3d, _convolution, "mmad"),
    *(
        Word(name, make(name, rank), _convolution, "mmad")
        for name, make, rank in (
            ("conv2d_backprop_input", _gradient_input, 2),
            ("conv2d_backprop_input_compute", _gradient_input, 2),
            ("conv2d_backprop_filter", _gradient_filter, 2),
            ("conv2d_backprop_filter_compute", _gradient_filter, 2),
            ("conv3d_backprop_input", _gradient_input, 3),
            ("conv3d_backprop_input_compute", _gradient_input, 3),
            ("conv3d_backprop_filter", _gradient_filter, 3),
            ("conv3d_backprop_filter_compute", _gradient_filter, 3),
        )
    ),
    Word("depthwise_conv2d", depthwise_conv2d, _depthwise, "mmad"),
    Word("depthwise_conv2d_compute", depthwise_conv2d),
)
