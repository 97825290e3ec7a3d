"""Builds the operations that a schedule adds: memory copies and two-step reductions."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

from tbe_impl.dsl.array_semantics import identity_element
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import Const, Expr, IterVar, Range, Read, Reduce, Select, make_binary, walk
from tbe_impl.dsl.substitute import substitute
from tbe_impl.dsl.tensor import DslCall, Operation, Tensor
from tbe_impl.scheduling.records import Fuse, Split


def replace_body(
    op: Operation,
    name: str,
    axis: Sequence[IterVar],
    body: Sequence[Expr],
    *,
    tag: str = "",
    word: DslCall | None = None,
) -> Operation:
    """Creates an operation with the output shapes of `op` and another body."""
    return Operation(
        op.kind if not body else "compute",
        name,
        [tensor.shape for tensor in op.outputs],
        [expression.dtype for expression in body] or [tensor.dtype for tensor in op.outputs],
        axis=axis,
        body=body,
        tag=tag,
        attrs=op.attrs,
        dsl_call=word,
        location=op.location,
    )


def fresh_axes(tensor: Tensor) -> list[IterVar]:
    """Creates one axis for each dimension of a tensor."""
    return [IterVar(Range(size), f"i{index}") for index, size in enumerate(tensor.shape)]


def make_copy(tensor: Tensor, scope: str) -> Operation:
    """Creates an operation that copies a tensor into a memory."""
    axes = fresh_axes(tensor)
    name = f"{tensor.name}.{scope}"
    return Operation(
        "compute",
        name,
        [tensor.shape],
        [tensor.dtype],
        axis=axes,
        body=[Read(tensor, axes)],
        location=tensor.op.location,
    )


def move_into_scope(op: Operation, scope: str) -> tuple[Operation, Operation]:
    """Splits `op` into a computation in the memory `scope` and a copy back.

    Returns:
        A pair of operations. The first one is the computation and has new axes. The second one is
        the copy to the original memory and has the axes of `op`.
    """
    axes = [IterVar(axis.dom, f"{axis.name}.c", axis.kind) for axis in op.axis]
    values: dict[int, Expr] = {id(old): new for old, new in zip(op.axis, axes, strict=True)}
    name = f"{op.name}.{scope}"
    body = [substitute(expression, values) for expression in op.body]
    computed = replace_body(op, name, axes, body, tag=op.tag, word=op.dsl_call)
    copied = [Read(tensor, op.axis or fresh_axes(tensor)) for tensor in computed.outputs]
    back = Operation(
        "compute",
        op.name,
        [tensor.shape for tensor in op.outputs],
        [read.dtype for read in copied],
        axis=op.axis or [index for index in copied[0].indices if isinstance(index, IterVar)],
        body=copied,
        location=op.location,
    )
    return computed, back


def redirect_inputs(op: Operation, tensors: Mapping[int, Tensor]) -> Operation:
    """Creates a copy of `op` that reads other tensors.

    `tensors` maps the ``id`` of a tensor to its replacement.
    """
    body = [substitute(expression, tensors=tensors) for expression in op.body]
    word = op.dsl_call
    if word is not None:
        inputs = tuple(tensors.get(id(tensor), tensor) for tensor in word.inputs)
        word = DslCall(word.name, inputs, word.parameters)
    return replace_body(op, op.name, op.axis, body, tag=op.tag, word=word)


def values_of_axes(relations: Sequence[Split | Fuse]) -> dict[int, Expr]:
    """Expresses each axis that was split or fused as a function of the loops.

    Returns:
        A dict from the ``id`` of each axis that was split or fused to the value of the axis. The
        value is an expression of loop indices.
    """
    values: dict[int, Expr] = {}
    for relation in reversed(relations):
        if isinstance(relation, Split):
            outer, inner = (values.get(id(axis), axis) for axis in (relation.outer, relation.inner))
            values[id(relation.parent)] = outer * relation.factor + inner
        else:
            fused = values.get(id(relation.fused), relation.fused)
            values[id(relation.outer)] = fused // relation.inner.extent
            values[id(relation.inner)] = fused % relation.inner.extent
    return values


def factor_reduction(
    op: Operation,
    leaves: Sequence[IterVar],
    relations: Sequence[Split | Fuse],
    loop: IterVar,
    position: int,
) -> tuple[Operation, Operation]:
    """Factors a reduction into two steps (``rfactor``).

    Args:
        op: a reduction.
        leaves: the loops of the stage of `op`, outermost first.
        relations: the splits and fusions that created the loops.
        loop: a reduction loop. The first step keeps this loop as a data axis. The second step
            reduces over this axis.
        position: position of the new data axis among the axes of the first step; a negative
            position counts from the end.

    Returns:
        A pair: the operation of the first step, and the operation of the second step. The second
        operation has the axes of `op`.
    """
    values = values_of_axes(relations)
    values = {
        key: value
        for key, value in values.items()
        if any(key == id(axis) for axis in op.reduce_axis)
    }
    axes = [IterVar(axis.dom, axis.name, axis.kind) for axis in op.axis]
    new = IterVar(Range(loop.extent), loop.name, "data")
    renamed: dict[int, Expr] = {id(old): one for old, one in zip(op.axis, axes, strict=True)}
    renamed[id(loop)] = new
    left = [leaf for leaf in leaves if leaf.kind == "reduce" and leaf is not loop]
    inner = [IterVar(Range(leaf.extent), leaf.name, "reduce") for leaf in left]
    renamed.update((id(old), one) for old, one in zip(left, inner, strict=True))
    guard = _guard(op, values, renamed)
    for axis in op.reduce_axis:
        # loops start at 0, so an axis with another start needs an offset
        if axis.dom is not None and not _is_zero(axis.dom.min):
            values[id(axis)] = values.get(id(axis), axis) + axis.dom.min
    place = position % (len(axes) + 1)
    bodies: list[Expr] = []
    for expression in op.body:
        assert isinstance(expression, Reduce)
        source = substitute(substitute(expression.source, values), renamed)
        condition = guard
        if expression.condition is not None:
            kept = substitute(substitute(expression.condition, values), renamed)
            condition = kept if guard is None else make_binary("and", kept, guard)
        if not inner and condition is not None:
            source = Select(
                condition,
                source,
                Const(
                    identity_element(expression.op, dtype_of(expression.dtype).numpy),
                    expression.dtype,
                ),
            )
        bodies.append(Reduce(expression.op, source, inner, condition) if inner else source)
    shape = list(op.outputs[0].shape)
    shape.insert(place, new.extent)
    first = Operation(
        "compute",
        f"{op.name}.rf",
        [tuple(shape)] * len(bodies),
        [body.dtype for body in bodies],
        axis=[*axes[:place], new, *axes[place:]],
        body=bodies,
        tag=op.tag,
        location=op.location,
    )
    over = IterVar(Range(loop.extent), f"{loop.name}.v", "reduce")
    index = [*op.axis[:place], over, *op.axis[place:]]
    second = [
        Reduce(old.op, Read(tensor, index), [over])
        for old, tensor in zip(op.body, first.outputs, strict=True)
        if isinstance(old, Reduce)
    ]
    return first, replace_body(op, op.name, op.axis, second, tag=op.tag)


def _is_zero(value: Expr) -> bool:
    return isinstance(value, Const) and value.value == 0


def _guard(op: Operation, values: Mapping[int, Expr], renamed: Mapping[int, Expr]) -> Expr | None:
    """Builds the condition that the values of all reduction axes are below their extents.

    The condition is needed for an axis whose split factor does not divide its extent. Returns None
    if every split factor divides the extent.
    """
    guard: Expr | None = None
    for axis in op.reduce_axis:
        value = values.get(id(axis))
        last = None if value is None else _upper_bound(value)
        if value is None or (last is not None and last == _upper_bound(axis)):
            continue
        inside: Expr = make_binary("lt", substitute(value, renamed), axis.extent)
        guard = inside if guard is None else make_binary("and", guard, inside)
    return guard


def _upper_bound(value: Expr) -> int | None:
    """Returns the greatest value of an expression of axes, or None if an extent is unknown."""
    steps = [node for node in walk(value) if isinstance(node, IterVar)]
    if any(not isinstance(axis.extent, Const) for axis in steps):
        return None
    ends: dict[int, Expr] = {id(axis): axis.extent - 1 for axis in steps}
    found = substitute(value, ends)
    return int(found.value) if isinstance(found, Const) else None
