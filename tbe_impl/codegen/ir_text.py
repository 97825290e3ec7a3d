"""Prints the loop IR for people, one statement a line."""

from __future__ import annotations

import difflib
from collections.abc import Callable, Iterator, Sequence
from typing import Any

from tbe_impl.codegen import loop_ir as ir
from tbe_impl.codegen.emit_c import text_of as c_text
from tbe_impl.codegen.nest_function import NestCode
from tbe_impl.codegen.pipeline import iterate_passes

INDENT = "  "
_SYMBOLS = {
    **{"add": "+", "sub": "-", "mul": "*", "div": "/", "mod": "%", "eq": "==", "ne": "!="},
    **{"lt": "<", "le": "<=", "gt": ">", "ge": ">=", "and": "and", "or": "or", "xor": "xor"},
    "bitand": "&",
}


def text_of(node: ir.Expr) -> str:
    """Returns an expression as text."""
    if isinstance(node, ir.Literal):
        return f"{node.value}"
    if isinstance(node, ir.Splat):
        return text_of(node.number)
    if isinstance(node, ir.Index):
        terms = (
            " * ".join((*names, *[str(by)] * (by != 1 or not names))) for names, by in node.terms
        )
        return " + ".join(terms) or "0"
    if isinstance(node, ir.Op) and node.operator in _SYMBOLS:
        a, b = map(_operand, node.operands)
        return f"{a} {_SYMBOLS[node.operator]} {b}"
    if isinstance(node, ir.Op) and node.operator == "choose":
        condition, one, other = map(_operand, node.operands)
        return f"{one} if {condition} else {other}"
    if isinstance(node, ir.Op):
        return f"{node.operator} {_operand(node.operands[0])}"
    if isinstance(node, ir.Call):
        return f"{node.function}({', '.join(map(text_of, node.arguments))})"
    if isinstance(node, ir.Cast):
        return f"{node.kind}({text_of(node.value)})"
    if isinstance(node, ir.Pointer):
        base = text_of(node.base)
        return f"{base}[{' + '.join(map(text_of, node.offsets))}]" if node.offsets else base
    if isinstance(node, ir.Load):
        return f"load {node.memory} {_access(node.place, node.stride, node.count)}"
    if isinstance(node, ir.Gather):
        return f"gather {node.memory} {text_of(node.base)}[{text_of(node.indices)}]"
    return c_text(node)


def _operand(node: ir.Expr) -> str:
    text = text_of(node)
    return f"({text})" if isinstance(node, ir.Op) or " + " in text else text


def _access(place: ir.Expr, stride: ir.Expr, count: ir.Expr | None) -> str:
    lanes = "" if count is None else f" lanes {text_of(count)}"
    if stride == ir.ONE:
        return f"{text_of(place)}{lanes}"
    return f"{text_of(place)} {'one' if stride == ir.ZERO else f'by {text_of(stride)}'}{lanes}"


def _let(node: ir.Let) -> str:
    value = "" if node.value is None else f" = {text_of(node.value)}"
    return f"{'var' if node.is_mutable else 'let'} {node.name}: {node.kind}{value}"


def _store(node: ir.Store) -> str:
    place = f"{node.memory} {_access(node.place, node.stride, node.count)}"
    when = "" if node.stream is None else f", non-temporal if {text_of(node.stream)}"
    return f"store {place} = {text_of(node.value)}{when}"


def _reduce(node: ir.Reduce) -> str:
    how = f" by {node.function}" if node.function else ""
    return f"{text_of(node.target)} = {node.operator}{how} of it and {text_of(node.value)}"


_SIMPLE: dict[type, Callable[[Any], str]] = {
    ir.Let: _let,
    ir.Assign: lambda node: f"{text_of(node.target)} = {text_of(node.value)}",
    ir.Reduce: _reduce,
    ir.Store: _store,
    ir.Accumulate: lambda node: (
        f"accumulate {_access(node.place, ir.ONE, node.count)} + {text_of(node.value)}"
    ),
    ir.Prefetch: lambda node: f"prefetch {text_of(node.place)}",
    ir.Evaluate: lambda node: text_of(node.call),
    ir.Alloc: lambda node: (
        f"alloc {node.name}: {node.element}[{', '.join(map(text_of, node.shape))}]"
    ),
    ir.PackTile: lambda node: (
        f"pack {node.name}: {text_of(node.lanes)} rows of "
        f"{text_of(node.count)} from {_access(node.place, node.stride, None)}"
    ),
    ir.Table: lambda node: f"table {node.name}: {len(node.rows)} rows, step {node.step}",
    ir.Continue: lambda node: "continue",
    ir.Leave: lambda node: "leave",
    ir.Return: lambda node: f"return {text_of(node.value)}",
    ir.Unused: lambda node: f"unused {', '.join(node.names)}",
}


