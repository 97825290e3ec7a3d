"""DSL operations over sliding windows: reduce_window, pooling and dilation.

This module exceeds 500 lines because the window operations and their helpers belong together.
"""

from __future__ import annotations

import itertools
from collections.abc import Sequence
from typing import Any

from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import (
    Const,
    Expr,
    IterVar,
    Range,
    Reduce,
    as_expr,
    call,
    cast,
    const,
    make_binary,
    select,
)
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operation import DslOperation, check_scalar, check_tensor
from tbe_impl.dsl.sizes import check_axis
from tbe_impl.dsl.tensor import DslCall, Tensor, compute, fresh_name
from tbe_impl.errors import InputError

_REDUCTION_KINDS = {
    "MAX": "max",
    "GMP": "max",
    "MIN": "min",
    "SUM": "sum",
    "AVG": "sum",
    "GAP": "sum",
}


def output_size(size: Any, span: Any, stride: Any, before: Any, after: Any, *, ceil: bool) -> Any:
    """Returns the number of windows of length `span` along an axis of length `size`.

    The number is rounded up if `ceil` is true, and down otherwise. Rounding up does not count a
    window that would start in the padding at the end.
    """
    free = size + before + after - span
    steps = (free + stride - 1) // stride if ceil else free // stride
    count = steps + 1
    if ceil and all(isinstance(item, int) for item in (size, stride, before, count)):
        return count - 1 if (count - 1) * stride >= size + before else count
    return count


def same_padding(size: Any, span: Any, stride: Any) -> tuple[Any, Any, Any]:
    """Computes TensorFlow's SAME padding of an axis.

    Returns:
        A tuple: the padding before the axis, the padding after the axis, and the number of windows.
    """
    count = (size + stride - 1) // stride
    lacking = (count - 1) * stride + span - size
    needed = max(lacking, 0) if isinstance(lacking, int) else make_binary("max", lacking, const(0))
    return needed // 2, needed - needed // 2, count


def _check_kind(word: str, kind: Any, argument: str) -> str:
    text = str(kind).upper()
    if text not in _REDUCTION_KINDS:
        raise InputError(
            f"{word}: unknown {argument}",
            place=str(user_location()),
            expected=" or ".join(_REDUCTION_KINDS),
            got=repr(kind),
        )
    return text


def _as_number(value: Any) -> Any:
    return value.value if isinstance(value, Const) else value


class _SlidingWindow:
    """Maps an index of the output and a position in the window to an index of the input tensor."""

    def __init__(
        self,
        tensor: Tensor,
        axes: Sequence[int],
        spans: Sequence[Any],
        strides: Sequence[Any],
        dilations: Sequence[Any],
        starts: Sequence[Any],
    ):
        self.tensor, self.axes = tensor, axes
        self.steps = list(zip(strides, dilations, starts, strict=True))
        self.over = [
            IterVar(Range(span), f"w{axis}", "reduce")
            for axis, span in zip(axes, spans, strict=True)
        ]

    def place(self, index: Sequence[Expr]) -> tuple[list[Expr], Expr | None]:
        """Returns the tensor index of a window element, and a bounds check of this index."""
        at, inside = list(index), None
        for axis, over, (stride, dilation, start) in zip(
            self.axes, self.over, self.steps, strict=True
        ):
            position = index[axis] * stride + over * dilation - start
            at[axis] = position
            holds = make_binary("and", position >= 0, position < self.tensor.shape[axis])
            inside = holds if inside is None else make_binary("and", inside, holds)
        return at, inside


