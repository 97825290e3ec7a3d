"""Words of convolution: forward, the two gradients, depthwise, in two and three dimensions."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from math import gcd
from typing import Any

import numpy as np
from numpy.lib import stride_tricks

from tbe_impl.dsl.arrays import Array
from tbe_impl.dsl.convolution_checks import check_bias, check_sizes, known_size
from tbe_impl.dsl.expr import Const, Expr
from tbe_impl.dsl.layouts import (
    BLOCK,
    blocks_of,
    fractal_z_shape,
    from_blocked_channels,
    from_fractal_z,
    packed_groups,
    to_blocked_channels,
    to_fractal_z,
)
from tbe_impl.dsl.location import here
from tbe_impl.dsl.tensor import Tensor, WordUse, as_shape, fresh_name, library_stage, shape_text
from tbe_impl.dsl.word import Word, check_tensor
from tbe_impl.errors import InputError

Pads = Sequence[tuple[int, int]]
GROUPS = frozenset(
    "groups filter_batch_ori filter_c_ori cin_ori cout_ori mag_factor real_g".split()
)
"""Keys of the toolkit's ``group_dict`` that are read here."""


def _patches(x: Array, kernel: Sequence[int], strides: Sequence[int], pads: Pads, dilations: Sequence[int]) -> Array:  # fmt: skip
    """(N, C, spatial…) → a view (N, C, outputs…, kernel…)."""
    rank = len(kernel)
    padded = np.pad(x, [(0, 0), (0, 0), *pads])
    reach = [(k - 1) * d + 1 for k, d in zip(kernel, dilations, strict=True)]
    views: Array = stride_tricks.sliding_window_view(padded, tuple(reach), axis=tuple(range(2, 2 + rank)))  # type: ignore[call-overload]  # fmt: skip
    return views[_cut(slice(None, None, step) for step in (*strides, *dilations))]


def _cut(inner: Iterable[slice]) -> tuple[slice, ...]:
    """An index of the axes after batch and channels."""
    return (slice(None), slice(None), *inner)


def convolve(x: Array, w: Array, strides: Sequence[int], pads: Pads, dilations: Sequence[int], groups: int = 1) -> Array:  # fmt: skip
    """x (N, C, spatial…) with w (O, C / groups, kernel…) → (N, O, outputs…), as one matrix product per group."""
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
    dy: Array, w: Array, size: Sequence[int], strides: Sequence[int], pads: Pads, dilations: Sequence[int], groups: int = 1
) -> Array:  # fmt: skip
    """What `convolve` passes back to x of spatial size `size`: dy, spread by the strides, with the filters mirrored."""
    spatial = range(2, w.ndim)
    spread_shape = [(n - 1) * s + 1 for n, s in zip(dy.shape[2:], strides, strict=True)]
    spread = np.zeros((*dy.shape[:2], *spread_shape), dy.dtype)
    spread[_cut(slice(None, None, s) for s in strides)] = dy
    outer = [
        ((k - 1) * d - before, n + before - (m - 1) * s - 1)
        for k, d, (before, _), n, m, s in zip(
            w.shape[2:], dilations, pads, size, dy.shape[2:], strides, strict=True
        )
    ]
    # a padding larger than the filter cuts dy instead of widening it
    cut = [slice(max(-a, 0), n - max(-b, 0)) for (a, b), n in zip(outer, spread_shape, strict=True)]
    grown = [(max(a, 0), max(b, 0)) for a, b in outer]
    parts = np.split(np.flip(w, tuple(spatial)), groups, axis=0)
    turned = np.concatenate([np.swapaxes(part, 0, 1) for part in parts], axis=0)
    return convolve(spread[_cut(cut)], turned, [1] * len(cut), grown, dilations, groups)  # fmt: skip


def filter_gradient(
    x: Array, dy: Array, kernel: Sequence[int], strides: Sequence[int], pads: Pads, dilations: Sequence[int], groups: int = 1
) -> Array:  # fmt: skip
    """What `convolve` passes back to its filters, (O, C / groups, kernel…)."""
    rank = len(kernel)
    views = _patches(x, kernel, strides, pads, dilations)
    views = views[_cut(slice(0, n) for n in dy.shape[2:])]
    over = (0, *range(2, 2 + rank))
    parts = zip(np.split(dy, groups, axis=1), np.split(views, groups, axis=1), strict=True)
    return np.concatenate([np.tensordot(d, part, (over, over)) for d, part in parts], axis=0)


