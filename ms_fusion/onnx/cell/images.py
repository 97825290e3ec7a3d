"""Emits ONNX convolutions and poolings as calls of MindSpore's primitives."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
from mindspore import Tensor, ops

from custom_ops.core.cell import FusedCell
from custom_ops.operators.conv2d import CONV2D
from ms_fusion.onnx.cell import functions, resizing, windows
from ms_fusion.onnx.cell.operator_use import OperatorUse
from ms_fusion.ops.call import Call
from ms_fusion.ops.onnx_windows import place_windows


def windows_of(use: OperatorUse, spans: Sequence[int]) -> tuple[list[int], list[int], list[int]]:
    """Returns the strides, dilations and pads of the windows of a convolution or pooling.

    The list of pads contains two sizes for each axis: the padding before the axis, and the padding
    after it.
    """
    call = Call(use.node, (), use.result(), np.dtype(np.float32))
    is_fitted = use.attr("auto_pad") in ("SAME_UPPER", "SAME_LOWER")
    depends_on_sizes = is_fitted and set(use.integers("strides") or (1,)) != {1}
    where = place_windows(call, spans, use.known_sides() if depends_on_sizes else (1,) * len(spans))
    pads = [one for pair in where.pads for one in pair]
    return list(where.strides), list(where.dilations), pads


def convolution(use: OperatorUse) -> str:
    """Emits a call of `functions.convolution`, which runs a generated kernel or a primitive."""
    channels, _, *spans = use.known_shape(1)
    strides, dilations, pads = windows_of(use, spans)
    groups = int(use.attr("group", 1))
    if len(spans) == 1:
        spans, strides, dilations, pads = [1, *spans], [1, *strides], [1, *dilations], [0, 0, *pads]
    if len(spans) == 2 and use.is_fused and use.value().dtype == "float32" and min(pads) >= 0:
        sizes = {
            "stride": tuple(strides),
            "padding": tuple(pads),
            "dilation": tuple(dilations),
            "groups": groups,
            "lowering": "auto",
        }
        call = FusedCell(CONV2D, sizes)
    elif len(spans) == 2:
        call = ops.Conv2D(
            channels,
            tuple(spans),
            pad_mode="pad",
            pad=tuple(pads),
            stride=tuple(strides),
            dilation=tuple(dilations),
            group=groups,
        )
    else:
        call = ops.Conv3D(
            channels // groups,
            tuple(spans),
            pad_mode="pad",
            pad=tuple(pads),
            stride=tuple(strides),
            dilation=tuple(dilations),
        )
    if len(spans) == 3 and groups > 1:
        bias = f", {use.text(2)}" if use.has(2) else ""
        return (
            f"functions.convolution_in_groups({use.part('conv', call)}, {use.input_texts(0, 1)}, "
            f"{groups}{bias})"
        )
    return f"functions.convolution({use.part('conv', call)}, {use.input_texts(0, 1, 2)})"


def transposed_convolution(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``ConvTranspose``.

    The expression calls `functions.transposed_convolution` with a MindSpore primitive. If no
    primitive supports the operator, the expression calls `windows.transposed_convolution` instead.
    """
    shape = use.known_shape(1)
    spans, groups = shape[2:], int(use.attr("group", 1))
    extra = use.integers("output_padding") or (0,) * len(spans)
    strides, dilations, pads = _transposed_windows(use, spans, extra)
    if len(spans) > 2 or min(pads) < 0:
        sizes = [
            step * (size - 1) + more + (span - 1) * apart + 1 - before - behind
            for size, step, more, span, apart, before, behind in zip(
                use.known_sides(),
                strides,
                extra,
                spans,
                dilations,
                pads[::2],
                pads[1::2],
                strict=True,
            )
        ]
        places, _, _ = windows.table(sizes, spans, strides, dilations, pads, up=False)
        return (
            f"windows.transposed_convolution({use.input_texts(0, 1)}, "
            f"{use.part('places', Tensor(places))}, {tuple(sizes)}, "
            f"{groups}{', ' * use.has(2)}{use.text(2)})"
        )
    more = [
        (span - 1) * apart + 1 + added - before - behind
        for span, apart, added, before, behind in zip(
            spans, dilations, extra, pads[::2], pads[1::2], strict=True
        )
    ]
    if len(spans) == 1:
        spans, strides, dilations, pads, more = (
            (1, *spans),
            [1, *strides],
            [1, *dilations],
            [0, 0, *pads],
            [1, *more],
        )
    call = ops.Conv2DTranspose(
        shape[0],
        tuple(spans),
        pad_mode="pad",
        pad=tuple(pads),
        stride=tuple(strides),
        dilation=tuple(dilations),
        group=groups,
    )
    bias = f", {use.text(2)}" if use.has(2) else ""
    return (
        f"functions.transposed_convolution({use.part('conv', call)}, {use.input_texts(0, 1)}, "
        f"{tuple(strides)}, {tuple(more)}, {shape[1] * groups}{bias})"
    )


