"""Checks loop IR: names are defined before use, kinds agree, only variables are assigned."""

from __future__ import annotations

from collections.abc import Iterable

from tbe_impl.codegen import loop_ir as ir

VECTORS = frozenset("f32 f64 i8 i16 i32 i64 u8 u16 u32 u64 mask".split())
SCALARS = frozenset({ir.INDEX, ir.INT, ir.FLAG, ir.ADDRESS})
CONSTANTS = frozenset({"LANES", "HALVES", "STRIP", "SIGMOID_STRIP", "part.near"})
"""Names that the headers define."""


class WrongIR(AssertionError):
    """A rule is broken."""


def check_program(entry: ir.Function, functions: Iterable[ir.Function]) -> None:
    """Raises `WrongIR` unless all functions keep the rules and are called as they are defined."""
    known = {function.name: function for function in functions}
    for function in (*known.values(), entry):
        check(function, known)
        for node in ir.walk((*function.declarations, *function.body)):
            if isinstance(node, ir.Call) and node.function in known:
                count = len(known[node.function].parameters)
                _require(count == len(node.arguments), node, f"{count} parameters")


def check(function: ir.Function, known: Iterable[str] = ()) -> None:
    """Raises `WrongIR` unless a function keeps the rules; `known` functions may be passed."""
    # only the entry function assigns parameters
    scope = {item.name: bool(function.result) for item in function.parameters}
    scope |= dict.fromkeys((*known, "void *"), False)
    _check_body((*function.declarations, *function.body), scope)


def _check_body(body: Iterable[ir.Stmt], outer: dict[str, bool]) -> None:
    """Checks a scope; `outer` maps each defined name to whether it may be assigned."""
    scope = dict(outer)
    for node in body:
        _check_statement(node, scope)


def _check_statement(node: ir.Stmt, scope: dict[str, bool]) -> None:
    if isinstance(node, ir.Let):
        if node.value is not None:
            _check_expression(node.value, scope)
            _require(_is_assignable(node.kind, node.value.kind), node, "another kind")
        scope[node.name] = node.is_mutable
    elif isinstance(node, (ir.Assign, ir.Reduce)):
        _check_expression(node.target, scope)
        _check_expression(node.value, scope)
        if isinstance(node.target, ir.Var):
            _require(scope[node.target.name], node, "a constant is assigned")
        if isinstance(node, ir.Assign):
            _require(_is_assignable(node.target.kind, node.value.kind), node, "another kind")
    elif isinstance(node, ir.Store):
        for part in (node.place, node.value, node.stride):
            _check_expression(part, scope)
        _check_counts(node, scope, node.count, node.stream)
        _require(node.value.kind in VECTORS, node, "no vector is stored")
    elif isinstance(node, (ir.Accumulate, ir.Prefetch, ir.Evaluate, ir.PackTile)):
        for part in ir.walk(node):
            if isinstance(part, ir.Expr):
                _check_names(part, scope)
        if isinstance(node, ir.PackTile):
            scope[node.name] = True
    elif isinstance(node, ir.For):
        _check_loop_head(node, scope)
        own = dict.fromkeys(node.more, True)
        own |= {node.name: False} if node.begin is not None else {}
        own |= {node.block_end.name: False} if node.over else {}
        _check_body(node.body, scope | own)
    elif isinstance(node, ir.VectorLoop):
        for part in (node.begin, node.limit):
            _check_expression(part, scope)
        own = scope | {node.name: False}
        if node.head is not None:
            _check_expression(node.head, own)
        _check_body(node.whole, own)
        _check_body(node.first, own | {node.head_count.name: False})
        _check_body(node.rest, own | {node.rest_count.name: False})
        for copy in node.copies:
            _check_body(copy, own)
        _check_body(node.strips, own | {node.name: True})
        _check_body(node.cells, own)
    elif isinstance(node, (ir.If, ir.TargetIf)):
        if isinstance(node, ir.If):
            _check_expression(node.condition, scope)
            _require(node.condition.kind == ir.FLAG, node, "no condition")
        _check_body(node.then, scope)
        _check_body(node.otherwise, scope)
    elif isinstance(node, ir.Restrict):
        _check_counts(node, scope, node.begin, node.end, node.limit)
        for inner in node.body:
            _check_statement(inner, scope)
    elif isinstance(node, ir.Block):
        _check_body(node.body, scope)
    elif isinstance(node, ir.Attempt):
        # the final statements see the variables of the body
        _check_body((*node.body, *node.final), scope)
    elif isinstance(node, ir.Return):
        _check_expression(node.value, scope)
    elif isinstance(node, (ir.Alloc, ir.Table)):
        scope[node.name] = True
    else:
        _require(isinstance(node, (ir.Continue, ir.Leave, ir.Unused)), node, "an unknown statement")


def _check_loop_head(node: ir.For, scope: dict[str, bool]) -> None:
    if node.begin is None:
        _require(scope.get(node.name, False), node, "the variable is not defined")
    else:
        _check_expression(node.begin, scope)
    _check_expression(node.end, scope)
    _check_counts(node, scope | dict.fromkeys(node.more, True), node.step, node.room)


def _check_counts(node: ir.Stmt, scope: dict[str, bool], *parts: ir.Expr | None) -> None:
    for part in parts:
        if part is not None:
            _check_expression(part, scope)
            _require(part.kind in SCALARS, node, "a vector where a scalar belongs")


def _check_expression(node: ir.Expr, scope: dict[str, bool]) -> None:
    for part in ir.walk(node):
        assert isinstance(part, ir.Expr)
        _check_names(part, scope)
        if isinstance(part, ir.Op):
            kinds = {item.kind for item in part.operands}
            if part.kind in SCALARS:
                kinds -= {kind for kind in kinds if kind[-1] == "*"}
                _require(kinds <= SCALARS | {"pointer"}, part, "no scalar operand")
            else:
                _require(len(kinds) == 1 and kinds <= VECTORS, part, "operands of several kinds")
                is_comparison = part.operator in ("eq", "ne", "lt", "le", "gt", "ge")
                wanted = ir.MASK if is_comparison else part.operands[0].kind
                _require(part.kind == wanted, part, f"the result is not {wanted}")
        elif isinstance(part, ir.Load):
            _require(part.kind in VECTORS and part.stride.kind in SCALARS, part, "no vector")


def _check_names(node: ir.Expr, scope: dict[str, bool]) -> None:
    used = set()
    if isinstance(node, ir.Var):
        used = {node.name}
    elif isinstance(node, ir.Index):
        used = set(node.variables)
    elif isinstance(node, ir.Element):
        used = {node.array}
    _require(used <= scope.keys() | CONSTANTS, node, f"undefined: {sorted(used - scope.keys())}")


def _is_assignable(target: str, source: str) -> bool:
    pointers = target.endswith("*") and (source.endswith("*") or source == "pointer")
    scalars = {target, source} <= SCALARS | {"scalar", "float", "double"}
    return target == source or pointers or scalars or source == "scalar" or target[0:3] == "f32p"


def _require(is_met: bool, node: ir.Node, why: str) -> None:
    if not is_met:
        raise WrongIR(f"{why}: {node}")
