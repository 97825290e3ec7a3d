"""DSL operations that reduce rows by segment; `segment_ids` has the segment id of each row."""

from __future__ import annotations

from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import Array, identity_element
from tbe_impl.dsl.expr import as_expr
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operation import DslOperation, check_scalar, check_tensor, may_equal, with_name
from tbe_impl.dsl.operations.indexing import check_indices, update_rows
from tbe_impl.dsl.tensor import DslCall, Tensor, as_shape, fresh_name, library_stage, shape_text
from tbe_impl.errors import InputError

_SEGMENT_UPDATES = {"sum": "add", "mean": "add", "prod": "mul", "max": "max", "min": "min"}


def _make_segment_reduction(kind: str, formula: str) -> DslOperation:
    name = f"unsorted_segment_{kind}"

    def build(tensor: Tensor, segment_ids: Any, num_segments: Any, init_value: Any = 0) -> Tensor:
        source = check_tensor(name, tensor)
        by_tensor = isinstance(segment_ids, Tensor)
        ids: Any = (
            check_indices(name, segment_ids, "segment_ids")
            if by_tensor
            else tuple(as_shape(segment_ids))
        )
        lead = ids.shape if by_tensor else as_shape([len(ids)])
        if len(lead) > source.ndim or not all(map(may_equal, lead, source.shape)):
            raise InputError(
                f"{name}: every row needs a segment",
                place=str(user_location()),
                expected=f"segment_ids of shape {shape_text(source.shape[:1])}",
                got=shape_text(lead),
            )
        parameters = {
            "num_segments": as_expr(num_segments),
            "init_value": check_scalar(name, init_value, source.dtype, "init_value"),
            **({} if by_tensor else {"segment_ids": ids}),
        }
        use = DslCall(name, (source, ids) if by_tensor else (source,), parameters)
        shape = (as_expr(num_segments), *source.shape[len(lead) :])
        (made,) = library_stage(fresh_name(name), [shape], [source.dtype], use, tag=name)
        return made

    def numpy(
        x: Array, *ids: Array, num_segments: Any, init_value: Any, segment_ids: Any = None
    ) -> Array:
        numbers = ids[0] if ids else np.asarray(segment_ids, np.int64)
        rows = x.reshape(numbers.size, *x.shape[numbers.ndim :])
        numbers, count = numbers.reshape(-1), int(num_segments)
        inside = (numbers >= 0) & (numbers < count)
        start = np.full(
            (count, *rows.shape[1:]),
            identity_element("sum" if kind == "mean" else kind, x.dtype),
            x.dtype,
        )
        chosen = numbers[inside].astype(np.int64)
        found = update_rows(start, chosen, rows[inside], _SEGMENT_UPDATES[kind])
        members = np.bincount(chosen, minlength=count).reshape(
            count, *([1] * (x.ndim - ids[0].ndim if ids else x.ndim - 1))
        )
        if kind == "mean":
            found = (found / np.maximum(members, 1)).astype(x.dtype)
        return np.where(members > 0, found, np.asarray(init_value, x.dtype))

    return DslOperation(
        name,
        with_name(
            build,
            name,
            f"""Computes {formula} of the rows of each segment.

    Args:
        tensor: the source. If `segment_ids` has k axes, the first k axes of the source index
            the rows.
        segment_ids: the segment of each row: integers, as a tensor or a list. Rows with an id
            below 0 or at least `num_segments` are skipped.
        num_segments: number of rows of the result.
        init_value: value of the result for a segment without rows.
    """,
        ),
        numpy,
    )


OPERATIONS = (
    _make_segment_reduction("sum", "the sum"),
    _make_segment_reduction("mean", "the mean"),
    _make_segment_reduction("prod", "the product"),
    _make_segment_reduction("max", "the elementwise maximum (or NaN)"),
    _make_segment_reduction("min", "the elementwise minimum (or NaN)"),
)