def _transposed_windows(
    use: OperatorUse, spans: Sequence[int], extra: Sequence[int]
) -> tuple[list[int], list[int], list[int]]:
    """Returns the strides, dilations and pads of a transposed convolution.

    `spans` contains the sizes of a window, and `extra` is ONNX's ``output_padding``. If
    ``output_shape`` or ``auto_pad`` is given, the pads are computed from this attribute.
    """
    mode, told = use.attr("auto_pad", "NOTSET"), use.integers("output_shape")
    if told is None and mode in ("NOTSET", "", "VALID"):
        return windows_of(use, spans)
    rank = len(spans)
    strides, dilations = (
        list(use.integers(name) or (1,) * rank) for name in ("strides", "dilations")
    )
    sizes = use.known_sides()
    wanted = (
        told[-rank:] if told else [size * step for size, step in zip(sizes, strides, strict=True)]
    )
    pads = []
    for size, new, step, apart, span, more in zip(
        sizes, wanted, strides, dilations, spans, extra, strict=True
    ):
        total = step * (size - 1) + more + (span - 1) * apart + 1 - new
        less, rest = total // 2, total - total // 2
        pads += [less, rest] if mode == "SAME_UPPER" else [rest, less]
    return strides, dilations, pads


def _primitive_windows(
    use: OperatorUse,
) -> tuple[tuple[int, ...], tuple[int, ...], tuple[int, ...]] | None:
    """Returns (window sizes, strides, pads), or None if no MindSpore primitive supports them."""
    spans = use.integers("kernel_shape") or ()
    strides, dilations, pads = windows_of(use, spans)
    if (
        len(spans) != 2
        or use.attr("ceil_mode", 0)
        or set(dilations) != {1}
        or _result_count(use) > 1
    ):
        return None
    return spans, tuple(strides), tuple(pads)


def _result_count(use: OperatorUse) -> int:
    return len([name for name in use.node.outputs if name])


def _table(use: OperatorUse) -> tuple[np.ndarray, np.ndarray, tuple[int, ...]]:
    spans = use.integers("kernel_shape") or ()
    strides, dilations, pads = windows_of(use, spans)
    return windows.table(
        use.known_sides(), spans, strides, dilations, pads, up=bool(use.attr("ceil_mode", 0))
    )


def max_pool(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``MaxPool``.

    The expression calls a MindSpore primitive. If no primitive supports the operator, the
    expression gathers the elements of each window instead.
    """
    dtype = use.value().dtype
    lowest = functions.LOWEST_VALUES.get(dtype, functions.LOWEST_VALUES["float32"])
    known = _primitive_windows(use) if dtype.startswith("float") else None
    if known is None:
        places, _, counts = _table(use)
        return windows.max_pool(use, places, counts, lowest)
    spans, strides, pads = known
    call = ops.MaxPool(kernel_size=spans, strides=strides, pad_mode="valid")
    return f"functions.max_pool({use.part('pool', call)}, {use.text()}, {pads}, {lowest})"


def average_pool(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``AveragePool``.

    The expression calls a MindSpore primitive. If no primitive supports the operator, the
    expression gathers the elements of each window instead.
    """
    known = _primitive_windows(use)
    if known is None:
        return windows.average_pool(use, *_table(use))
    spans, strides, pads = known
    call = ops.AvgPool(kernel_size=spans, strides=strides, pad_mode="valid")
    return (
        f"functions.average_pool({use.part('pool', call)}, {use.text()}, {pads}, "
        f"{bool(use.attr('count_include_pad', 0))})"
    )


def power_pool(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``LpPool``."""
    places, _, counts = _table(use)
    return windows.power_pool(use, places, counts)


def col2im(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``Col2Im``."""
    sizes, spans = use.integers("image_shape", 1) or (), use.integers("block_shape", 2) or ()
    places, _, _ = windows.table(sizes, spans, *windows_of(use, spans), up=False)
    return f"windows.col2im({use.text()}, {use.part('places', Tensor(places))}, {sizes})"


def max_unpool(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``MaxUnpool``."""
    spans = use.integers("kernel_shape") or ()
    strides, _, pads = windows_of(use, spans)
    steps = [
        (step, span - before - behind)
        for step, span, before, behind in zip(strides, spans, pads[::2], pads[1::2], strict=True)
    ]
    wanted = use.integers("output_shape", 2)
    return f"windows.max_unpool({use.input_texts(0, 1)}, {steps}, {wanted and wanted[2:]})"


def resize(use: OperatorUse) -> str:
    """Emits ONNX ``Resize`` for nearest-neighbour upsampling by integer factors.

    The module `resizing` emits all other cases.
    """
    if use.version < resizing.SEPARATE_SIZES_OPSET or use.attr("axes"):
        return resizing.resize(use)
    factors = use.numbers("scales", 2) or _ratios(use)
    mode, place, nearest = (
        use.attr(*one)
        for one in (
            ("mode", "nearest"),
            ("coordinate_transformation_mode", "half_pixel"),
            ("nearest_mode", "round_prefer_floor"),
        )
    )
    known = (place, nearest) in (
        ("asymmetric", "floor"),
        ("half_pixel", "round_prefer_floor"),
        ("half_pixel", "round_prefer_ceil"),
    )
    if (
        mode != "nearest"
        or not known
        or use.rank() != 4
        or not factors
        or tuple(factors[:2]) != (1, 1)
        or any(one % 1 for one in factors)
    ):
        return resizing.resize(use)
    return f"functions.repeat_places({use.text()}, {tuple(map(int, factors[2:]))})"


def _ratios(use: OperatorUse) -> tuple[float, ...] | None:
    """Returns, for each axis, the ratio of the target size to the size of the image.

    Returns None if the target sizes are not constant, or if a size of the image is unknown.
    """
    shape = use.value().shape
    if use.is_computed(3) or not all(isinstance(old, int) and old > 0 for old in shape):
        return None
    return tuple(
        new / int(old) for new, old in zip(use.integers("sizes", 3) or (), shape, strict=True)
    )