def _extremum_positions(made: Tensor, slide: _SlidingWindow) -> Tensor:
    """Finds the position of the maximum or minimum of each window.

    `made` contains the maximum or minimum of each window. The windows slide along some of the axes;
    a position is a flat index over these axes.

    If several elements of a window equal the extreme, the position of the first of these elements
    is returned. In a window that contains NaN, the position of the first NaN is returned.
    """
    tensor = slide.tensor

    def body(*index: Expr) -> Expr:
        at, inside = slide.place(index)
        flat: Any = 0
        for axis in slide.axes:
            flat = flat * tensor.shape[axis] + at[axis]
        hit = make_binary("eq", tensor(*at), made(*index))
        if is_float(tensor.dtype):
            hit = make_binary("or", hit, call("isnan", tensor(*at), dtype="bool"))
        holds = hit if inside is None else make_binary("and", inside, hit)
        return Reduce("min", cast("int32", flat), slide.over, holds)

    return compute(made.shape, body, fresh_name("positions"), "reduce_window_positions")


def find_positions(
    tensor: Tensor,
    made: Tensor,
    axes: Sequence[int],
    spans: Sequence[Any],
    strides: Sequence[Any],
    dilations: Sequence[Any],
    starts: Sequence[Any],
) -> Tensor:
    """Finds, in each window of `tensor`, the first element that is NaN or equals a given value.

    `made` contains this value for each window, usually the maximum or minimum of the window.

    Returns:
        An int32 tensor of the shape of `made`: the position of the element that was found in each
        window. The windows slide along some of the axes. A position is a flat index over these axes
        of the unpadded tensor.
    """
    return _extremum_positions(
        made, _SlidingWindow(tensor, axes, spans, strides, dilations, starts)
    )


def window_reduction_stage(
    word: str,
    tensor: Tensor,
    kind: str,
    axes: Sequence[int],
    spans: Sequence[Any],
    strides: Sequence[Any],
    dilations: Sequence[Any],
    starts: Sequence[Any],
    counts: Sequence[Any],
) -> Tensor:
    """Creates the stage that reduces every window; padding is left out of the reduction."""
    slide = _SlidingWindow(tensor, axes, spans, strides, dilations, starts)
    shape = list(tensor.shape)
    for axis, count in zip(axes, counts, strict=True):
        shape[axis] = as_expr(count)

    def body(*index: Expr) -> Expr:
        at, inside = slide.place(index)
        return Reduce(_REDUCTION_KINDS[kind], tensor(*at), slide.over, inside)

    parameters = {
        "kind": kind,
        "axes": tuple(axes),
        "spans": tuple(spans),
        "strides": tuple(strides),
        "dilations": tuple(dilations),
        "starts": tuple(starts),
        "counts": tuple(counts),
    }
    return compute(
        shape,
        body,
        fresh_name(word),
        f"reduce_window_{_REDUCTION_KINDS[kind]}",
        word=DslCall("reduce_window", (tensor,), parameters),
    )


def reduce_window(
    raw_tensor: Tensor,
    computation: str,
    window_axes: Any,
    window_dimensions: Any,
    window_strides: Any,
    window_dilations: Any = None,
    padding_mode: str = "VALID",
    padding_dimensions: Any = None,
    rounding_mode: str = "FLOOR",
    return_argmax: bool = False,
) -> Any:
    """Reduces every window of a tensor.

    Args:
        raw_tensor: any tensor.
        computation: ``MAX``, ``MIN``, ``SUM`` or ``AVG``. ``GMP`` (max) and ``GAP`` (mean) reduce
            one window that covers the window axes completely.
        window_axes: the axes along which the windows slide.
        window_dimensions, window_strides: one number per window axis; optional for ``GMP`` and
            ``GAP``.
        window_dilations: one number per window axis; default 1.
        padding_mode: ``SAME``, ``VALID``, or ``CALCULATED`` with `padding_dimensions`.
        padding_dimensions: padding before and after each window axis: a list of pairs, a flat list
            with two numbers per axis, or a list with one number per axis.
        rounding_mode: ``FLOOR`` or ``CEIL``, the rounding of the number of windows; used if
            `padding_mode` is ``CALCULATED``.
        return_argmax: whether to return also the position of each maximum or minimum; permitted for
            ``MAX`` and ``MIN`` only.

    Returns:
        The reduced tensor. If `return_argmax` is true, a list with the reduced tensor and an int32
        tensor of positions. A position is a flat index over the window axes of the unpadded tensor.
    """
    tensor = check_tensor("reduce_window", raw_tensor)
    kind = _check_kind("reduce_window", computation, "computation")
    axes = [check_axis("reduce_window", tensor, axis, "window_axes") for axis in window_axes]
    if return_argmax and kind not in ("MAX", "MIN"):
        raise InputError(
            "reduce_window gives positions of largest and smallest elements",
            place=str(user_location()),
            expected="MAX or MIN",
            got=kind,
        )
    pads = _padding_pairs(padding_dimensions, len(axes))
    every = len(axes)
    for name, given in (
        ("window_dimensions", window_dimensions),
        ("window_strides", window_strides),
    ):
        if not given and axes and kind not in ("GMP", "GAP"):
            raise InputError(
                f"reduce_window: {name} are missing",
                place=str(user_location()),
                expected=f"{every} numbers, one for each window axis",
                got=repr(given),
            )
    return _pool(
        "reduce_window",
        tensor,
        kind,
        axes,
        window_dimensions or [1] * every,
        window_strides or [1] * every,
        window_dilations or [1] * every,
        str(padding_mode).upper(),
        pads,
        ceil=str(rounding_mode).upper() == "CEIL",
        positions=return_argmax,
    )


