"""Loop fission: computes the two halves of a long function in two loops over a short strip.

The window of out-of-order execution covers about 250 to 500 instructions. About a hundred of these
instructions may wait for operands. If one loop computes a sigmoid, the instructions of a few
vectors fill this window. Each of two loops has half as many instructions per vector, so that twice
as many vectors are in the window. Results are bitwise equal to those of one loop.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from dataclasses import replace

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.passes.vector_loops import number_prefetches

FISSIONABLE_FUNCTIONS = {"sigmoid": 8, "sigmoid_to_half": 2, "exp_to_half": 0}
"""Maps the name of a function to the number of statements in its second half.

``vector_sigmoid.h`` defines two halves of each of these functions. The halves are valid only for
arguments near 0.
"""
MIN_SECOND_LOOP_COST = 2
"""Minimum number of statements after the split point."""
MAX_CARRIED_VECTORS = 2
"""Maximum number of vectors that the first loop stores for the second.

The intermediate values of the split functions do not count.
"""
MAX_STATEMENTS = 40
"""Maximum number of statements for one vector; each half of a longer loop exceeds the window."""

PACKED = "f32p"
"""Prefix of the functions of ``vector_sigmoid.h``."""


def fission_into_strips(loop: ir.VectorLoop) -> ir.VectorLoop:
    """Splits a loop into strips of a few vectors, and computes each strip with two loops.

    Returns:
        A copy of the loop. The statements in `strips` of this copy process all whole strips. The
        other statements of the copy process the remaining elements. The loop is returned unchanged
        if it is unrolled, has too many statements, contains control flow, or calls no function that
        can be split. It is also unchanged if the second loop would be too short, or if the first
        loop would store too many vectors.
    """
    body = _straight_line_statements(loop)
    halved = _independent_calls(body)
    needed = backward_slice({name for node in halved for name in used_names(node)}, body)
    first = [node for node in body if node in needed or isinstance(node, ir.Prefetch)]
    second = [node for node in body if node not in first]
    late = sum(
        FISSIONABLE_FUNCTIONS.get(_fissionable_function(node), isinstance(node, ir.Let))
        for node in second
    )
    if not halved or late < MIN_SECOND_LOOP_COST:
        return loop
    asked = {name for node in second if node not in halved for name in used_names(node)}
    handed = [node for node in needed if node.name in asked]
    read = backward_slice({node.name for node in handed if is_contiguous_load(node)}, body)
    kept = [node for node in handed if node not in read]
    if len(kept) > MAX_CARRIED_VECTORS:
        return loop
    is_long = any(_fissionable_function(node) == "sigmoid" for node in halved)
    count, at = ir.Var("SIGMOID_STRIP" if is_long else "STRIP"), ir.Var("at", ir.INT)
    rooms: list[ir.Stmt] = []
    begun: list[ir.Stmt] = [*first]
    ended: list[ir.Stmt] = [*read]
    for node in kept:
        element = ir.Element(f"{node.name}_kept", (at,), node.kind)
        rooms.append(ir.Alloc(element.array, node.kind, (count,)))
        begun.append(ir.Assign(element, ir.Var(node.name, node.kind)))
        ended.append(ir.Let(node.name, node.kind, element))
    far: ir.Expr | None = None
    ends: dict[str, ir.Stmt] = {}
    for node in halved:
        assert isinstance(node.value, ir.Call)
        function, (argument,) = _fissionable_function(node), node.value.arguments
        started, distant = f"{PACKED}_{function}_begun", ir.Var(f"{node.name}_far", PACKED)
        element = ir.Element(f"{node.name}_begun", (at,), started)
        rooms.append(ir.Alloc(element.array, started, (count,)))
        rooms.append(ir.Let(distant.name, PACKED, ir.Zero(PACKED), is_mutable=True))
        begun.append(ir.Assign(element, _call_half(f"{function}_begin", argument, kind=started)))
        begun.append(ir.Assign(distant, _call_half(f"{function}_farther", argument, distant)))
        ends[node.name] = ir.Let(
            node.name, node.kind, _call_half(f"{function}_end", element, kind=node.kind)
        )
        is_far = _call_half(f"{function}_any_far", distant, kind=ir.FLAG)
        far = is_far if far is None else ir.op("or", far, is_far, kind=ir.FLAG)
    assert far is not None
    ended += [ends.get(node.name, node) if isinstance(node, ir.Let) else node for node in second]
    whole = replace(_strip_loop(loop.name, count, loop.whole), unroll=1)
    strip = (
        ir.Let(f"{loop.name}_strip", ir.INDEX, ir.Var(loop.name)),
        *rooms,
        _strip_loop(loop.name, count, begun),
        ir.If(far, (whole, ir.Continue())),
        _strip_loop(loop.name, count, ended),
    )
    length = ir.op("mul", count, ir.LANES)
    return replace(loop, strips=(ir.For(loop.name, None, loop.limit, strip, length, length),))


def _call_half(function: str, *arguments: ir.Expr, kind: str = PACKED) -> ir.Call:
    return ir.call(function, *arguments, kind=kind, prefix=PACKED)


def is_contiguous_load(node: ir.Stmt) -> bool:
    """Returns whether a statement defines a vector by a contiguous load."""
    return isinstance(node, ir.Let) and isinstance(node.value, ir.Load) and node.value.is_contiguous


def used_names(node: ir.Stmt) -> set[str]:
    """Returns the names that a statement uses, except the names that it defines."""
    if not isinstance(node, ir.Let):
        return ir.names_in(node)
    return ir.names_in(node.value) if node.value is not None else set()


def _straight_line_statements(loop: ir.VectorLoop) -> Sequence[ir.Stmt]:
    """Returns the statements for one vector of a loop that is not unrolled.

    Returns an empty sequence if a statement is not a load, definition, store or prefetch.
    """
    known = all(
        isinstance(node, (ir.Let, ir.Prefetch))
        or (isinstance(node, ir.Store) and node.stride in (ir.ZERO, ir.ONE))
        for node in loop.whole
    )
    return loop.whole if known and not loop.copies and len(loop.whole) <= MAX_STATEMENTS else ()


def _fissionable_function(node: ir.Stmt) -> str:
    """Returns the function's name if `node` is a call that can be split, otherwise ""."""
    value = node.value if isinstance(node, ir.Let) else None
    is_known = isinstance(value, ir.Call) and value.prefix == "f32"
    if not isinstance(value, ir.Call) or not is_known or len(value.arguments) != 1:
        return ""
    is_named = isinstance(value.arguments[0], ir.Var)
    return value.function if is_named and value.function in FISSIONABLE_FUNCTIONS else ""