def _number(value: Any) -> int:
    if isinstance(value, Expr) and not isinstance(value, Const):
        raise InputError(
            "a convolution needs its strides and dilations as numbers",
            place=str(here()),
            expected="numbers",
            got=str(value),
        )
    return int(value.value if isinstance(value, Const) else value)


def _padding(value: Any) -> Any:
    """A number, or how it follows from sizes that are known late."""
    return value if isinstance(value, Expr) and not isinstance(value, Const) else _number(value)


def _numbers(
    values: Any, count: int, default: int = 1, of: Callable[[Any], Any] = _number
) -> list[Any]:
    """The last `count` numbers; of a single number so many."""
    if values is None:
        return [default] * count
    if not isinstance(values, (list, tuple)):
        values = [values] * count
    whole = [of(item) for item in values]
    return whole[-count:] if len(whole) >= count else whole * count


def _spatial(values: Any, count: int, order: str = "") -> list[int]:
    """One number for each spatial axis, of values for these alone or for all axes in `order`.

    Without an order the last values count.
    """
    whole = _numbers(values, count if not isinstance(values, (list, tuple)) else len(values))
    if order and len(whole) == len(order):
        if any(whole[order.index(axis)] != 1 for axis in "NC"):
            raise InputError(
                "a convolution has steps along its spatial axes only",
                place=str(here()),
                expected=f"1 for N and C of {order}",
                got=str(tuple(whole)),
            )
        return [whole[order.index(axis)] for axis in "DHW"[-count:]]
    return whole if len(whole) <= count else whole[len(whole) - count :]


def _pads(values: Any, count: int) -> tuple[tuple[int, int], ...]:
    whole = _numbers(
        values, 2 * count if not isinstance(values, (list, tuple)) else len(values), 0, _padding
    )
    if len(whole) == count:
        return tuple((item, item) for item in whole)
    return tuple((whole[2 * k], whole[2 * k + 1]) for k in range(count))


class _Image:
    """Where the axes of a feature map are: NCHW, NC1HWC0, NDC1HWC0, NCDHW, or NC1,1,HWC0 of old depthwise operators."""

    def __init__(self, tensor: Tensor, spatial: int):
        self.blocked = tensor.ndim == spatial + 3
        self.axis = 2 if spatial == 3 and self.blocked else 1
        self.block = _value(tensor.shape[-1]) if self.blocked else BLOCK
        shape = tensor.shape
        self.batch = shape[0]
        if self.blocked:
            self.channels = shape[self.axis] * shape[-1]
            self.spatial = tuple(size for place, size in enumerate(shape[1:-1], 1) if place != self.axis)  # fmt: skip
        else:
            self.channels, self.spatial = shape[1], shape[2:]

    @property
    def sizes(self) -> tuple[Any, ...]:
        """Batch, channels, spatial sizes."""
        return (self.batch, self.channels, *self.spatial)

    @property
    def block_of_channels(self) -> int:
        """How many channels lie together; 1 where each has an axis of its own."""
        return self.block if self.blocked else 1

    def shape_of(self, channels: Any, spatial: Sequence[Any], block: int = BLOCK) -> tuple[Any, ...]:  # fmt: skip
        """The shape of an image with that many channels in the same layout."""
        if not self.blocked:
            return (self.batch, channels, *spatial)
        inner = list(spatial)
        inner.insert(self.axis - 1, blocks_of(int(channels), block))
        return (self.batch, *inner, block)


def _value(size: Any) -> int:
    if isinstance(size, Const):
        return int(size.value)
    if isinstance(size, Expr):
        raise InputError("a convolution needs numbers for channels, kernel and block", place=str(here()), expected="a number", got=str(size))  # fmt: skip
    return int(size)


