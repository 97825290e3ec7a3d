"""Exponentials of which only shares of their sum are used, as in softmax.

exp(x − m) / Σ exp(x − m) is what it is whatever m, so that m log₂e may be rounded, as long as it is so for all of a row; and such a
quotient need not be rounded better than what it is a quotient of.
"""

from __future__ import annotations

from collections.abc import Container, Iterator, Sequence

from tbe_impl.backends.cpu.deficits import followed, is_deficit
from tbe_impl.backends.cpu.maxima import Row, Uses, are_of_one_row
from tbe_impl.dsl.expr import Binary, Call, Expr, Read, Reduce
from tbe_impl.dsl.tensor import Tensor, stages_of

EXPONENTIAL, SHARE = "exp_below", "by_inverse"


def shares(outputs: Sequence[Tensor], apart: Container[int]) -> dict[int, str]:
    """``id`` of those exponentials in a graph, and of the quotients that are made of them → which of the two.

    Args:
        apart: ``id`` of tensors that are in memory, and of calls that are computed otherwise: rows with one of these are left
            out, since each exponential of a row has to be computed from the same x and m.
    """
    uses = Uses(outputs)
    found: dict[int, str] = {}
    for op in stages_of(outputs):
        for body in op.body:
            if isinstance(body, Reduce) and body.op == "max" and isinstance(body.source, Read):
                found |= _shares_of(Row(body, body.source), uses, apart)
    return found


def _shares_of(row: Row, uses: Uses, apart: Container[int]) -> dict[int, str]:
    exponentials: dict[int, Call] = {}
    for deficit in uses.of(row.largest):
        if not isinstance(deficit, Binary) or not is_deficit(deficit):
            return {}
        for use in uses.of(deficit):
            if not isinstance(use, Call) or use.name != "exp" or not _is_computed(use, apart):
                return {}
            exponentials[id(use)] = use
    found = dict.fromkeys(exponentials, EXPONENTIAL)
    for exponential in exponentials.values():
        for use in uses.of(exponential):
            made = list(_made_of(use, uses)) if isinstance(use, Reduce) else [use]
            if not all(_is_share(one, row, exponentials) for one in made):
                return {}
            found |= {id(one): SHARE for one in made if isinstance(one, Binary) and one.op == "div"}
    return found


def _is_computed(exponential: Call, apart: Container[int]) -> bool:
    """Whether it is one of float32, of what lies nowhere."""
    read = [node for node in followed(exponential.args[0]) if isinstance(node, Read)]
    return (
        exponential.dtype == "float32"
        and id(exponential) not in apart
        and not any(id(node.tensor) in apart for node in read)
    )


def _made_of(total: Reduce, uses: Uses) -> Iterator[Expr | None]:
    """What is made of a sum, or of its inverse."""
    for use in uses.of(total):
        if isinstance(use, Call) and use.name == "rec":
            yield from uses.of(use)
        else:
            yield use


def _is_share(node: Expr | None, row: Row, exponentials: Container[int]) -> bool:
    """Whether it is one of these exponentials by the sum of them in its row."""
    if not isinstance(node, Binary) or node.op not in ("div", "mul"):
        return False
    pairs = [(node.a, node.b), *([(node.b, node.a)] if node.op == "mul" else [])]
    for one, other in pairs:
        summed, total = _made_by(other), other
        if node.op == "mul":
            *_, call = followed(other)
            if not isinstance(call, Call) or call.name != "rec":
                continue
            summed, total = _made_by(call.args[0]), call.args[0]
        if isinstance(summed, Reduce) and are_of_one_row(row, one, total):
            return id(_made_by(one)) in exponentials and id(_made_by(summed.source)) in exponentials  # fmt: skip
    return False


def _made_by(node: Expr) -> Expr:
    """What computes an element that is read, as it stands in its stage."""
    while isinstance(node, Read) and node.tensor.op.body:
        node = node.tensor.op.body[node.tensor.value_index]
    return node
