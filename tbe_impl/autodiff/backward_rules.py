"""Defines gradients of operations without a differentiable scalar expression, such as matmul."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tbe_impl.autodiff.access_adjoints import ReadAccess, reshape_to, scatter_add
from tbe_impl.autodiff.stage_adjoints import Adjoint
from tbe_impl.dsl.expr import Expr, IterVar, Range, call, cast, const, make_binary, select
from tbe_impl.dsl.operations.casts import cast_to
from tbe_impl.dsl.operations.cube import matmul
from tbe_impl.dsl.operations.elementwise import OPERATIONS as ARITHMETIC
from tbe_impl.dsl.operations.ext_arrays import OPERATIONS as ARRAYS
from tbe_impl.dsl.operations.indexing import gather
from tbe_impl.dsl.operations.segments import OPERATIONS as SEGMENTS
from tbe_impl.dsl.operations.shaping import transpose
from tbe_impl.dsl.sizes import is_one, product
from tbe_impl.dsl.tensor import DslCall, Operation, Tensor, compute, fresh_name
from tbe_impl.errors import InputError

_OPERATIONS = {word.name: word for word in (*ARITHMETIC, *ARRAYS, *SEGMENTS)}

Rule = Callable[[Operation, Adjoint], "list[tuple[Tensor, Adjoint]]"]


def differentiation_error(op: Operation, why: str = "") -> InputError:
    """Creates the error for an operation without a derivative."""
    name = op.dsl_call.name if op.dsl_call else op.name
    return InputError(
        f"{name} cannot be differentiated{f': {why}' if why else ''}",
        place=str(op.location),
        expected=(
            "arithmetic, functions, data movement, sums, extremes, matrix products, "
            "gather, scatter and segment operations"
        ),
        got=name,
        remedy="Define a backward for this operator",
    )


def _dsl_call(op: Operation) -> DslCall:
    assert op.dsl_call is not None
    return op.dsl_call


def _matmul_backward(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
    """Differentiates c = α·a·b + bias: ā = α·c̄·bᵀ, b̄ = α·aᵀ·c̄.

    The matrix products transpose their operands by flags, without a transpose stage. Gradients are
    summed over broadcast axes.
    """
    use = _dsl_call(op)
    told = use.parameters
    if told["blocked"] or set(told["layouts"]) != {"ND"}:
        raise differentiation_error(op, "its matrices have a block layout")
    if "tensor" in (told["alpha"], told["beta"]):
        raise differentiation_error(op, "its factors are tensors")
    a, b, *bias = use.inputs
    one, other = (_as_matrix(tensor) for tensor in (a, b))
    (turn_a, turn_b), alpha, g = told["turned"], told["alpha"], adjoint.value
    if turn_a:
        first = matmul(other, g, turn_b, True, alpha_num=alpha, dst_dtype=a.dtype)
    else:
        first = matmul(g, other, False, not turn_b, alpha_num=alpha, dst_dtype=a.dtype)
    if other.ndim == 2 and one.ndim > 2 and not turn_a:
        # b has no batch axis: one product over the merged rows of all batches replaces the batched
        # product and the sum over the batch
        one, g = (reshape_to(item, [const(-1), item.shape[-1]]) for item in (one, g))
    if turn_b:
        second = matmul(g, one, True, turn_a, alpha_num=alpha, dst_dtype=b.dtype)
    else:
        second = matmul(one, g, not turn_a, False, alpha_num=alpha, dst_dtype=b.dtype)
    found = [(a, Adjoint(_unbroadcast(first, a))), (b, Adjoint(_unbroadcast(second, b)))]
    if bias:
        row = bias[0].ndim == 1 or is_one(bias[0].shape[-2])
        factor = 1.0 if row and told["beta"] == 0 else told["beta"]
        scaled = adjoint.value if factor == 1 else _OPERATIONS["vmuls"](adjoint.value, factor)
        found.append((bias[0], Adjoint(_unbroadcast(cast_to(scaled, bias[0].dtype), bias[0]))))
    return found


def _as_matrix(tensor: Tensor) -> Tensor:
    return reshape_to(tensor, [const(1), *tensor.shape]) if tensor.ndim == 1 else tensor


def _unbroadcast(found: Tensor, tensor: Tensor) -> Tensor:
    """Sums the gradient `found` over the axes along which `tensor` was broadcast.

    If `tensor` is longer than `found` along an axis, the gradient is padded with 0 at the end.
    """
    axes = tuple(IterVar(Range(size), f"i{at}") for at, size in enumerate(found.shape))
    aligned = axes[len(axes) - tensor.ndim :]
    indices = tuple(
        const(0) if is_one(size) else axis for size, axis in zip(tensor.shape, aligned, strict=True)
    )
    return scatter_add(ReadAccess(tensor, indices, axes), found(*axes))


def _cumsum_backward(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
    use = _dsl_call(op)
    told = use.parameters
    value = _OPERATIONS["cumsum"](
        adjoint.value, told["axis"], told["exclusive"], not told["reverse"]
    )
    return [(use.inputs[0], Adjoint(value))]


def _reshape_backward(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
    source, gate = _dsl_call(op).inputs[0], adjoint.gate
    if gate is None:
        return [(source, Adjoint(reshape_to(adjoint.value, source.shape)))]
    moved = cache(lambda: reshape_to(gate(), source.shape))
    return [(source, Adjoint(reshape_to(adjoint.value, source.shape), moved))]


def _gather_backward(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
    """Adds the adjoint of each result row to the adjoint of the row's source."""
    use = _dsl_call(op)
    source, places = use.inputs
    along, batch = use.parameters["axis"], use.parameters["batch_dims"]
    inner, g = places.ndim - batch, adjoint.value
    size = source.shape[along]
    if use.parameters["negative"]:
        given = places
        places = compute(
            given.shape,
            lambda *i: select(given(*i) < 0, given(*i) + cast(given.dtype, size), given(*i)),
            fresh_name("gradient_places"),
        )
    if batch:
        places, size = (
            _flatten_batch_indices(places, batch, size),
            size * product(source.shape[:batch]),
        )
    # order: batch axes, gathered axes, remaining axes
    front = [*range(batch), *range(along, along + inner)]
    order = [*front, *(at for at in range(g.ndim) if at not in front)]
    rows = g if order == sorted(order) else transpose(g, order)
    rest = [*source.shape[batch:along], *source.shape[along + 1 :]]
    found = _OPERATIONS["unsorted_segment_sum"](rows, places, size)
    found = reshape_to(found, [*source.shape[:batch], source.shape[along], *rest])
    back = [*range(batch), *range(batch + 1, along + 1), batch, *range(along + 1, source.ndim)]
    value = found if back == sorted(back) else transpose(found, back)

    def hit() -> Tensor:
        ones = compute(places.shape, lambda *_: const(1.0, "float32"), fresh_name("ones"))
        taken = _OPERATIONS["unsorted_segment_sum"](ones, places, size)
        taken = reshape_to(taken, [*source.shape[:batch], source.shape[along]])
        return compute(
            source.shape,
            lambda *i: make_binary("gt", taken(*i[:batch], i[along]), const(0, "float32")),
            fresh_name("gate"),
        )

    return [(source, Adjoint(value, cache(hit)))]


