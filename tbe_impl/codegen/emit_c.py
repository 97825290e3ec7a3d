"""Prints the loop IR as C and makes no code generation decisions.

The headers in `include/` define the functions that the C code calls.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence
from typing import Any

from tbe_impl.codegen.loop_ir import (
    ADDRESS,
    FLAG,
    INDEX,
    INT,
    MASK,
    WIDE,
    Accumulate,
    AddressOf,
    Alloc,
    Assign,
    Attempt,
    Block,
    Call,
    Cast,
    Continue,
    Element,
    Evaluate,
    Expr,
    Field,
    For,
    Function,
    Gather,
    If,
    Index,
    Int,
    Lane,
    Leave,
    Let,
    Literal,
    Load,
    Op,
    PackTile,
    Pointer,
    Prefetch,
    Reduce,
    Return,
    Splat,
    Stmt,
    Store,
    Structure,
    Table,
    TargetIf,
    Unused,
    Var,
    Zero,
)
from tbe_impl.codegen.vector_types import combine, lane_bits

INDENT = "  "
SCALAR_KINDS = frozenset({INDEX, INT, FLAG, ADDRESS})
_C_TYPES = {MASK: "i32v", FLAG: "int", INDEX: "int64_t", INT: "int"}
_VECTORS = frozenset("f32 f64 i8 i16 i32 i64 u8 u16 u32 u64".split())
_SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "mod": "%",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "&",
    "or": "|",
    "xor": "^",
    "bitand": "&",
}
_COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
_UNARY = {"not": "~", "neg": "-"}
_SCALAR_UNARY = {"not": "!", "bitnot": "~"}
_PRECEDENCES = {
    "choose": 0,
    "or": 1,
    "and": 2,
    "bitand": 3,
    **dict.fromkeys(("eq", "ne"), 4),
    **dict.fromkeys(("lt", "le", "gt", "ge"), 5),
    **dict.fromkeys(("add", "sub"), SUM := 6),
    **dict.fromkeys(("mul", "div", "mod"), PRODUCT := 7),
}
"""Precedence of each operator on scalars in C. An operator with a higher number binds tighter."""
ATOM = 8


def c_type(kind: str) -> str:
    """Returns the C type of a kind (a type of the loop IR)."""
    return _C_TYPES.get(kind) or (f"{kind}v" if kind in _VECTORS else kind)


def text_of(node: Expr) -> str:
    """Returns an expression as C text."""
    return _EXPRESSIONS[type(node)](node)


def _arguments(nodes: Iterable[Expr]) -> str:
    return ", ".join(map(text_of, nodes))


def _index(node: Index) -> str:
    if not node.terms:
        return "0"
    parts = []
    for names, factor in node.terms:
        factors = [*names]
        if factor != 1 or not factors:
            factors.insert(0, f"INT64_C({factor})")
        parts.append("*".join(factors))
    return " + ".join(parts)


def literal_text(kind: str, value: float | int | bool) -> str:
    """Returns the C text of the constant `value` in a lane of kind `kind`."""
    if kind == MASK:
        return "-1" if value else "0"
    if kind[0] == "f":
        number, suffix = float(value), "f" if kind == "f32" else ""
        if number != number:
            return f'__builtin_nan{suffix}("")'
        if number in (float("inf"), float("-inf")):
            return f"{'-' if number < 0 else ''}__builtin_inf{suffix}()"
        return number.hex() + suffix
    if kind[0] == "u":
        return f"UINT64_C({value})"
    return f"INT64_C({value})" if value != -(1 << 63) else "(-INT64_C(9223372036854775807)-1)"


def _splat(node: Splat) -> str:
    number = text_of(node.number)
    return (
        f"SPLAT({c_type(node.kind)}, {f'({number})' if isinstance(node.number, Index) else number})"
    )


def _operator(node: Op) -> str:
    if node.kind in SCALAR_KINDS:
        return _scalar_operator(node)
    if node.operator in _UNARY:
        return f"({_UNARY[node.operator]}{text_of(node.operands[0])})"
    if node.operator in _COMPARISONS:
        kind = node.operands[0].kind
        # a lane of a mask that is true is −1, so that the order is reversed
        a, b = map(text_of, reversed(node.operands) if kind == MASK else node.operands)
        found = f"({a} {_SYMBOLS[node.operator]} {b})"
        return found if lane_bits(kind) == 32 else f"__builtin_convertvector({found}, i32v)"
    a, b = map(text_of, node.operands)
    return f"({a} {_SYMBOLS[node.operator]} {b})"


def _scalar_operator(node: Op) -> str:
    if node.operator == "choose":
        condition, one, other = (_operand(item, 1) for item in node.operands)
        return f"{condition} ? {one} : {other}"
    if node.operator in _SCALAR_UNARY:
        return f"{_SCALAR_UNARY[node.operator]}{_operand(node.operands[0], ATOM)}"
    symbol = {"and": "&&", "or": "||"}.get(node.operator) or _SYMBOLS[node.operator]
    own = ATOM if node.operator == "bitand" else _PRECEDENCES[node.operator]
    # the right operand needs parentheses at equal precedence
    a, b = (_operand(item, min(own + place, ATOM)) for place, item in enumerate(node.operands))
    return f"{a}*{b}" if node.operator == "mul" else f"{a} {symbol} {b}"


def _operand(node: Expr, least: int) -> str:
    """Returns the C text of an operand, in parentheses if its precedence is below `least`."""
    text = text_of(node)
    own = ATOM
    if isinstance(node, Op) and node.kind in SCALAR_KINDS:
        own = _PRECEDENCES.get(node.operator, ATOM)
    elif isinstance(node, Index):
        own = _index_precedence(node)
    elif isinstance(node, Pointer):
        own = SUM if node.offsets else ATOM
    return text if own >= least else f"({text})"


def _index_precedence(node: Index) -> int:
    if len(node.terms) > 1:
        return SUM
    is_product = any(len(names) + (factor != 1) > 1 for names, factor in node.terms)
    return PRODUCT if is_product else ATOM


def _call(node: Call) -> str:
    name = f"{node.prefix}_{node.function}" if node.prefix else node.function
    arguments = [text_of(item) for item in node.arguments]
    if node.function == "select" and node.arguments[0].kind == MASK:
        width = lane_bits("i32" if node.prefix == MASK else node.prefix)
        if width != 32:
            arguments[0] = f"__builtin_convertvector({arguments[0]}, i{width}v)"
    if node.kind == MASK and node.prefix in _VECTORS and lane_bits(node.prefix) != 32:
        return f"__builtin_convertvector({name}({', '.join(arguments)}), i32v)"
    return f"{name}({', '.join(arguments)})"


def _cast(node: Cast) -> str:
    if node.kind in _VECTORS:
        return f"(({c_type(node.kind)}){text_of(node.value)})"
    return f"({c_type(node.kind)}){_operand(node.value, ATOM)}"


def _pointer(node: Pointer) -> str:
    return " + ".join(_operand(item, SUM) for item in (node.base, *node.offsets))


def _element(node: Element) -> str:
    if not node.indices:
        return f"*{node.array}"
    return node.array + "".join(f"[{text_of(index)}]" for index in node.indices)


def _structure(node: Structure) -> str:
    values = zip(node.names, node.values, strict=True)
    return f"&({node.type}){{{', '.join(f'.{name} = {text_of(item)}' for name, item in values)}}}"


def _load(node: Load) -> str:
    place = text_of(node.place)
    if node.stride == Index():
        return f"{node.memory}_one({place})"
    if node.stride != Index((((), 1),)):
        count = "LANES" if node.count is None else text_of(node.count)
        return f"{node.memory}_gather({place}, {text_of(node.stride)}, {count})"
    if node.count is None:
        return f"{node.memory}_load({place})"
    return f"{node.memory}_load_part({place}, {text_of(node.count)})"


_EXPRESSIONS: dict[type, Callable[[Any], str]] = {
    Var: lambda node: node.name,
    Int: lambda node: str(node.value),
    Index: _index,
    Literal: lambda node: f"SPLAT({c_type(node.kind)}, {literal_text(node.kind, node.value)})",
    Splat: _splat,
    Zero: lambda node: "{0}",
    Op: _operator,
    Call: _call,
    Cast: _cast,
    Lane: lambda node: f"{text_of(node.vector)}[{node.number}]",
    Pointer: _pointer,
    Element: _element,
    AddressOf: lambda node: f"&{text_of(node.element)}",
    Field: lambda node: f"{text_of(node.structure)}->{node.name}",
    Structure: _structure,
    Load: _load,
    Gather: lambda node: f"{node.memory}_gather_at({text_of(node.base)}, {text_of(node.indices)})",
}


class _Printer:
    """Prints statements as C; if `are_staged`, comments name the stage of each statement."""

    def __init__(self, *, are_staged: bool):
        self.are_staged = are_staged

    def lines(self, body: Sequence[Stmt], indent: str) -> Iterator[str]:
        for node in body:
            simple = self.simple(node)
            if simple is not None:
                yield f"{indent}{simple}"
            else:
                yield from self.compound(node, indent)

    def simple(self, node: Stmt) -> str | None:
        """Returns the C text of a statement that takes one line, None for any other statement."""
        found = _STATEMENTS.get(type(node))
        if found is not None:
            text: str | None = found(node)
        elif isinstance(node, If) and len(node.then) == len(node.otherwise) == 1:
            branches = [self.simple(branch) for branch in (node.then[0], node.otherwise[0])]
            text = None
            if None not in branches and not isinstance(node.otherwise[0], If):
                text = f"if ({text_of(node.condition)}) {branches[0]} else {branches[1]}"
        else:
            return None
        stage = getattr(node, "stage", None)
        return (
            f"{text} /* stage {stage} */"
            if text and self.are_staged and stage is not None
            else text
        )

    def compound(self, node: Stmt, indent: str) -> Iterator[str]:
        inner = indent + INDENT
        if isinstance(node, For):
            yield from _for_head(node, indent)
            yield from self.lines(node.body, inner)
            yield f"{indent}}}"
        elif isinstance(node, If):
            yield f"{indent}if ({text_of(node.condition)}) {{"
            yield from self.lines(node.then, inner)
            while len(node.otherwise) == 1 and isinstance(node.otherwise[0], If):
                node = node.otherwise[0]
                yield f"{indent}}} else if ({text_of(node.condition)}) {{"
                yield from self.lines(node.then, inner)
            if node.otherwise:
                yield f"{indent}}} else {{"
                yield from self.lines(node.otherwise, inner)
            yield f"{indent}}}"
        elif isinstance(node, Block):
            yield f"{indent}{{"
            yield from self.lines(node.body, inner)
            yield f"{indent}}}"
        elif isinstance(node, Attempt):
            yield from self.lines(node.body, indent)
            yield from (f"{indent}goto done;", f"{indent}done:")
            yield from self.lines(node.final, indent)
        elif isinstance(node, TargetIf):
            yield f"{indent}#if {node.macro}"
            yield from self.lines(node.then, indent)
            if node.otherwise:
                yield f"{indent}#else"
                yield from self.lines(node.otherwise, indent)
            yield f"{indent}#endif"
        elif isinstance(node, PackTile):
            yield from (f"{indent}{line}" for line in _pack_tile(node))
        elif isinstance(node, Table):
            yield from (f"{indent}{line}" for line in _table(node))
        else:
            raise TypeError(f"emit_c cannot print {type(node).__name__}")


def _for_head(node: For, indent: str) -> Iterator[str]:
    if node.unroll:
        yield f"{indent}#pragma GCC unroll {node.unroll}"
    start = ""
    if node.begin is not None:
        start = f"{c_type(node.kind)} {node.name} = {text_of(node.begin)}"
        start += "".join(f", {name}" for name in node.more)
    condition = f"{node.name} < {_operand(node.end, SUM)}"
    if node.room is not None:
        condition = f"{node.name} + {_operand(node.room, PRODUCT)} <= {_operand(node.end, SUM)}"
    step = text_of(node.step)
    advance = f"{node.name}++" if node.step == Int(1) else f"{node.name} += {step}"
    yield f"{indent}for ({start}; {condition}; {advance}) {{"


def _declaration(c: str, name: str) -> str:
    return f"{c}{name}" if c[-1] == "*" else f"{c} {name}"


def _let(node: Let) -> str:
    c = c_type(node.kind)
    constant = "" if node.is_mutable else "const "
    declared = f"{c}{constant}{node.name}" if c[-1] == "*" else f"{constant}{c} {node.name}"
    return f"{declared};" if node.value is None else f"{declared} = {text_of(node.value)};"


def _assign(node: Assign) -> str:
    target, value = node.target, node.value
    if isinstance(value, Op) and value.operator == "add" and value.kind in SCALAR_KINDS:
        first, second = value.operands
        if first == target:
            return f"{text_of(target)} += {text_of(second)};"
    return f"{text_of(target)} = {text_of(value)};"


def _reduce(node: Reduce) -> str:
    target, value = node.target, node.value
    if target.kind == WIDE:
        combined: Expr = Call("wide_add", (target, value), WIDE)
    elif node.function:
        combined = Call(node.function, (value, target), target.kind, target.kind)
    else:
        combined = combine(node.operator, target.kind, target, value)
    return f"{text_of(target)} = {text_of(combined)};"


def _store(node: Store) -> str:
    place, value = text_of(node.place), text_of(node.value)
    count = None if node.count is None else text_of(node.count)
    if node.stride == Index():
        return f"{node.memory}_store_part({place}, {value}, 1);"
    if node.stride != Index((((), 1),)):
        stride = text_of(node.stride)
        return f"{node.memory}_scatter({place}, {stride}, {value}, {count or 'LANES'});"
    if count is not None:
        return f"{node.memory}_store_part({place}, {value}, {count});"
    plain = f"{node.memory}_store({place}, {value});"
    if node.stream is None:
        return plain
    return f"if ({text_of(node.stream)}) {node.memory}_stream({place}, {value}); else {plain}"


def _accumulate(node: Accumulate) -> str:
    place, value = text_of(node.place), text_of(node.value)
    if node.count is None:
        return f"wide_add_at({place}, {value});"
    return f"wide_add_part({place}, {value}, {text_of(node.count)});"


def _prefetch(node: Prefetch) -> str:
    if node.position is None:
        return f"fetch({text_of(node.place)});"
    return f"fetch_of({text_of(node.position)}, {text_of(node.place)});"


def _alloc(node: Alloc) -> str:
    aligned = f"_Alignas({node.alignment}) " if node.alignment else ""
    sizes = "".join(f"[{text_of(size)}]" for size in node.shape)
    return f"{aligned}{_declaration(c_type(node.element), node.name)}{sizes};"


def _pack_tile(node: PackTile) -> Iterator[str]:
    name, count, lanes = node.name, text_of(node.count), text_of(node.lanes)
    source = f"{text_of(node.place)} + l*({text_of(node.stride)})"
    yield f"{node.element} {name}[LANES][{node.steps}];"
    yield (
        f"if ({count} == {node.steps}) for (int l = 0; l < {lanes}; l++) "
        f"memcpy({name}[l], {source}, sizeof {name}[l]);"
    )
    yield (
        f"else for (int l = 0; l < {lanes}; l++) "
        f"memcpy({name}[l], {source}, {count}*sizeof({node.element}));"
    )


def _table(node: Table) -> Iterator[str]:
    yield (
        f"static const uint8_t {node.name}_rows[{len(node.rows)}][2*HALVES] "
        "__attribute__((aligned(64))) = {"
    )
    for row in node.rows:
        yield f"{INDENT}{{{', '.join(map(str, row))}}},"
    yield "};"
    fields = f"{node.name}_rows, {node.degree}, {int(node.of_product)}, {node.step}f"
    yield f"const f16_cells {node.name} = {{{fields}}};"


_STATEMENTS: dict[type, Callable[[Any], str]] = {
    Let: _let,
    Assign: _assign,
    Reduce: _reduce,
    Store: _store,
    Accumulate: _accumulate,
    Prefetch: _prefetch,
    Evaluate: lambda node: f"{text_of(node.call)};",
    Alloc: _alloc,
    Continue: lambda node: "continue;",
    Leave: lambda node: "goto done;",
    Return: lambda node: f"return {text_of(node.value)};",
    Unused: lambda node: " ".join(f"(void){name};" for name in node.names),
}


def emit_statements(body: Sequence[Stmt], *, are_staged: bool = False, indent: str = INDENT) -> str:
    """Returns statements as C text.

    If `are_staged` is true, comments name the stages of the statements.
    """
    return "\n".join(_Printer(are_staged=are_staged).lines(body, indent))


def emit_function(function: Function, *, are_staged: bool = False) -> str:
    """Returns a function as C text; if `are_staged`, comments name the stage of each statement."""
    parameters = ", ".join(_declaration(item.kind, item.name) for item in function.parameters)
    body = emit_statements((*function.declarations, *function.body), are_staged=are_staged)
    head = c_type(function.result) if function.result else "static void"
    return f"{head} {function.name}({parameters}) {{\n{body}\n}}"