def _independent_calls(body: Iterable[ir.Stmt]) -> list[ir.Let]:
    """Returns the calls that can be split and do not depend on another such call."""
    found: list[ir.Let] = []
    late: set[str] = set()
    for node in body:
        waits = bool(used_names(node) & late)
        is_fissionable = bool(_fissionable_function(node))
        if isinstance(node, ir.Let):
            if is_fissionable and not waits:
                found.append(node)
            if is_fissionable or waits:
                late.add(node.name)
    return found


def backward_slice(names: set[str], body: Sequence[ir.Stmt]) -> list[ir.Let]:
    """Returns the definitions of `names`, of all names used in these definitions, and so on."""
    wanted, found = set(names), list[ir.Let]()
    for node in reversed(body):
        if isinstance(node, ir.Let) and node.name in wanted:
            found.append(node)
            wanted |= used_names(node)
    return found[::-1]


def _strip_loop(name: str, count: ir.Expr, body: Sequence[ir.Stmt]) -> ir.For:
    """Returns a loop over the vectors of a strip."""
    at = ir.Var("at", ir.INT)
    place = ir.op("add", ir.Var(f"{name}_strip"), ir.op("mul", at, ir.LANES))
    start = ir.Let(name, ir.INDEX, place)
    return ir.For(at.name, ir.Int(0), count, (start, *number_prefetches(body, at)), kind=ir.INT)