def _padding_pairs(given: Any, count: int) -> list[tuple[Any, Any]]:
    if not given:
        return [(0, 0)] * count
    flat = list(itertools.chain(*given)) if isinstance(given[0], (list, tuple)) else list(given)
    if len(flat) == count:
        return [(item, item) for item in flat]
    return [(flat[2 * k], flat[2 * k + 1]) for k in range(count)]


def _pool(
    word: str,
    tensor: Tensor,
    kind: str,
    axes: Sequence[int],
    spans: Sequence[Any],
    strides: Sequence[Any],
    dilations: Sequence[Any],
    mode: str,
    pads: Sequence[tuple[Any, Any]],
    *,
    ceil: bool,
    with_padding: bool = False,
    positions: bool = False,
) -> Any:
    if mode not in ("SAME", "VALID", "CALCULATED"):
        raise InputError(
            f"{word}: unknown padding mode",
            place=str(user_location()),
            expected="SAME, VALID or CALCULATED",
            got=repr(mode),
        )
    sizes = [_as_number(tensor.shape[axis]) for axis in axes]
    if kind in ("GMP", "GAP"):
        spans, strides, dilations, mode = sizes, [1] * len(axes), [1] * len(axes), "VALID"
    spans, strides, dilations = (
        [_as_number(item) for item in group] for group in (spans, strides, dilations)
    )
    starts, counts, ends = [], [], []
    for size, span, stride, dilation, (before, after) in zip(
        sizes, spans, strides, dilations, pads, strict=True
    ):
        reach = (span - 1) * dilation + 1
        if mode == "SAME":
            before, after, count = same_padding(size, reach, stride)
        else:
            before, after = (0, 0) if mode == "VALID" else (before, after)
            count = output_size(
                size, reach, stride, before, after, ceil=ceil and mode == "CALCULATED"
            )
        if isinstance(count, int) and count < 1:
            raise InputError(
                f"{word}: the window does not fit",
                place=str(user_location()),
                expected=f"at most {size}",
                got=str(reach),
            )
        starts.append(before)
        counts.append(count)
        ends.append(size + after)
    made = window_reduction_stage(
        word, tensor, kind, axes, spans, strides, dilations, starts, counts
    )
    if positions:
        return [
            made,
            _extremum_positions(
                made, _SlidingWindow(tensor, axes, spans, strides, dilations, starts)
            ),
        ]
    if kind not in ("AVG", "GAP"):
        return made
    return _divide_by_window_size(
        tensor,
        made,
        axes,
        spans,
        strides,
        dilations,
        starts,
        ends if with_padding else sizes,
        with_padding,
    )


