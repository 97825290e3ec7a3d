"""Translates in-place row updates (``tvm.sparse_axis`` with ``tvm.sparse``) to a scatter.

On the device, ``tvm.compute(var.shape, lambda *i: tvm.sparse(tvm.select(index[k] == i[0], rows(k,
*i[1:])), axis=[k]))`` overwrites rows of ``var``. Here this stage becomes a scatter. The target of
the scatter is an input tensor: ``tvm.compute`` got the attribute ``shape`` of this tensor, as the
same object.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tbe_impl.compat.operator_errors import fault
from tbe_impl.dsl.expr import (
    Binary,
    Const,
    Expr,
    IterVar,
    Range,
    Read,
    Select,
    as_expr,
    reads,
    strip_casts,
)
from tbe_impl.dsl.operations.indexing import scatter
from tbe_impl.dsl.substitute import substitute
from tbe_impl.dsl.tensor import Tensor, compute, reduce_axis, stages_of


class SparseBody(Exception):
    """Raised while the body of a stage is evaluated; marks the stage as a sparse row update.

    Args:
        value: a ``select`` that has a condition on the row index and selects the new row.
        axis: the axis that iterates over the updated rows.
    """

    def __init__(self, value: Expr, axis: IterVar):
        super().__init__("sparse")
        self.value, self.axis = value, axis


def sparse_axis(dom: Any, name: str = "k") -> IterVar:
    """Returns an axis over the updated rows."""
    return reduce_axis(dom, name)


def sparse(source: Any, axis: Any = None) -> NoReturn:
    """Updates the rows for which the condition of a ``select`` holds.

    Raises:
        SparseBody: always; ``tvm.compute`` creates the stage from this exception.
        OperatorError: `axis` is not a list of exactly one axis that ``sparse_axis`` created.
    """
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    if len(axes) != 1 or not isinstance(axes[0], IterVar):
        raise fault(
            "E90001",
            f"tvm.sparse takes one axis made by tvm.sparse_axis, not {axis!r}",
            detailed_cause="axis",
        )
    raise SparseBody(as_expr(source), axes[0])


def scatter_rows(shape: Any, fcompute: Callable[..., Any]) -> Tensor:
    """Creates a stage with the body function `fcompute`, which contains a call of `sparse`.

    Raises:
        OperatorError: the condition that `fcompute` passes to `sparse` does not compare an index
            with the first axis. The error is also raised if `shape` is the shape object of no
            input, or of several inputs.
    """
    index = [IterVar(Range(size), f"i{place}", "data") for place, size in enumerate(shape)]
    try:
        fcompute(*index)
        raise AssertionError("the body was sparse before")
    except SparseBody as found:
        body = found
    numbers, value = _match_row_update(body, index)
    rows = _row_tensor(shape, body.axis, value, index)
    owners = [
        tensor
        for op in stages_of([rows, numbers])
        for tensor in op.outputs
        if op.kind == "placeholder" and tensor.shape is shape
    ]
    if len(owners) != 1:
        raise fault(
            "E90001",
            "tvm.sparse updates the tensor whose shape object is passed to tvm.compute, which must "
            "be an input of the rows: pass the shape to tvm.compute as var.shape",
            detailed_cause="shape",
        )
    return scatter(owners[0], numbers, rows)


def _match_row_update(body: SparseBody, index: Sequence[Expr]) -> tuple[Tensor, Expr]:
    """Parses the body of a row update.

    Returns a pair: the tensor with the indices of the updated rows, and the expression of a new
    row.
    """
    choice = body.value
    condition = choice.condition if isinstance(choice, Select) else None
    if isinstance(condition, Binary) and condition.op == "eq":
        for number, row in ((condition.a, condition.b), (condition.b, condition.a)):
            number, row = strip_casts(number), strip_casts(row)
            if (
                row is index[0]
                and isinstance(number, Read)
                and len(number.indices) == 1
                and number.indices[0] is body.axis
            ):
                assert isinstance(choice, Select)
                return number.tensor, choice.a
    raise fault(
        "E90001",
        f"tvm.sparse takes tvm.select(index[k] == i[0], row), but got {choice}",
        detailed_cause=str(choice),
    )


def _row_tensor(shape: Any, axis: IterVar, value: Expr, index: Sequence[Expr]) -> Tensor:
    """Returns a tensor that contains the new rows.

    If the expression `value` reads exactly the rows of an existing tensor, the function returns
    this tensor. Otherwise the function creates a stage that computes the rows.
    """
    wanted = (axis, *index[1:])
    if isinstance(value, Read) and len(value.indices) == len(wanted):
        same = all(one is other for one, other in zip(value.indices, wanted, strict=True))
        if same and _has_rows(value.tensor, axis):
            return value.tensor
    if not any(True for _ in reads(value)):
        raise fault(
            "E90001",
            f"tvm.sparse takes rows that read a tensor, but got {value}",
            detailed_cause=str(value),
        )

    def row(*own: Expr) -> Expr:
        return substitute(value, {id(old): new for old, new in zip(wanted, own, strict=True)})

    return compute((axis.extent, *tuple(shape)[1:]), row, "rows")


def _has_rows(tensor: Tensor, axis: IterVar) -> bool:
    size, count = tensor.shape[0], axis.extent
    return size is count or (
        isinstance(size, Const) and isinstance(count, Const) and size.value == count.value
    )
