"""Lowers convolutions and window reductions on unblocked layouts to im2col and one product.

    y[n, g, o, p] = Σ_ck weight[g, o, ck] · columns[n, g, ck, p]
    columns[n, g, c, k…, p…] = x[n, g·C + c, p·stride + k·dilation − before]

n is the batch index, g the group, o the output channel, and c one of the C input channels of a
group. k is the position in the filter, p the position in the result, and ck the pair of c and k.
*before* is the padding in front.

For window reductions, a reduction of the columns replaces the matrix product. CANN's own
convolutions take images and filters in block layouts. These expansions take unblocked layouts, so
no layout conversion is needed.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import Expr, as_expr, const, make_binary, select
from tbe_impl.dsl.operations.cube import matmul
from tbe_impl.dsl.operations.ext_arrays import reshape
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.operations.shaping import transpose
from tbe_impl.dsl.sizes import product
from tbe_impl.dsl.tensor import Operation, Tensor, compute, fresh_name

_REDUCTIONS = {"MAX": "reduce_max", "MIN": "reduce_min", "SUM": "reduce_sum"}
"""Maps the kind of a window reduction to its DSL operation."""


def _conjunction(parts: Sequence[Expr]) -> Expr | None:
    found: Expr | None = None
    for one in parts:
        found = one if found is None else make_binary("and", found, one)
    return found


def _unfold_windows(
    tensor: Tensor,
    shape: Sequence[Any],
    place: Callable[..., tuple[list[Expr], list[Expr]]],
    outside: Any,
) -> Tensor:
    """Gathers the elements of all windows (im2col), with `outside` as the padding value.

    Args:
        tensor: the tensor over which the windows slide.
        shape: shape of the result.
        place: a function that maps an index of the result to a pair: an index of `tensor`, and the
            bounds checks of this index.
        outside: value of elements whose bounds checks fail.
    """

    def pick(*index: Expr) -> Expr:
        at, holds = place(index)
        inside = _conjunction(holds)
        return (
            tensor(*at)
            if inside is None
            else select(inside, tensor(*at), const(outside, tensor.dtype))
        )

    return compute(list(shape), pick, fresh_name("columns"))


def _multiply_filters(
    filters: Tensor, columns: Tensor, groups: int, shape: Sequence[Any], op: Operation, kept: int
) -> Tensor:
    """Multiplies the filter matrix by the columns and reshapes the product to `shape`.

    The first axis of `columns` is the batch axis. If there are several groups, the next axis is the
    group axis. The next `kept` axes are the channel and the position in a filter; the matrix
    product sums over these axes. The last axes are the axes of the result positions.
    """
    first = 2 if groups > 1 else 1
    sizes = columns.shape
    depth, places = product(sizes[first : first + kept]), product(sizes[first + kept :])
    flat = reshape(columns, [*sizes[:first], depth, places])
    made = matmul(filters, flat, dst_dtype=op.dtype)
    return reshape(made, list(shape))


def _expand_forward(op: Operation) -> Tensor | None:
    use = op.dsl_call
    assert use is not None
    told = use.parameters
    x, weight = use.inputs[:2]
    groups, spans = told["groups"], told["filter_shape"][2:]
    rank, each = len(spans), told["filter_shape"][1]
    places = op.outputs[0].shape[2:]
    lead = 2 if groups > 1 else 1

    def place(index: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        channel = index[1] * each + index[2] if groups > 1 else index[1]
        taps, at = index[lead + 1 : lead + 1 + rank], index[lead + 1 + rank :]
        found, holds = [index[0], channel], []
        for tap, one, step, spread, (before, after), size in zip(
            taps, at, told["strides"], told["dilations"], told["pads"], x.shape[2:], strict=True
        ):
            where = one * step + tap * spread - before
            found.append(where)
            holds += [where >= 0] if before else []
            holds += [where < size] if after else []
        return found, holds

    front = [x.shape[0], const(groups)] if groups > 1 else [x.shape[0]]
    columns = _unfold_windows(x, [*front, const(each), *map(as_expr, spans), *places], place, 0)
    outer = told["filter_shape"][0] // groups
    matrix = [const(outer), product(weight.shape[1:])]
    filters = reshape(weight, [const(groups), *matrix] if groups > 1 else matrix)
    return _multiply_filters(filters, columns, groups, op.outputs[0].shape, op, 1 + rank)


def _expand_input_gradient(op: Operation) -> Tensor | None:
    """Lowers the gradient of a convolution with respect to its input.

    For each input element, the lowering gathers the gradients of the outputs that read the element,
    and multiplies these gradients by the filters.
    """
    use = op.dsl_call
    assert use is not None
    told = use.parameters
    given, weight = use.inputs[:2]
    groups, (outer, each, *spans) = told["groups"], told["filter_shape"]
    rank, part, lead = len(spans), outer // groups, 2 if groups > 1 else 1

    def place(index: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        channel = index[1] * part + index[2] if groups > 1 else index[1]
        taps, at = index[lead + 1 : lead + 1 + rank], index[lead + 1 + rank :]
        found, holds = [index[0], channel], []
        for tap, one, step, spread, (before, _), size in zip(
            taps, at, told["strides"], told["dilations"], told["pads"], given.shape[2:], strict=True
        ):
            where = one + before - tap * spread
            holds += [where >= 0]
            if step > 1:
                holds += [make_binary("eq", make_binary("floormod", where, const(step)), const(0))]
                where = make_binary("floordiv", where, const(step))
            holds += [where < size]
            found.append(where)
        return found, holds

    front = [given.shape[0], const(groups)] if groups > 1 else [given.shape[0]]
    columns = _unfold_windows(
        given, [*front, const(part), *map(as_expr, spans), *op.outputs[0].shape[2:]], place, 0
    )
    taps = product([const(span) for span in spans])
    apart = reshape(weight, [const(groups), const(part), const(each), taps])
    matrix = [const(each), const(part) * taps]
    filters = reshape(
        transpose(apart, (0, 2, 1, 3)), [const(groups), *matrix] if groups > 1 else matrix
    )
    return _multiply_filters(filters, columns, groups, op.outputs[0].shape, op, 1 + rank)


def _expand_convolution(op: Operation) -> Tensor | None:
    use = op.dsl_call
    assert use is not None
    told = use.parameters
    if any(told["blocked"]) or told.get("offset") or len(use.inputs) > 2:
        return None
    return {"forward": _expand_forward, "input": _expand_input_gradient}.get(
        told["kind"], lambda op: None
    )(op)


def _identity_value(kind: str, dtype: str) -> Any:
    """Returns the identity element of a window reduction; it serves as padding value."""
    if kind == "SUM":
        return 0
    if is_float(dtype):
        return -math.inf if kind == "MAX" else math.inf
    limits = np.iinfo(dtype)
    return int(limits.min if kind == "MAX" else limits.max)


def _expand_windows(op: Operation) -> Tensor | None:
    use = op.dsl_call
    assert use is not None
    told = use.parameters
    if told["kind"] not in _REDUCTIONS:
        return None
    (x,) = use.inputs
    axes, rank = told["axes"], x.ndim
    steps = list(
        zip(
            axes,
            told["strides"],
            told["dilations"],
            told["starts"],
            told["counts"],
            told["spans"],
            strict=True,
        )
    )

    def place(index: Sequence[Expr]) -> tuple[list[Expr], list[Expr]]:
        found, holds = list(index[:rank]), []
        for number, (axis, step, spread, start, count, span) in enumerate(steps):
            where = index[axis] * step + index[rank + number] * spread - start
            found[axis] = where
            last = (count - 1) * step + (span - 1) * spread - start
            size = x.shape[axis]
            holds += [where >= 0] if start else []
            # no upper bounds check if the last window ends inside the tensor
            holds += (
                []
                if isinstance(last, int) and getattr(size, "value", -1) > last
                else [where < size]
            )
        return found, holds

    shape = [*op.outputs[0].shape, *map(as_expr, told["spans"])]
    columns = _unfold_windows(x, shape, place, _identity_value(told["kind"], x.dtype))
    return OPERATIONS[_REDUCTIONS[told["kind"]]](
        columns, list(range(rank, rank + len(axes))), False
    )


WINDOW_EXPANSIONS: Mapping[str, Callable[[Operation], Tensor | None]] = {
    "conv": _expand_convolution,
    "conv3d": _expand_convolution,
    "conv2d_backprop_input": _expand_convolution,
    "reduce_window": _expand_windows,
}
"""Maps a DSL operation's name to its expansion; an expansion may return None (unsupported)."""