def _outputs(spatial: Sequence[Any], kernel: Sequence[int], strides: Sequence[int], pads: Pads, dilations: Sequence[int]) -> list[Any]:  # fmt: skip
    return [
        (size + before + after - ((k - 1) * d + 1)) // s + 1
        for size, k, s, (before, after), d in zip(
            spatial, kernel, strides, pads, dilations, strict=True
        )
    ]


def _stage(
    word: str, kind: str, inputs: Sequence[Tensor], shape: Sequence[Any], dtype: str, parameters: Mapping[str, Any]
) -> Tensor:  # fmt: skip
    use = WordUse(word, tuple(inputs), {"kind": kind, **parameters})
    (made,) = library_stage(fresh_name(word), [as_shape(list(shape))], [dtype], use, tag=f"convolution_{kind}")  # fmt: skip
    return made


def _convolution(
    a: Array, b: Array, *bias: Array, kind: str, rank: int, blocked: tuple[bool, bool], filter_shape: Any, size: Any,
    strides: Any, pads: Any, dilations: Any, groups: int, block: int, offset: int = 0,
) -> Array:  # fmt: skip
    """One formula for all of them; images and filters come and go in blocks or plain."""
    axis = 2 if rank == 3 else 1
    outer, inner = int(filter_shape[0]), int(filter_shape[1]) * groups
    shape = [int(item) for item in filter_shape]

    def image(x: Array, channels: int) -> Array:
        return from_blocked_channels(x, channels, axis) if x.ndim == rank + 3 else x

    if kind == "forward":
        w = b if b.ndim == rank + 2 and not blocked[1] else from_fractal_z(b, shape, groups)
        x = image(a, inner)
        x, w = (np.asarray(item, np.int32) if item.dtype.kind in "iu" else item for item in (x, w))
        found = convolve(x - offset, w, strides, pads, dilations, groups)
        if bias:
            row = bias[0].reshape(-1)[:outer]
            found = found + row.reshape(1, -1, *([1] * rank))
    elif kind == "input":
        w = b if b.ndim == rank + 2 and not blocked[1] else from_fractal_z(b, shape, groups)
        found = input_gradient(image(a, outer), w, [int(n) for n in size], strides, pads, dilations, groups)  # fmt: skip
    else:
        found = filter_gradient(image(a, inner), image(b, outer), shape[2:], strides, pads, dilations, groups)  # fmt: skip
        return to_fractal_z(found, block, groups) if blocked[0] else found
    return to_blocked_channels(found, block, axis) if blocked[0] else found


def _forward(
    word: str, data: Tensor, weight: Tensor, filter_shape: Sequence[Any] | None, rank: int, strides: Any, pads: Any,
    dilations: Any, groups: Any, dtype: str | None, bias: Tensor | None, offset: Any = 0,
) -> Tensor:  # fmt: skip
    x, w = check_tensor(word, data, "data"), check_tensor(word, weight, "weight")
    if x.ndim not in (rank + 2, rank + 3):
        raise InputError(f"{word}: {x.name} is no image", place=str(here()), expected=f"{rank + 2} axes, or {rank + 3} in blocks", got=shape_text(x.shape))  # fmt: skip
    image = _Image(x, rank)
    shape = [_value(n) for n in (filter_shape if filter_shape is not None else w.shape)]
    blocked = (image.blocked, image.blocked and w.ndim == 4)
    parameters = {
        "rank": rank, "blocked": blocked, "filter_shape": tuple(shape), "size": (), "groups": _value(groups or 1),
        "strides": _spatial(strides, rank), "pads": _pads(pads, rank), "dilations": _spatial(dilations, rank),
        "block": BLOCK, "offset": int(offset or 0),
    }  # fmt: skip
    check_sizes(word, image.sizes, shape, None, parameters, block=image.block_of_channels)
    outputs = _outputs(image.spatial, shape[2:], parameters["strides"], parameters["pads"], parameters["dilations"])  # type: ignore[arg-type]  # fmt: skip
    result = dtype or ("int32" if x.dtype in ("int8", "uint8") else x.dtype)
    inputs = [x, w]
    if bias is not None:
        inputs.append(check_tensor(word, bias, "bias"))
        check_bias(word, bias.shape, shape[0], block=BLOCK)
    return _stage(word, "forward", inputs, image.shape_of(shape[0], outputs), result, parameters)


