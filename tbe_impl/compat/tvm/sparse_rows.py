"""``tvm.sparse_axis`` and ``tvm.sparse``: rows of a tensor that are written where an index says, the others as they were.

``tvm.compute(var.shape, lambda *i: tvm.sparse(tvm.select(index[k] == i[0], rows(k, *i[1:])), axis=[k]))`` writes over ``var`` on
the device; here it is the scatter whose target is the tensor that has this shape.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NoReturn

from tbe_impl.compat.faults import fault
from tbe_impl.dsl.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    IterVar,
    Range,
    Read,
    Select,
    as_expr,
    reads,
)
from tbe_impl.dsl.indexing import scatter
from tbe_impl.dsl.substitute import substitute
from tbe_impl.dsl.tensor import Tensor, compute, reduce_axis, stages_of


class IsSparse(Exception):
    """The stage whose body is being written writes some of its rows.

    Args:
        value: what a row becomes, behind a condition on the index.
        axis: counts the rows that are written.
    """

    def __init__(self, value: Expr, axis: IterVar):
        super().__init__("sparse")
        self.value, self.axis = value, axis


def sparse_axis(dom: Any, name: str = "k") -> IterVar:
    """An axis over the rows that are written."""
    return reduce_axis(dom, name)


def sparse(source: Any, axis: Any = None) -> NoReturn:
    """Rows where the condition of a ``select`` holds; see the module.

    Raises:
        IsSparse: always; ``tvm.compute`` makes the stage of it.
        OperatorError: there is not one axis made by ``sparse_axis``.
    """
    axes = list(axis) if isinstance(axis, (list, tuple)) else [axis]
    if len(axes) != 1 or not isinstance(axes[0], IterVar):
        raise fault(
            "E90001",
            f"tvm.sparse takes one axis made by tvm.sparse_axis, not {axis!r}",
            detailed_cause="axis",
        )
    raise IsSparse(as_expr(source), axes[0])


def written_rows(shape: Any, fcompute: Callable[..., Any]) -> Tensor:
    """The stage of a body that is `sparse`.

    Raises:
        OperatorError: the condition is no comparison of an index with the first axis, or no input has this shape.
    """
    index = [IterVar(Range(size), f"i{place}", "data") for place, size in enumerate(shape)]
    try:
        fcompute(*index)
        raise AssertionError("the body was sparse before")
    except IsSparse as found:
        body = found
    numbers, value = _parts(body, index)
    rows = _rows(shape, body.axis, value, index)
    owners = [
        tensor
        for op in stages_of([rows, numbers])
        for tensor in op.outputs
        if op.kind == "placeholder" and tensor.shape is shape
    ]
    if len(owners) != 1:
        raise fault(
            "E90001",
            "tvm.sparse writes over the tensor whose shape the stage is made with, and that is not one of the inputs that "
            "the rows are computed from: give tvm.compute the shape as var.shape",
            detailed_cause="shape",
        )
    return scatter(owners[0], numbers, rows)


def _parts(body: IsSparse, index: Sequence[Expr]) -> tuple[Tensor, Expr]:
    """The tensor with the numbers of the rows, and what is written."""
    choice = body.value
    condition = choice.condition if isinstance(choice, Select) else None
    if isinstance(condition, Binary) and condition.op == "eq":
        for number, row in ((condition.a, condition.b), (condition.b, condition.a)):
            number, row = _bare(number), _bare(row)
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


def _bare(value: Expr) -> Expr:
    while isinstance(value, Cast):
        value = value.value
    return value


def _rows(shape: Any, axis: IterVar, value: Expr, index: Sequence[Expr]) -> Tensor:
    """What is written, as a tensor of rows; the one that is read where it is that already."""
    wanted = (axis, *index[1:])
    if isinstance(value, Read) and len(value.indices) == len(wanted):
        same = all(one is other for one, other in zip(value.indices, wanted, strict=True))
        if same and _has_rows(value.tensor, axis):
            return value.tensor
    if not any(True for _ in reads(value)):
        raise fault(
            "E90001",
            f"tvm.sparse writes what no tensor is read for: {value}",
            detailed_cause=str(value),
        )

    def row(*own: Expr) -> Expr:
        return substitute(value, {id(old): new for old, new in zip(wanted, own, strict=True)})

    made: Tensor = compute((axis.extent, *tuple(shape)[1:]), row, "rows")
    return made


def _has_rows(tensor: Tensor, axis: IterVar) -> bool:
    size, count = tensor.shape[0], axis.extent
    return size is count or (
        isinstance(size, Const) and isinstance(count, Const) and size.value == count.value
    )