def _for(node: ir.For) -> str:
    begin = "" if node.begin is None else text_of(node.begin)
    step = "" if node.step == ir.Int(1) else f" step {text_of(node.step)}"
    room = "" if node.room is None else f" while {text_of(node.room)} are left"
    unroll = f" unroll {node.unroll}" if node.unroll else ""
    inner = f" as one loop with {node.inner} inside" if node.inner else ""
    shared = ", shared among threads" if node.is_shared else ""
    over = f", blocks of {node.over}" if node.over else ""
    jam = f" jam {node.jam}" if node.jam else ""
    strip = f" strip {node.strip}" if node.strip else ""
    steps = f"{begin}..{text_of(node.end)}{step}{room}{unroll}{jam}{strip}"
    return f"for {node.name} in {steps}{over}{inner}{shared}:"


def _vector_loop(node: ir.VectorLoop) -> str:
    head = "" if node.head is None else f" after {text_of(node.head)} peeled"
    unroll = f" unroll {node.unroll}" if node.unroll > 1 else ""
    return f"vector {node.name} in {text_of(node.begin)}..{text_of(node.limit)}{head}{unroll}:"


def statement_lines(body: Sequence[ir.Stmt], indent: str = "") -> Iterator[str]:
    """Yields statements as lines of text."""
    inner = indent + INDENT
    for node in body:
        if type(node) in _SIMPLE:
            stage = getattr(node, "stage", None)
            mark = "" if stage is None else f"  # stage {stage}"
            yield f"{indent}{_SIMPLE[type(node)](node)}{mark}"
            continue
        for title, part in _parts(node):
            yield f"{indent}{title}"
            yield from statement_lines(part, inner)


def _parts(node: ir.Stmt) -> Iterator[tuple[str, Sequence[ir.Stmt]]]:
    """Yields a pair (title, body statements) for each body of a compound statement."""
    if isinstance(node, ir.For):
        yield _for(node), node.body
    elif isinstance(node, (ir.If, ir.TargetIf)):
        condition = node.macro if isinstance(node, ir.TargetIf) else text_of(node.condition)
        yield f"if {condition}:", node.then
        if node.otherwise:
            yield "else:", node.otherwise
    elif isinstance(node, ir.VectorLoop):
        yield _vector_loop(node), node.whole
        for title, part in (("head", node.first), ("rest", node.rest), ("strips", node.strips)):
            if part:
                yield f"{title}:", part
        for number, copy in enumerate(node.copies):
            yield f"unrolled vector {number}:", copy
        if node.cells:
            yield "table lookup:", node.cells
    elif isinstance(node, ir.Attempt):
        yield from (("attempt:", node.body), ("finally:", node.final))
    elif isinstance(node, ir.Restrict):
        yield f"restrict {node.name} to {text_of(node.begin)}..{text_of(node.end)}:", node.body
    elif isinstance(node, ir.Block):
        yield "block:", node.body


def show_function(function: ir.Function) -> str:
    """Returns a function as text."""
    parameters = ", ".join(f"{item.name}: {item.kind}" for item in function.parameters)
    body = (*function.declarations, *function.body)
    lines = (f"function {function.name}({parameters}):", *statement_lines(body, INDENT))
    return "\n".join(lines) + "\n"


def show_change(before: ir.Function, after: ir.Function) -> str:
    """Returns the changes of a pass as a unified diff of texts; "" if there are none.

    A line of which only the indentation changes counts as unchanged.
    """
    old, new = (show_function(one).splitlines() for one in (before, after))
    one, other = ([line.strip() for line in lines] for lines in (old, new))
    found = []
    for group in difflib.SequenceMatcher(None, one, other, autojunk=False).get_grouped_opcodes(1):
        (_, a, _, b, _), (_, _, a_end, _, b_end) = group[0], group[-1]
        found.append(f"@@ -{a + 1},{a_end - a} +{b + 1},{b_end - b} @@")
        for kind, i, i_end, j, j_end in group:
            found += [f"-{line}" for line in old[i:i_end] if kind != "equal"]
            found += [f"{' ' if kind == 'equal' else '+'}{line}" for line in new[j:j_end]]
    return "".join(f"{line}\n" for line in found)


def show_program(codes: Sequence[NestCode], entry: ir.Function, *, passes: bool = False) -> str:
    """Returns the functions of all nests before the passes, then the entry function.

    If `passes` is true, the changes of each pass follow the function of each nest.
    """
    found = []
    for code in codes:
        for function in code.functions:
            found.append(show_function(function))
            for item, after in iterate_passes(function, code.facts) if passes else ():
                where = f" where {item.macro} is 1" if item.macro else ""
                change = show_change(function, after) or "changes nothing\n"
                found.append(f"-- {item.name}{where} --\n{change}")
                function = after
    return "\n".join([*found, show_function(entry)])