def conv(data: Tensor, weight: Tensor, para_dict: Mapping[str, Any], optim_dict: Any = None, dsl_flag: bool = True, **_: Any) -> Tensor:  # fmt: skip
    """Convolution of an image.

    Args:
        data: NC1HWC0, or NCHW.
        weight: FRACTAL_Z (C1·Kh·Kw, N1, N0, C0), or OIHW.
        para_dict: ``stride_h``, ``stride_w``, ``pad_h`` and ``pad_w`` (pairs), ``dilate_h``, ``dilate_w``, ``filter_h``,
            ``filter_w``, ``bias_tensor``, ``group``, ``res_dtype``, ``weight_ori_shape_nchw``; or ``strides``, ``pads`` …
    """
    given = dict(para_dict)
    pads = given.get("pads", given.get("pad", [*_side(given, "pad_h", "padh"), *_side(given, "pad_w", "padw")]))  # fmt: skip
    strides = given.get("strides", [given.get("stride_h", given.get("strideh", 1)), given.get("stride_w", given.get("stridew", 1))])  # fmt: skip
    dilations = given.get("dilations", [given.get("dilate_h", given.get("dilateh", 1)), given.get("dilate_w", given.get("dilatew", 1))])  # fmt: skip
    shape = given.get("weight_ori_shape_nchw", given.get("filter_shape"))
    if shape is None and weight.ndim == 4 and data.ndim == 5:
        kernel = [_value(given[name]) for name in ("filter_h", "filter_w")]
        shape = [weight.shape[1] * weight.shape[2], data.shape[1] * data.shape[-1], *kernel]
    groups = given.get("group", given.get("groups", 1))
    if shape is not None and "group_opt" in given:
        # where groups are packed, the channels of all of them are given
        shape = [shape[0], _value(shape[1]) // _value(groups or 1), *shape[2:]]
    bias = given.get("bias_tensor") or given.get("bias")
    return _forward("conv", data, weight, shape, 2, strides, pads, dilations, groups,
                    given.get("res_dtype"), bias if isinstance(bias, Tensor) else None, given.get("offset_x", 0))  # fmt: skip


def _side(given: Mapping[str, Any], *names: str) -> list[Any]:
    found = next((given[name] for name in names if name in given), 0)
    return list(found) if isinstance(found, (list, tuple)) else [found, found]


def conv3d(x: Tensor, filter: Tensor, filter_size: Sequence[Any], para_dict: Mapping[str, Any]) -> Tensor:  # fmt: skip
    """Convolution of a volume: NDC1HWC0 or NCDHW with FRACTAL_Z_3D or OIDHW; para_dict has strides, pads, dilations, tensor_bias, groups, res_dtype."""
    given = dict(para_dict)
    bias = given.get("tensor_bias", given.get("bias_tensor"))
    groups, shape = _groups(given, [_value(n) for n in filter_size])
    dilations = _kernel_part(given.get("dilations", given.get("dilation_dhw")))
    pads = given.get("pads", given.get("padding", 0))
    return _forward(
        "conv3d",
        x,
        filter,
        shape,
        3,
        given.get("strides"),
        pads,
        dilations,
        groups,
        given.get("res_dtype"),
        bias,
    )


def _kernel_part(dilations: Any) -> Any:
    """Dilations of batch and channel are 1; of (1, 1, d, h, w) or (1, d, h, w, 1) the inner ones count."""
    if isinstance(dilations, (list, tuple)) and len(dilations) > 3:
        numbers = [_value(item) for item in dilations]
        return numbers[1:-1] if len(numbers) == 5 and numbers[1] != 1 else numbers
    return dilations


def _gradient_input(word: str, rank: int) -> Any:
    def build(
        filters: Tensor, out_backprop: Tensor, filter_sizes: Any, input_sizes: Any, para_dict: Any = None, *args: Any, **keywords: Any
    ) -> Tensor:  # fmt: skip
        given = _options(para_dict, ("strides", "padding", "dilations", "res_dtype"), args, keywords)  # fmt: skip
        w, dy = check_tensor(word, filters, "filters"), check_tensor(word, out_backprop, "out_backprop")  # fmt: skip
        image = _Image(dy, rank)
        groups, shape = _groups(given, [_value(n) for n in filter_sizes])
        sizes = list(input_sizes)
        if rank == 3 and image.blocked:  # N, D, H, W, C
            sizes = [sizes[0], sizes[4], *sizes[1:4]]
        order = "NDHWC" if rank == 3 else "NCHW"
        parameters = _parameters(given, order, image, w.ndim == 4 and image.blocked, shape, groups)
        parameters["size"] = tuple(as_shape(sizes[2:]))
        check_sizes(word, sizes, shape, image.sizes, parameters, block=image.block_of_channels)
        result = given.get("res_dtype") or "float16"
        out = image.shape_of(_value(sizes[1]) if image.blocked else sizes[1], sizes[2:])
        return _stage(word, "input", [dy, w], out, result, parameters)

    build.__name__ = word
    build.__doc__ = "The gradient of a convolution for its input; strides, padding, dilations, res_dtype one by one or in para_dict."  # fmt: skip
    return build


def _gradient_filter(word: str, rank: int) -> Any:
    def build(
        input_x: Tensor, out_backprop: Tensor, filter_sizes: Any, para_dict: Any = None, *args: Any, **keywords: Any
    ) -> Tensor:  # fmt: skip
        given = _options(para_dict, ("strides", "padding", "dilations", "groups", "res_dtype"), args, keywords)  # fmt: skip
        x, dy = check_tensor(word, input_x, "input_x"), check_tensor(word, out_backprop, "out_backprop")  # fmt: skip
        image = _Image(x, rank)
        shape, order = [_value(n) for n in filter_sizes], "NDCHW" if rank == 3 else "NCHW"
        if rank == 3 and image.blocked:  # N, D, C, H, W
            shape[1:3] = shape[2], shape[1]
        groups, shape = _groups(given, shape)
        parameters = _parameters(given, order, image, image.blocked, shape, groups)
        parameters["block"] = image.block
        made = _Image(dy, rank).sizes
        check_sizes(word, image.sizes, shape, made, parameters, block=image.block_of_channels)
        out: Sequence[Any] = shape
        if image.blocked:
            out = fractal_z_shape(shape, groups, image.block)
        return _stage(word, "filter", [x, dy], out, given.get("res_dtype") or "float32", parameters)

    build.__name__ = word
    build.__doc__ = "The gradient of a convolution for its filter; strides, padding, dilations, res_dtype one by one or in para_dict."  # fmt: skip
    return build


def _options(para_dict: Any, names: Sequence[str], args: Sequence[Any], keywords: Mapping[str, Any]) -> dict[str, Any]:  # fmt: skip
    if isinstance(para_dict, Mapping):
        return {**para_dict, **keywords}
    listed = [] if para_dict is None and not args else [para_dict, *args]
    return {**dict(zip(names, listed, strict=False)), **keywords}


def _groups(given: Mapping[str, Any], shape: list[int]) -> tuple[int, list[int]]:
    """The number of groups, and the filter's shape as ``group_dict`` has it, where one is given.

    For three axes it holds how groups are packed, from which their number follows.
    """
    packed = given.get("group_dict") or {}
    numbers = {name: known_size(packed[name]) for name in GROUPS if name in packed}
    known = {name: number for name, number in numbers.items() if number is not None}
    groups = _value(given.get("groups") or known.get("groups") or 1)
    if "filter_batch_ori" in known:
        return groups, [known["filter_batch_ori"] * groups, known["filter_c_ori"], *shape[2:]]
    if "real_g" in known:
        inner, outer = known["cin_ori"], known["cout_ori"]
        wanted = (known["mag_factor"], known["real_g"])
        for groups in range(1, gcd(inner, outer) + 1):
            each = (outer // groups, inner // groups)
            if gcd(inner, outer) % groups == 0 and packed_groups(*each, groups) == wanted:
                return groups, [*_agreed(shape, (outer, each[1])), *shape[2:]]
    return groups, shape


def _agreed(shape: Sequence[int], channels: tuple[int, int]) -> tuple[int, int]:
    """The channels of ``group_dict``; a filter's shape has the same, or whole blocks of them."""
    for given, known in zip(shape, channels, strict=False):
        if given not in (known, blocks_of(known) * BLOCK):
            raise InputError(
                "the filter does not fit the images of a convolution",
                place=str(here()),
                expected="{} output channels, {} input channels of a group".format(*channels),
                got=f"{shape[0]} and {shape[1]}",
            )
    return channels


def _parameters(
    given: Mapping[str, Any], order: str, image: _Image, blocked: bool, shape: Sequence[int], groups: int
) -> dict[str, Any]:  # fmt: skip
    rank = len(order) - 2
    return {
        "rank": rank, "blocked": (image.blocked, blocked), "filter_shape": tuple(shape), "size": (), "groups": groups,
        "strides": _spatial(given.get("strides"), rank, order), "pads": _pads(given.get("padding", given.get("pads", 0)), rank),
        "dilations": _spatial(given.get("dilations"), rank, order), "block": BLOCK,
    }  # fmt: skip


def depthwise_conv2d(
    fmap: Tensor, weight: Tensor, depthwise_res_dtype: str = "float16", stride: Any = 1, pad: Any = 0, dilation: Any = 1,
    para_dict: Mapping[str, Any] | None = None, l1_fusion_para: Any = None, kernel_name: str = "depthwise_conv2d_compute", **_: Any,
) -> Tensor:  # fmt: skip
    """Each channel with a filter of its own.

    Args:
        fmap: (N, C1, H, W, C0), (N, C1, 1, H, W, C0), or NCHW.
        weight: (C1, H, W, 1, C0) or (C1, H, W, C0, C0) of which the diagonal counts; or (C, 1, H, W).
        depthwise_res_dtype: of the result.
        stride, pad, dilation: one number, one per axis, or for `pad` above, below, left, right.
        para_dict: may have ``bias_tensor``.
    """
    x, w = check_tensor("depthwise_conv2d", fmap, "fmap"), check_tensor("depthwise_conv2d", weight, "weight")  # fmt: skip
    shape = x.shape
    plain = x.ndim == 4
    spatial = shape[2:] if plain else shape[-3:-1]
    kernel = [_value(n) for n in (w.shape[2:] if plain else w.shape[1:3])]
    strides, pads, dilations = _spatial(stride, 2), _pads(pad, 2), _spatial(dilation, 2)
    sizes = {"strides": strides, "pads": pads, "dilations": dilations}
    channels = w.shape[0]
    check_sizes(
        "depthwise_conv2d", (*shape[:2], *spatial), (channels, channels, *kernel), None, sizes
    )
    outputs = _outputs(spatial, kernel, strides, pads, dilations)
    made = [*shape]
    if plain:
        made[2:] = outputs
    else:
        made[-3:-1] = outputs
    bias = (para_dict or {}).get("bias_tensor")
    inputs = [x, w]
    if bias is not None:
        inputs.append(check_tensor("depthwise_conv2d", bias, "bias"))
        known = shape[1] if plain else shape[1] * shape[-1]
        check_bias("depthwise_conv2d", bias.shape, known, block=BLOCK)
    use = WordUse("depthwise_conv2d", tuple(inputs), sizes)
    (out,) = library_stage(fresh_name("depthwise"), [as_shape(made)], [depthwise_res_dtype], use, tag="depthwise_conv2d")  # fmt: skip
    return out


def _depthwise(x: Array, w: Array, *bias: Array, strides: Any, pads: Any, dilations: Any) -> Array:
    plain = x.ndim == 4
    image, filters = x, w
    if not plain:
        image = from_blocked_channels(x.reshape(*x.shape[:2], *x.shape[-3:]))
        w = w.reshape(*w.shape[:3], w.shape[-2], w.shape[-1])
        each = w[..., 0, :] if w.shape[-2] == 1 else np.diagonal(w, axis1=-2, axis2=-1)
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