def _flatten_batch_indices(places: Tensor, batch: int, size: Expr) -> Tensor:
    """Converts row indices within a batch to row indices over all batches.

    An out-of-range index becomes −1.
    """

    def number(*index: Expr) -> Expr:
        flat: Expr = const(0)
        for at in range(batch):
            flat = flat * places.shape[at] + index[at]
        here = cast("int64", places(*index))
        inside = make_binary("and", here >= 0, here < cast("int64", size))
        return select(inside, cast("int64", flat * size) + here, const(-1, "int64"))

    return compute(places.shape, number, fresh_name("gradient_places"))


def _segment_ids(use: DslCall) -> Tensor:
    """Returns the segment ids of a segment reduction as a tensor."""
    if len(use.inputs) > 1:
        return use.inputs[1]
    return _constant_indices(use.parameters["segment_ids"])


def _constant_indices(numbers: Any) -> Tensor:
    def pick(index: Expr) -> Expr:
        found: Expr = const(-1)
        for at, number in reversed(list(enumerate(numbers))):
            found = select(make_binary("eq", index, const(at)), cast("int32", number), found)
        return found

    return compute([len(numbers)], pick, fresh_name("rows"))


def _segment_sum_backward(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
    """Returns the adjoint of the source, in which every row has the adjoint of its segment."""
    use = _dsl_call(op)
    return [(use.inputs[0], Adjoint(gather(adjoint.value, _segment_ids(use), 0)))]


def _segment_mean_backward(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
    use, g = _dsl_call(op), adjoint.value
    ids = _segment_ids(use)
    ones = compute(ids.shape, lambda *_: const(1, g.dtype), fresh_name("ones"))
    number = _OPERATIONS["unsorted_segment_sum"](ones, ids, g.shape[0])
    share = compute(
        g.shape,
        lambda *i: g(*i) / make_binary("max", number(i[0]), const(1, g.dtype)),
        fresh_name("gradient"),
    )
    return [(use.inputs[0], Adjoint(gather(share, ids, 0)))]


def _make_segment_extreme_backward(kind: str) -> Rule:
    def rule(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
        """Splits a segment's adjoint equally over the elements that equal the segment's extreme."""
        use, g = _dsl_call(op), adjoint.value
        source, ids = use.inputs[0], _segment_ids(use)
        zero, one = const(0, g.dtype), const(1, g.dtype)
        best = gather(op.outputs[0], ids, 0)

        def is_best(*index: Expr) -> Any:
            beyond = make_binary("lt" if kind == "max" else "gt", source(*index), best(*index))
            return call("not", beyond, dtype="bool")

        hits = compute(source.shape, lambda *i: select(is_best(*i), one, zero), fresh_name("ties"))
        number = gather(_OPERATIONS["unsorted_segment_sum"](hits, ids, g.shape[0]), ids, 0)
        given = gather(g, ids, 0)
        value = compute(
            source.shape,
            lambda *i: select(is_best(*i), given(*i) / make_binary("max", number(*i), one), zero),
            fresh_name("gradient"),
        )
        gate = cache(lambda: compute(source.shape, is_best, fresh_name("gate")))
        return [(source, Adjoint(value, gate))]

    return rule


def _make_row_update_backward(sign: int) -> Rule:
    """Creates the backward rule of ``var[ids] += rows`` (`sign` 1) or ``-= rows`` (`sign` −1).

    The adjoint of `var` is the adjoint ȳ of the result. The adjoint of `rows` is
    ``sign · ȳ[ids]``.
    """

    def rule(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
        use, g = _dsl_call(op), adjoint.value
        target, new = use.inputs[0], use.inputs[-1]
        listed = use.parameters.get("rows")
        ids = use.inputs[1] if listed is None else _constant_indices(listed)
        rows = gather(g if sign > 0 else _negate(g), ids, 0)
        return [(target, adjoint), (new, Adjoint(reshape_to(rows, new.shape)))]

    return rule


def _negate(tensor: Tensor) -> Tensor:
    return compute(tensor.shape, lambda *i: call("neg", tensor(*i)), fresh_name("gradient"))


def _scatter_backward(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
    reduction = _dsl_call(op).parameters["reduction"]
    if reduction not in ("add", "sub"):
        raise differentiation_error(op, f"with the reduction {reduction}")
    return _make_row_update_backward(1 if reduction == "add" else -1)(op, adjoint)


RULES: Mapping[str, Rule] = {
    "matmul": _matmul_backward,
    "cumsum": _cumsum_backward,
    "reshape": _reshape_backward,
    "gather": _gather_backward,
    "unsorted_segment_sum": _segment_sum_backward,
    "unsorted_segment_mean": _segment_mean_backward,
    "unsorted_segment_max": _make_segment_extreme_backward("max"),
    "unsorted_segment_min": _make_segment_extreme_backward("min"),
    "scatter": _scatter_backward,
    "inplace_add": _make_row_update_backward(1),
    "inplace_sub": _make_row_update_backward(-1),
}
"""Dict from the name of a DSL operation with one output to its backward rule."""
