"""DSL operations for 2-D, 3-D and depthwise convolutions and for the gradients of convolutions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from tbe_impl.dsl.layouts import BLOCK, block_count, fractal_z_shape
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operation import DslOperation, check_tensor, with_name
from tbe_impl.dsl.operations.convolution_arguments import (
    check_integer,
    check_list,
    first_option,
    groups_of,
    options_of,
    window_of,
)
from tbe_impl.dsl.operations.convolution_checks import check_bias, check_shape, check_sizes
from tbe_impl.dsl.operations.convolution_formulas import (
    FILTER_LAYOUTS,
    FRACTAL_Z,
    FRACTAL_Z_C04,
    FRACTAL_Z_IOHW,
    OIHW,
    convolution,
    depthwise_convolution,
)
from tbe_impl.dsl.tensor import DslCall, Tensor, as_shape, fresh_name, library_stage, shape_text
from tbe_impl.errors import InputError

LAYOUT_ORDERS = {2: ("NCHW", "NHWC"), 3: ("NCDHW", "NDHWC")}
"""Maps a number of spatial axes to the layouts.

Strides and dilations may be listed in the axis order of any of these layouts.
"""


class _Image:
    """Batch, channels and spatial sizes of an NCHW, NC1HWC0, NCDHW or NDC1HWC0 image.

    Raises:
        InputError: the number of axes fits none of these layouts.
    """

    def __init__(self, word: str, name: str, shape: Sequence[Any], rank: int):
        if len(shape) not in (rank + 2, rank + 3):
            raise InputError(
                f"{word}: {name} is not an image",
                place=str(user_location()),
                expected=f"{rank + 2} axes, or {rank + 3} in blocks",
                got=shape_text(shape),
            )
        self.blocked = len(shape) == rank + 3
        self.axis = 2 if rank == 3 and self.blocked else 1
        self.block = check_integer(word, "blocks", shape[-1]) if self.blocked else BLOCK
        self.together = self.block if self.blocked else 1  # channels per block
        self.batch, channels = shape[0], shape[self.axis]
        self.channels = channels * self.block if self.blocked else channels
        inner = list(shape[1 : rank + 2])
        del inner[self.axis - 1]
        self.sizes = (self.batch, self.channels, *inner)

    def shape_of(self, channels: Any, spatial: Sequence[Any]) -> list[Any]:
        """Returns the shape of an image in this layout with `channels` and `spatial` sizes."""
        if not self.blocked:
            return [self.batch, channels, *spatial]
        shape = [self.batch, *spatial, BLOCK]
        shape.insert(self.axis, block_count(int(channels)))
        return shape


def _convolution_stage(
    word: str,
    kind: str,
    inputs: Sequence[Tensor],
    shape: Sequence[Any],
    dtype: str,
    parameters: Mapping[str, Any],
) -> Tensor:
    use = DslCall(word, tuple(inputs), {"kind": kind, **parameters})
    tag = f"convolution_{kind}"
    (made,) = library_stage(fresh_name(word), [as_shape(list(shape))], [dtype], use, tag=tag)
    return made


def _build_forward(
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
    shape = _filter_sizes(word, w.shape if filter_shape is None else filter_shape, rank + 2)
    groups, shape = groups_of(word, given, shape, image.block)
    if "group_opt" in given and image.blocked:
        # with `group_opt`, the filter shape counts the input channels of all groups
        shape = [shape[0], shape[1] // max(groups, 1), *shape[2:]]
    parameters = _parameters(word, given, LAYOUT_ORDERS[rank], image, w, shape, groups)
    parameters["offset"] = check_integer(
        word, "offset_x", first_option(given, "offset_x", default=0)
    )
    outputs = check_sizes(word, image.sizes, shape, None, parameters, block=image.together)
    parameters["layout"] = _filter_layout(word, w, parameters, image.block)
    dtype = given.get("res_dtype") or ("int32" if x.dtype in ("int8", "uint8") else x.dtype)
    inputs = [x, w, *_bias_inputs(word, given, shape[0])]
    return _convolution_stage(
        word, "forward", inputs, image.shape_of(shape[0], outputs), dtype, parameters
    )


def _filter_sizes(word: str, sizes: Any, count: int) -> list[int]:
    return [
        check_integer(word, "sizes of the filter", size)
        for size in check_list(word, "sizes of the filter", sizes, count)
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
    """Returns the keyword arguments of the formula `convolution`.

    If the image is in a block layout, a 4-d filter is assumed to be in FRACTAL_Z.
    """
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
    """Returns the layout of the filter `weight`.

    Raises:
        InputError: the shape of `weight` does not fit the declared filter in any permitted layout.
    """
    shape, groups = parameters["filter_shape"], parameters["groups"]
    fractal = parameters["blocked"][1]
    layouts = [FRACTAL_Z] if fractal else [OIHW]
    if fractal and parameters["size"] and weight.dtype in ("int8", "uint8"):
        layouts = [FRACTAL_Z_IOHW]
    elif fractal and not parameters["size"] and groups == 1 and shape[1] <= 4:
        layouts.append(FRACTAL_Z_C04)
    expected = [FILTER_LAYOUTS[layout][0](shape, groups, block) for layout in layouts]
    return layouts[check_shape(word, "the filter", weight, *expected)]


def _bias_inputs(word: str, given: Mapping[str, Any], channels: Any) -> list[Tensor]:
    bias = first_option(given, "bias_tensor", "tensor_bias", "bias")
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
    """Convolves an image with filters.

    Args:
        data: image in NC1HWC0 or NCHW.
        weight: filters. The layout is FRACTAL_Z, (C1·Kh·Kw, N1, N0, C0), for an image in NC1HWC0,
            and OIHW for an image in NCHW.
        para_dict: dict of the toolkit with the keys ``stride_h``, ``stride_w``, ``pad_h``,
            ``pad_w``, ``dilate_h``, ``dilate_w``, ``filter_h``, ``filter_w``, ``bias_tensor``,
            ``group``, ``res_dtype`` and ``weight_ori_shape_nchw``. The values of ``pad_h`` and
            ``pad_w`` are pairs (before, after). The key ``strides`` may replace ``stride_h`` and
            ``stride_w``. ``pads`` and ``dilations`` may replace their pairs of keys in the same
            way.
        optim_dict, dsl_flag: part of the toolkit's signature; ignored.
    """
    shape = first_option(para_dict, "weight_ori_shape_nchw", "filter_shape")
    return _build_forward("conv", data, weight, shape, 2, para_dict)


def conv3d(
    x: Tensor, filter: Tensor, filter_size: Sequence[Any], para_dict: Mapping[str, Any]
) -> Tensor:
    """Convolves a volume with filters.

    Args:
        x: volume in NDC1HWC0 or NCDHW.
        filter: filters in FRACTAL_Z_3D or OIDHW.
        filter_size: the sizes O, C / groups, D, H, W of the filters.
        para_dict: ``strides``, ``pads``, ``dilations`` (or ``dilation_dhw``), ``groups`` (or
            ``group_dict``), ``tensor_bias`` and ``res_dtype``.
    """
    return _build_forward("conv3d", x, filter, filter_size, 3, para_dict)


def _make_input_gradient(word: str, rank: int) -> Any:
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
        shape = _filter_sizes(word, filter_sizes, rank + 2)
        groups, shape = groups_of(word, given, shape, image.block)
        sizes = check_list(word, "sizes of the input", input_sizes, rank + 2)
        if rank == 3 and image.blocked:  # N, D, H, W, C
            sizes = [sizes[0], sizes[4], *sizes[1:4]]
        parameters = _parameters(word, given, [order], image, w, shape, groups)
        parameters["size"] = tuple(as_shape(sizes[2:]))
        check_sizes(word, as_shape(sizes), shape, image.sizes, parameters, block=image.together)
        parameters["layout"] = _filter_layout(word, w, parameters, image.block)
        channels = check_integer(word, "channels", sizes[1]) if image.blocked else sizes[1]
        dtype = given.get("res_dtype") or "float16"
        out = image.shape_of(channels, sizes[2:])
        return _convolution_stage(
            word, "input", [dy, w, *_bias_inputs(word, given, channels)], out, dtype, parameters
        )

    return with_name(
        build,
        word,
        (
            "Computes the gradient of a convolution with respect to its input. The options "
            f"{', '.join(names)} are given as arguments or in para_dict. The option tensor_bias "
            "is given in para_dict."
        ),
    )


def _make_filter_gradient(word: str, rank: int) -> Any:
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
        shape = _filter_sizes(word, filter_sizes, rank + 2)
        if rank == 3 and image.blocked:  # N, D, C, H, W
            shape[1:3] = shape[2], shape[1]
        groups, shape = groups_of(word, given, shape, image.block)
        parameters = _parameters(word, given, [order], image, None, shape, groups)
        parameters["block"] = image.block
        check_sizes(word, image.sizes, shape, made.sizes, parameters, block=image.together)
        out = fractal_z_shape(shape, groups, image.block) if image.blocked else shape
        return _convolution_stage(
            word, "filter", [x, dy], out, given.get("res_dtype") or "float32", parameters
        )

    return with_name(
        build,
        word,
        (
            "Computes the gradient of a convolution with respect to its filter. The options "
            f"{', '.join(names)} are given as arguments or in para_dict."
        ),
    )


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
    """Computes a depthwise convolution: each channel has a filter of its own.

    Args:
        fmap: image of shape (N, C1, H, W, C0) or (N, C1, 1, H, W, C0), or in NCHW.
        weight: filters. For NCHW the shape is (C, 1, H, W). For blocked images the shape is (C1, H,
            W, 1, C0) or (C1, H, W, C0, C0), optionally with an axis of size 1 after W. Only the
            diagonal of each (C0, C0) matrix is used.
        depthwise_res_dtype: dtype of the result.
        stride, dilation: one number for both axes, or one number per axis.
        pad: one number for all axes, one number per axis, or four numbers: above, below, left,
            right.
        para_dict: options; only ``bias_tensor`` is used.
        l1_fusion_para, kernel_name: part of the toolkit's signature; ignored.
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
    kernel = _filter_sizes(word, sizes, 2)
    given = {"strides": stride, "pads": pad, "dilations": dilation}
    window = window_of(word, given, 2, LAYOUT_ORDERS[2])
    outputs = check_sizes(word, image.sizes, [channels, channels, *kernel], None, window)
    blocks = [(lead, *kernel, *tail) for tail in ((1, c0), (c0, c0), (1, 1, c0), (1, c0, c0))]
    check_shape(word, "the filter", w, *(blocks if image.blocked else [(lead, 1, *kernel)]))
    made, at = [*x.shape], x.ndim - 3 if image.blocked else 2
    made[at : at + 2] = outputs
    inputs = (x, w, *_bias_inputs(word, para_dict or {}, image.channels))
    use = DslCall(word, inputs, window)
    (out,) = library_stage(
        fresh_name("depthwise"), [as_shape(made)], [depthwise_res_dtype], use, tag=word
    )
    return out


OPERATIONS = (
    DslOperation("conv", conv, convolution, "mmad"),
    DslOperation("conv2d", conv),
    DslOperation("conv3d", conv3d, convolution, "mmad"),
    *(
        DslOperation(name, make(name, rank), convolution, "mmad")
        for name, make, rank in (
            ("conv2d_backprop_input", _make_input_gradient, 2),
            ("conv2d_backprop_input_compute", _make_input_gradient, 2),
            ("conv2d_backprop_filter", _make_filter_gradient, 2),
            ("conv2d_backprop_filter_compute", _make_filter_gradient, 2),
            ("conv3d_backprop_input", _make_input_gradient, 3),
            ("conv3d_backprop_input_compute", _make_input_gradient, 3),
            ("conv3d_backprop_filter", _make_filter_gradient, 3),
            ("conv3d_backprop_filter_compute", _make_filter_gradient, 3),
        )
    ),
    DslOperation("depthwise_conv2d", depthwise_conv2d, depthwise_convolution, "mmad"),
    DslOperation("depthwise_conv2d_compute", depthwise_conv2d),
)
