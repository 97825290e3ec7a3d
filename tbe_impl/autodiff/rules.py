"""The backward of words whose expression says too little or nothing: matrix products, cumulative sums, rows by number."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from functools import cache
from typing import Any

from tbe_impl.autodiff.access_adjoints import Places, gathered, shaped
from tbe_impl.autodiff.stage_adjoints import Adjoint
from tbe_impl.dsl.casts import cast_to
from tbe_impl.dsl.cube import matmul
from tbe_impl.dsl.elementwise import WORDS as ARITHMETIC
from tbe_impl.dsl.expr import Expr, IterVar, Range, binary, call, cast, const, select
from tbe_impl.dsl.ext_arrays import WORDS as ARRAYS
from tbe_impl.dsl.indexing import gather
from tbe_impl.dsl.segments import WORDS as SEGMENTS
from tbe_impl.dsl.shaping import transpose
from tbe_impl.dsl.sizes import is_one, product
from tbe_impl.dsl.tensor import Operation, Tensor, WordUse, compute, fresh_name
from tbe_impl.errors import InputError

_WORDS = {word.name: word for word in (*ARITHMETIC, *ARRAYS, *SEGMENTS)}

Rule = Callable[[Operation, Adjoint], "list[tuple[Tensor, Adjoint]]"]


def underivable(op: Operation, why: str = "") -> InputError:
    """The error for what has no derivative here."""
    name = op.word.name if op.word else op.name
    return InputError(
        f"{name} cannot be differentiated{f': {why}' if why else ''}",
        place=str(op.location),
        expected="arithmetic, functions, movements, sums, extremes, matrix products, rows by number",
        got=name,
        remedy="Give this operator a backward of its own",
    )


def _use(op: Operation) -> WordUse:
    assert op.word is not None
    return op.word


def _matmul(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
    """Of c = α·a·b + bias: ā = α·c̄·bᵀ, b̄ = α·aᵀ·c̄, each turned as it lies, and sums over what was repeated."""
    use = _use(op)
    told = use.parameters
    if told["blocked"] or set(told["layouts"]) != {"ND"}:
        raise underivable(op, "of matrices in blocks")
    if "tensor" in (told["alpha"], told["beta"]):
        raise underivable(op, "its factors are tensors")
    a, b, *bias = use.inputs
    one, other = (_matrix(tensor) for tensor in (a, b))
    (turn_a, turn_b), alpha, g = told["turned"], told["alpha"], adjoint.value
    if turn_a:
        first = matmul(other, g, turn_b, True, alpha_num=alpha, dst_dtype=a.dtype)
    else:
        first = matmul(g, other, False, not turn_b, alpha_num=alpha, dst_dtype=a.dtype)
    if other.ndim == 2 and one.ndim > 2 and not turn_a:
        # one product over the rows of all batches instead of one for each batch and their sum
        one, g = (shaped(item, [const(-1), item.shape[-1]]) for item in (one, g))
    if turn_b:
        second = matmul(g, one, True, turn_a, alpha_num=alpha, dst_dtype=b.dtype)
    else:
        second = matmul(one, g, not turn_a, False, alpha_num=alpha, dst_dtype=b.dtype)
    found = [(a, Adjoint(_like(first, a))), (b, Adjoint(_like(second, b)))]
    if bias:
        row = bias[0].ndim == 1 or is_one(bias[0].shape[-2])
        factor = 1.0 if row and told["beta"] == 0 else told["beta"]
        scaled = adjoint.value if factor == 1 else _WORDS["vmuls"](adjoint.value, factor)
        found.append((bias[0], Adjoint(_like(cast_to(scaled, bias[0].dtype), bias[0]))))
    return found


def _matrix(tensor: Tensor) -> Tensor:
    return shaped(tensor, [const(1), *tensor.shape]) if tensor.ndim == 1 else tensor


def _like(found: Tensor, tensor: Tensor) -> Tensor:
    """Summed up over the axes that `tensor` has not, or has with one element; what it has beyond them gets 0."""
    axes = tuple(IterVar(Range(size), f"i{at}") for at, size in enumerate(found.shape))
    aligned = axes[len(axes) - tensor.ndim :]
    indices = tuple(
        const(0) if is_one(size) else axis for size, axis in zip(tensor.shape, aligned, strict=True)
    )
    return gathered(Places(tensor, indices, axes), found(*axes))


def _cumsum(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
    use = _use(op)
    told = use.parameters
    value = _WORDS["cumsum"](adjoint.value, told["axis"], told["exclusive"], not told["reverse"])
    return [(use.inputs[0], Adjoint(value))]


def _reshape(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
    source, gate = _use(op).inputs[0], adjoint.gate
    if gate is None:
        return [(source, Adjoint(shaped(adjoint.value, source.shape)))]
    moved = cache(lambda: shaped(gate(), source.shape))
    return [(source, Adjoint(shaped(adjoint.value, source.shape), moved))]


def _gather(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
    """Every row that was taken is added to the row that it came from."""
    use = _use(op)
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
        places, size = _in_batches(places, batch, size), size * product(source.shape[:batch])
    # the batch and the places in front, then what was left of each row
    front = [*range(batch), *range(along, along + inner)]
    order = [*front, *(at for at in range(g.ndim) if at not in front)]
    rows = g if order == sorted(order) else transpose(g, order)
    rest = [*source.shape[batch:along], *source.shape[along + 1 :]]
    found = _WORDS["unsorted_segment_sum"](rows, places, size)
    found = shaped(found, [*source.shape[:batch], source.shape[along], *rest])
    back = [*range(batch), *range(batch + 1, along + 1), batch, *range(along + 1, source.ndim)]
    value = found if back == sorted(back) else transpose(found, back)

    def hit() -> Tensor:
        ones = compute(places.shape, lambda *_: const(1.0, "float32"), fresh_name("ones"))
        taken = _WORDS["unsorted_segment_sum"](ones, places, size)
        taken = shaped(taken, [*source.shape[:batch], source.shape[along]])
        made: Tensor = compute(
            source.shape,
            lambda *i: binary("gt", taken(*i[:batch], i[along]), const(0, "float32")),
            fresh_name("gate"),
        )
        return made

    return [(source, Adjoint(value, cache(hit)))]


def _in_batches(places: Tensor, batch: int, size: Expr) -> Tensor:
    """Row numbers within each batch as those of all batches together; −1 for those outside."""

    def number(*index: Expr) -> Expr:
        flat: Expr = const(0)
        for at in range(batch):
            flat = flat * places.shape[at] + index[at]
        here = cast("int64", places(*index))
        inside = binary("and", here >= 0, here < cast("int64", size))
        return select(inside, cast("int64", flat * size) + here, const(-1, "int64"))

    made: Tensor = compute(places.shape, number, fresh_name("gradient_places"))
    return made


def _ids(use: WordUse) -> Tensor:
    """The segments of the rows as a tensor."""
    if len(use.inputs) > 1:
        return use.inputs[1]
    return _listed(use.parameters["segment_ids"])


def _listed(numbers: Any) -> Tensor:
    def pick(index: Expr) -> Expr:
        found: Expr = const(-1)
        for at, number in reversed(list(enumerate(numbers))):
            found = select(binary("eq", index, const(at)), cast("int32", number), found)
        return found

    made: Tensor = compute([len(numbers)], pick, fresh_name("rows"))
    return made


def _segment_sum(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
    """Every row gets what its segment got."""
    use = _use(op)
    return [(use.inputs[0], Adjoint(gather(adjoint.value, _ids(use), 0)))]


def _segment_mean(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
    use, g = _use(op), adjoint.value
    ids = _ids(use)
    ones = compute(ids.shape, lambda *_: const(1, g.dtype), fresh_name("ones"))
    number = _WORDS["unsorted_segment_sum"](ones, ids, g.shape[0])
    share = compute(
        g.shape,
        lambda *i: g(*i) / binary("max", number(i[0]), const(1, g.dtype)),
        fresh_name("gradient"),
    )
    return [(use.inputs[0], Adjoint(gather(share, ids, 0)))]


def _segment_extreme(kind: str) -> Rule:
    def rule(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
        """The rows that are the extreme of their segment share alike."""
        use, g = _use(op), adjoint.value
        source, ids = use.inputs[0], _ids(use)
        zero, one = const(0, g.dtype), const(1, g.dtype)
        best = gather(op.outputs[0], ids, 0)

        def is_best(*index: Expr) -> Any:
            beyond = binary("lt" if kind == "max" else "gt", source(*index), best(*index))
            return call("not", beyond, dtype="bool")

        hits = compute(source.shape, lambda *i: select(is_best(*i), one, zero), fresh_name("ties"))
        number = gather(_WORDS["unsorted_segment_sum"](hits, ids, g.shape[0]), ids, 0)
        given = gather(g, ids, 0)
        value = compute(
            source.shape,
            lambda *i: select(is_best(*i), given(*i) / binary("max", number(*i), one), zero),
            fresh_name("gradient"),
        )
        gate = cache(lambda: compute(source.shape, is_best, fresh_name("gate")))
        return [(source, Adjoint(value, gate))]

    return rule


def _rows_added(sign: int) -> Rule:
    """Of var[ids] ± rows: all of it for var, the rows of it for the rows."""

    def rule(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
        use, g = _use(op), adjoint.value
        target, new = use.inputs[0], use.inputs[-1]
        listed = use.parameters.get("rows")
        ids = use.inputs[1] if listed is None else _listed(listed)
        rows = gather(g if sign > 0 else _negative(g), ids, 0)
        return [(target, adjoint), (new, Adjoint(shaped(rows, new.shape)))]

    return rule


def _negative(tensor: Tensor) -> Tensor:
    made: Tensor = compute(tensor.shape, lambda *i: call("neg", tensor(*i)), fresh_name("gradient"))
    return made


def _scatter(op: Operation, adjoint: Adjoint) -> list[tuple[Tensor, Adjoint]]:
    reduction = _use(op).parameters["reduction"]
    if reduction not in ("add", "sub"):
        raise underivable(op, f"with the reduction {reduction}")
    return _rows_added(1 if reduction == "add" else -1)(op, adjoint)


RULES: Mapping[str, Rule] = {
    "matmul": _matmul,
    "cumsum": _cumsum,
    "reshape": _reshape,
    "gather": _gather,
    "unsorted_segment_sum": _segment_sum,
    "unsorted_segment_mean": _segment_mean,
    "unsorted_segment_max": _segment_extreme("max"),
    "unsorted_segment_min": _segment_extreme("min"),
    "scatter": _scatter,
    "inplace_add": _rows_added(1),
    "inplace_sub": _rows_added(-1),
}
"""Name of a word with one output → its backward."""