def _divide_by_window_size(
    tensor: Tensor,
    total: Tensor,
    axes: Sequence[int],
    spans: Sequence[Any],
    strides: Sequence[Any],
    dilations: Sequence[Any],
    starts: Sequence[Any],
    ends: Sequence[Any],
    with_padding: bool,
) -> Tensor:
    """Divides the sum of each window by the number of window elements inside the tensor.

    If `with_padding` is true, the elements in the padding are counted too.
    """
    wide = tensor.dtype if is_float(tensor.dtype) else "float32"

    def body(*index: Expr) -> Expr:
        count: Any = 1
        for place, axis in enumerate(axes):
            first = index[axis] * strides[place] - starts[place]
            step, more = dilations[place], dilations[place] - 1
            steps = make_binary("floordiv", ends[place] - first + more, as_expr(step))
            inside = make_binary("min", steps, as_expr(spans[place]))
            if not with_padding:
                outside = make_binary("floordiv", more - first, as_expr(step))
                inside = inside - make_binary("max", outside, const(0))
            count = inside * count
        return cast(tensor.dtype, cast(wide, total(*index)) / cast(wide, count))

    return compute(total.shape, body, fresh_name("average"), "pooling_average")


def pooling2d(
    tensor_in: Tensor,
    window: Any,
    stride: Any,
    pooling_mode: str,
    padding_mode: str = "SAME",
    pad: Any = (0, 0, 0, 0),
    dilation: Any = (1, 1),
    data_mode: int = 1,
    ceil_mode: int = 0,
    fusion_params: Any = None,
    impl_mode: str = "high_performance",
) -> Tensor:
    """Computes the maximum or mean of every window over height and width.

    Args:
        tensor_in: tensor in NC1HWC0. A tensor with four axes is in NCHW.
        window, stride, dilation: a pair each, for height and width.
        pooling_mode: ``MAX`` or ``AVG``. ``GMP`` (max) and ``GAP`` (mean) reduce the whole plane.
        padding_mode: ``SAME`` or ``VALID``; used if `data_mode` is 1.
        pad: above, below, left, right; used if `data_mode` is 0.
        data_mode: 1 for TensorFlow, where a mean excludes the padding. 0 for Caffe, where a mean
            includes the padding.
        ceil_mode: rounding of the number of windows: 0 rounds up, 1 rounds down. Used if
            `data_mode` is 0.
    """
    tensor = check_tensor("pooling2d", tensor_in, "tensor_in")
    if tensor.ndim not in (4, 5):
        raise InputError(
            "pooling2d takes NC1HWC0 or NCHW",
            place=str(user_location()),
            expected="five axes or four",
            got=f"{tensor.ndim} ({tensor.name})",
        )
    kind = _check_kind("pooling2d", pooling_mode, "pooling_mode")
    caffe = int(data_mode) == 0
    mode = "CALCULATED" if caffe else str(padding_mode).upper()
    return _pool(
        "pooling2d",
        tensor,
        kind,
        (2, 3),
        list(window),
        list(stride),
        list(dilation),
        mode,
        _padding_pairs(pad, 2),
        ceil=caffe and int(ceil_mode) == 0,
        with_padding=caffe,
    )


def pooling3d(
    tensor_in: Tensor,
    window: Any,
    stride: Any,
    padding_mode: str = "SAME",
    pads: Any = (0, 0, 0, 0, 0, 0),
    pooling_mode: str = "MAX",
    dilation: Any = (1, 1, 1),
    ceil_mode: int = 0,
) -> Tensor:
    """Computes the maximum or mean of every window over depth, height and width.

    Args:
        tensor_in: tensor in NDC1HWC0. A tensor with five axes is in NCDHW.
        window, stride, dilation: three numbers each, for depth, height and width.
        padding_mode: ``SAME``, ``VALID`` or ``CALCULATED`` with `pads`.
        pads: front, back, above, below, left, right.
        pooling_mode: see `pooling2d`.
        ceil_mode: rounding of the number of windows: 0 rounds up, 1 rounds down. Used for
            ``CALCULATED``.
    """
    tensor = check_tensor("pooling3d", tensor_in, "tensor_in")
    if tensor.ndim not in (5, 6):
        raise InputError(
            "pooling3d takes NDC1HWC0 or NCDHW",
            place=str(user_location()),
            expected="six axes or five",
            got=f"{tensor.ndim} ({tensor.name})",
        )
    return _pool(
        "pooling3d",
        tensor,
        _check_kind("pooling3d", pooling_mode, "pooling_mode"),
        (1, 3, 4) if tensor.ndim == 6 else (2, 3, 4),
        list(window),
        list(stride),
        list(dilation),
        str(padding_mode).upper(),
        _padding_pairs(pads, 3),
        ceil=int(ceil_mode) == 0,
    )


def _axis_padding(pads: Any, rank: int) -> list[tuple[Any, Any]]:
    """Converts `pads` to a list with a pair (before, after) for each axis."""
    given = [
        _as_number(item) if not isinstance(item, (list, tuple)) else item for item in pads or ()
    ]
    if len(given) == 4 and not any(isinstance(item, (list, tuple)) for item in given):
        given = [(0, 0)] * (rank - 3) + [given[:2], given[2:], (0, 0)]
    if len(given) not in (0, rank) or not all(
        isinstance(item, (list, tuple)) and len(item) == 2 for item in given
    ):
        raise InputError(
            "pads is neither a pair per axis nor four numbers for an image",
            place=str(user_location()),
            expected=f"{rank} pairs, or 4 numbers",
            got=repr(pads),
        )
    return [(_as_number(a), _as_number(b)) for a, b in given] or [(0, 0)] * rank


def dilation(
    tensor_x: Tensor, dilations: Any, pads: Any = None, padding_value: Any = 0.0
) -> Tensor:
    """Dilates a tensor: spreads the elements apart and pads the result.

    On each axis, adjacent elements become `dilations` steps apart. `padding_value` fills the gaps
    and the border.

    Args:
        tensor_x: any tensor.
        dilations: one number per axis.
        pads: a pair (before, after) per axis. For an image with blocked channels, `pads` may be
            four numbers: above, below, left, right.
        padding_value: a scalar.
    """
    tensor = check_tensor("dilation", tensor_x, "tensor_x")
    steps = [_as_number(item) for item in dilations]
    if len(steps) != tensor.ndim:
        raise InputError(
            "dilation takes one number per axis",
            place=str(user_location()),
            expected=str(tensor.ndim),
            got=str(len(steps)),
        )
    around = _axis_padding(pads, tensor.ndim)
    filler = check_scalar("dilation", padding_value, tensor.dtype, "padding_value")

    def pick(*index: Expr) -> Expr:
        inside: Any = True
        at = []
        for i, size, step, (before, after) in zip(index, tensor.shape, steps, around, strict=True):
            place = i - before
            at.append(make_binary("floordiv", place, as_expr(step)))
            conditions: list[Any] = []
            if not isinstance(step, int) or step != 1:
                conditions.append(
                    make_binary("eq", make_binary("floormod", place, as_expr(step)), const(0))
                )
            conditions += [place >= 0] if before != 0 else []
            conditions += [at[-1] < size] if after != 0 else []
            for holds in conditions:
                inside = holds if inside is True else make_binary("and", inside, holds)
        return select(inside, tensor(*at), filler)

    shape = [
        (size - 1) * step + 1 + before + after
        for size, step, (before, after) in zip(tensor.shape, steps, around, strict=True)
    ]
    use = DslCall("dilation", (tensor,))
    return compute(shape, pick, fresh_name("dilation"), "dilation", word=use)


OPERATIONS = (
    DslOperation("reduce_window", reduce_window),
    DslOperation("pooling2d", pooling2d),
    DslOperation("pooling3d", pooling3d),
    DslOperation("dilation", dilation),
)
