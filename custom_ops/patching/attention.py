"""Finds softmax(scale·q kᵀ + masks)·v in what a Cell does."""

from __future__ import annotations

import ast
import math
from collections.abc import Iterator
from typing import Any

from custom_ops.framework import nn
from custom_ops.operators.softmax import Softmax
from custom_ops.patching.attention_core import ADDED, KEPT, LEFT_OUT, AttentionCore
from custom_ops.patching.edits import NOT_TRAINING, Edit
from custom_ops.patching.flow import Definition, Flow
from custom_ops.patching.known import Scope, number_of
from custom_ops.patching.meaning import Meaning, meaning

LOW = -1e9
"""A value that takes a score out of a softmax: what is left of a score beside it is nothing."""


class _NoAttention(Exception):
    """Why it is none."""


def find(flow: Flow, scope: Scope) -> Iterator[Edit | str]:
    """An edit for each attention, or why there is none where a softmax is multiplied by something."""
    count = 0
    for node in list(flow.nodes()):
        found = meaning(node, scope)
        if found is None or found.kind != "matmul" or len(found.operands) != 2:
            continue
        chain = _Chain(flow, scope, f"fused_attention_{count}" if count else "fused_attention")
        try:
            edit = chain.edit(node, found)
        except _NoAttention as reason:
            if chain.softmax:
                yield str(reason)
            continue
        count += 1
        yield edit


class _Chain:
    """From the product with v back to the product of q and k."""

    def __init__(self, flow: Flow, scope: Scope, name: str):
        self.flow, self.scope, self.name = flow, scope, name
        self.softmax = False
        self.passed: set[int] = set()
        self.definitions: list[Definition] = []
        self.guards: list[ast.expr] = []
        self.scale, self.is_scaled = 1.0, False
        self.masks: list[tuple[str, ast.stmt, ast.expr, ast.expr | None]] = []
        self.scales: list[tuple[ast.stmt, ast.operator, ast.expr]] = []
        self.sometimes: list[frozenset[Definition]] = []
        self.first_reshaped: int | None = None  # the mask from which on scores have another shape
        self.shapes: dict[int, tuple[ast.stmt, ast.expr]] = {}

    def edit(self, final: Any, found: Meaning) -> Edit:
        """All of it.

        Raises:
            _NoAttention: it is none.
        """
        self._no_flags(found)
        if self.flow.is_sometimes(final):
            raise _NoAttention("the product with v is made only sometimes")
        home = self.flow.statement_of(final)
        node = self._back(found.operands[0])
        while not self.softmax:
            node = self._back(self._after(node))
        product = None
        while product is None:
            node = self._back(node)
            known = meaning(node, self.scope)
            if known is not None and known.kind == "matmul":
                product = known
            else:
                node = self._before(node, known)
        if self.sometimes:
            raise _NoAttention("the product of q and k is made only sometimes")
        if self.first_reshaped is not None:
            raise _NoAttention("the scores have another shape behind their product")
        self._nobody_else(home)
        return self._made(final, found, home, node, product)

    def _no_flags(self, found: Meaning) -> None:
        if getattr(found.called, "transpose_a", False) or found.keywords:
            raise _NoAttention("the product is of something else")

    def _back(self, node: ast.expr) -> ast.expr:
        """Through names."""
        while isinstance(node, ast.Name):
            found = self.flow.reaching.get(id(node), frozenset())
            self.passed.add(id(node))
            if self.sometimes and found == self.sometimes[-1]:
                self.sometimes.pop()
            if len(found) == 2:
                found = self._sometimes(found)
            if len(found) != 1:
                raise _NoAttention(f"{node.id} may be several things")
            (only,) = found
            if only.value is None or not isinstance(only.statement, (ast.Assign, ast.AugAssign)):
                raise _NoAttention(f"{node.id} comes from elsewhere")
            if isinstance(only.statement, ast.Assign) and len(only.statement.targets) != 1:
                raise _NoAttention(f"{node.id} has two names")
            self.definitions.append(only)
            node = only.value
        return node

    def _sometimes(self, found: frozenset[Definition]) -> frozenset[Definition]:
        """Of two definitions the one that stands under a condition and takes the other."""
        for one in found:
            (other,) = found - {one}
            if one.statement is None or other.statement is None:
                continue
            inner, outer = (self.flow.block[id(two.statement)] for two in (one, other))
            holders = [
                part for part in outer if isinstance(part, ast.If) and part.body is inner and not part.orelse
            ]  # fmt: skip
            if holders:
                self.sometimes.append(frozenset({other}))
                return frozenset({one})
        raise _NoAttention("the scores may be several things")

    def _after(self, node: ast.expr) -> ast.expr:
        """A step between softmax and the product with v, or softmax: what it takes."""
        found = meaning(node, self.scope)
        if found is None or not found.operands:
            raise _NoAttention("the weights are no softmax")
        if found.kind in ("cast", "contiguous"):
            return found.operands[0]
        if self._is_softmax(found):
            if self.sometimes:
                raise _NoAttention("the softmax is taken only sometimes")
            self.softmax = True
            return found.operands[0]
        share = self._dropped(found)
        if share is None or self.sometimes:
            # it is told only if a softmax lies before it
            self.softmax = self._softmax_is_near(found)
            raise _NoAttention("the weights are changed after the softmax")
        if share > 0:
            self.guards.append(NOT_TRAINING)
        elif found.kind == "cell":
            # it may be given another share
            where = ast.unparse(getattr(node, "func", node))
            self.guards.append(ast.parse(f"not self.training or {where}.p == 0", mode="eval").body)
        return found.operands[0]

    def _softmax_is_near(self, found: Meaning) -> bool:
        origins = (self.flow.origin(one) for one in found.operands)
        known = [meaning(one, self.scope) for one in origins]
        return any(one is not None and self._is_softmax(one) for one in known)

    def _is_softmax(self, found: Meaning) -> bool:
        if found.kind == "cell":
            called = found.called
            if type(called) is Softmax:
                return int(called.attributes["axis"]) == -1
            if type(called) is not nn.Softmax:
                return False
            axis = called.softmax.axis
        elif found.kind == "softmax":
            given = [found.keywords[name] for name in ("axis", "dim") if name in found.keywords]
            given += found.operands[1:2]
            known = self.scope.evaluate(given[0]) if given else None
            axis = known.value if known else getattr(found.called, "axis", None if given else -1)
        else:
            return False
        return axis in (-1, (-1,))

    def _dropped(self, found: Meaning) -> float | None:
        """The share that a dropout leaves out; None where it is no dropout."""
        if found.kind == "cell":
            called = found.called
            if "Dropout" not in type(called).__name__:
                return None
            share = getattr(called, "p", None)
            return float(share) if isinstance(share, (int, float)) else 1.0
        if found.kind != "dropout":
            return None
        given = found.keywords.get("p", found.operands[1] if len(found.operands) > 1 else None)
        known = self.scope.evaluate(given) if given is not None else None
        share = known.value if known and isinstance(known.value, (int, float)) else 1.0
        training = found.keywords.get("training")
        follows = training is not None and ast.unparse(training) == "self.training"
        if share and not follows:
            raise _NoAttention("weights are dropped out of training too")
        return float(share)

    def _before(self, node: ast.expr, found: Meaning | None) -> ast.expr:
        """A step between the product of q and k and the softmax: what it takes."""
        if found is None or not found.operands:
            raise _NoAttention(f"{ast.unparse(node)[:60]} is no step of attention")
        statement = self.flow.statement_of(node)
        if found.kind in ("cast", "contiguous"):
            return found.operands[0]
        if found.kind == "reshape":
            return self._reshaped(found, statement)
        if found.kind in ("mul", "div"):
            return self._scaled(found, statement)
        if found.kind == "add" and len(found.operands) == 2:
            if self.is_scaled:
                raise _NoAttention("the scores are scaled behind a mask")
            mine, mask = self._sides(found)
            self.masks.append((ADDED, statement, mask, None))
            return mine
        if found.kind == "masked_fill" and len(found.operands) == 3:
            mine, where, value = found.operands
            self.masks.append((LEFT_OUT, statement, where, self._low(value)))
            return mine
        if found.kind == "where" and len(found.operands) == 3:
            where, first, second = found.operands
            if self._leads(first):
                self.masks.append((KEPT, statement, where, self._low(second)))
                return first
            self.masks.append((LEFT_OUT, statement, where, self._low(first)))
            return second
        raise _NoAttention(f"{ast.unparse(node)[:60]} is no step of attention")

    def _reshaped(self, found: Meaning, statement: ast.stmt) -> ast.expr:
        """Scores that get another shape for their masks, and have their own again for the softmax: elements keep their order,
        so that a mask of that shape, reshaped as they are, is theirs."""
        if self.first_reshaped is None:
            self.first_reshaped = len(self.masks)
            return found.operands[0]
        given = found.operands[1:]
        shape = given[0] if len(given) == 1 else ast.Tuple(list(given), ast.Load())
        sizes = shape.elts if isinstance(shape, (ast.Tuple, ast.List)) else []
        if (
            found.keywords
            or len(sizes) < 2
            or any(isinstance(one, (ast.Starred, ast.UnaryOp)) for one in sizes)
        ):
            raise _NoAttention("of the shape that scores have for a mask a size is left out")
        for number in range(self.first_reshaped, len(self.masks)):
            if self.masks[number][0] != ADDED:
                raise _NoAttention("scores are left out where they have another shape")
            self.shapes[number] = statement, ast.Tuple(sizes, ast.Load())
        self.first_reshaped = None
        return found.operands[0]

    def _sides(self, found: Meaning) -> tuple[ast.expr, ast.expr]:
        """The scores and the other."""
        first, second = found.operands
        leads = self._leads(first), self._leads(second)
        if leads == (True, False):
            return first, second
        if leads == (False, True):
            return second, first
        raise _NoAttention("what is added to the scores is made like them")

    def _leads(self, node: ast.expr, depth: int = 12) -> bool:
        """Whether it comes from a product of matrices by such steps alone."""
        if depth == 0:
            return False
        if isinstance(node, ast.Name):
            found = self.flow.reaching.get(id(node), frozenset())
            return any(one.value is not None and self._leads(one.value, depth - 1) for one in found)
        known = meaning(node, self.scope)
        if known is None:
            return False
        if known.kind == "matmul":
            return True
        if known.kind not in (
            "mul",
            "div",
            "add",
            "cast",
            "masked_fill",
            "where",
            "contiguous",
            "reshape",
        ):
            return False
        return any(self._leads(one, depth - 1) for one in known.operands)

    def _scaled(self, found: Meaning, statement: ast.stmt) -> ast.expr:
        if len(found.operands) != 2:
            raise _NoAttention("the scale is no number")
        if found.kind == "div":
            mine, by = found.operands
        else:
            mine, by = self._sides(found)
        self.is_scaled = True
        known = self.scope.evaluate(by)
        number = number_of(known.value) if known else None
        if number is not None and not self.sometimes:
            self.scale *= number if found.kind == "mul" else 1 / number
            assert known is not None
            self.guards += self.scope.conditions(known)
        elif self._is_number(by):
            self.scales.append((statement, ast.Mult() if found.kind == "mul" else ast.Div(), by))
        else:
            raise _NoAttention(f"{ast.unparse(by)[:60]} may be more than one number")
        return mine

    def _is_number(self, node: ast.expr, depth: int = 8) -> bool:
        if depth == 0:
            return False
        known = self.scope.evaluate(node)
        if known is not None:
            return number_of(known.value) is not None
        if isinstance(node, ast.Name):
            found = self.flow.reaching.get(id(node), frozenset())
            return bool(found) and all(
                self._is_number(one.value, depth - 1) if one.value is not None else _of_shape(one)
                for one in found
            )
        if isinstance(node, ast.BinOp):
            return self._is_number(node.left, depth - 1) and self._is_number(node.right, depth - 1)
        if isinstance(node, ast.Subscript):
            return isinstance(node.value, ast.Attribute) and node.value.attr == "shape"
        if isinstance(node, ast.Call) and node.args:
            called = self.scope.evaluate(node.func)
            name = getattr(called.value, "__name__", "") if called else ""
            if name == "full":
                return ast.unparse(node.args[0]) in ("[]", "()") and self._is_number(node.args[1], depth - 1)  # fmt: skip
            named = name in ("sqrt", "float", "int", "scalar_to_tensor", "Tensor", "tensor", "rsqrt", "pow")  # fmt: skip
            return named and self._is_number(node.args[0], depth - 1)
        return False

    def _low(self, value: ast.expr) -> ast.expr:
        """What stands in the place of a score that is left out, if it surely takes it out of the softmax."""
        number = self._number(value)
        if number is None or number > LOW:
            shown = ast.unparse(value) if number is None else f"{number:g}"
            raise _NoAttention(f"scores are replaced by {shown}, which may count beside others")
        return value

    def _number(self, node: ast.expr, depth: int = 8) -> float | None:
        """A number, or a tensor of one; the least of a dtype counts as −∞."""
        known = self.scope.evaluate(node)
        number = number_of(known.value) if known else None
        if number is not None or depth == 0:
            return number
        if isinstance(node, ast.Name):
            origin = self.flow.origin(node)
            return None if isinstance(origin, ast.Name) else self._number(origin, depth - 1)
        if isinstance(node, ast.Attribute) and node.attr == "min":
            return -math.inf
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
            number = self._number(node.operand, depth - 1)
            return None if number is None else -number
        if not isinstance(node, ast.Call):
            return None
        name = ast.unparse(node.func).split(".")[-1]
        if name == "float" and node.args and isinstance(node.args[0], ast.Constant):
            try:
                return float(node.args[0].value)  # type: ignore[arg-type]
            except (TypeError, ValueError):
                return None
        given = {"full": 1, "Tensor": 0, "tensor": 0, "float": 0, "cast": 0, "scalar_to_tensor": 0}.get(name)  # fmt: skip
        if given is None or len(node.args) <= given:
            return None
        return self._number(node.args[given], depth - 1)

    def _nobody_else(self, home: ast.stmt) -> None:
        """Nobody else reads scores or weights, but for their shape and dtype, which are replaced."""
        self.beside: dict[int, str] = {}
        for definition in self.definitions:
            for reader in self.flow.readers.get(definition, []):
                if id(reader) in self.passed:
                    continue
                parent = self.flow.parent[id(reader)]
                if isinstance(parent, ast.Attribute) and parent.attr in ("shape", "dtype"):
                    self.beside[id(parent)] = parent.attr
                    continue
                if isinstance(parent, (ast.Assign, ast.AugAssign)) and self._is_passed(parent):
                    continue
                raise _NoAttention(f"{reader.id} is read elsewhere too")
            block = self.flow.block[id(definition.statement)]
            if block is not self.flow.block[id(home)] and not self._is_conditional(block, home):
                raise _NoAttention(f"{definition.name} is made elsewhere")

    def _is_passed(self, statement: ast.stmt) -> bool:
        return any(one.statement is statement for one in self.definitions)

    def _is_conditional(self, block: list[ast.stmt], home: ast.stmt) -> bool:
        outer = self.flow.block[id(home)]
        return any(isinstance(one, ast.If) and one.body is block for one in outer)

    def _made(
        self, final: Any, found: Meaning, home: ast.stmt, product_node: ast.expr, product: Meaning
    ) -> Edit:
        self._no_flags(product)
        if len(product.operands) != 2:
            raise _NoAttention("the product of q and k is unusual")
        q, k = product.operands
        turned: dict[int, ast.expr] = {}
        if not getattr(product.called, "transpose_b", False):
            k = self._untransposed(k, turned)
        v = found.operands[1]
        if getattr(found.called, "transpose_b", False):
            v = _swapped(v)
        own = {name: f"{self.name}_{name}" for name in ("query", "key")}
        begin = [_assign(own["query"], q), _assign(own["key"], k)]
        masks = list(reversed(self.masks))  # in the order of the source
        pieces: dict[int, list[ast.stmt]] = {}
        first = self.flow.statement_of(product_node)
        more: list[ast.expr] = []
        for number, (_, statement, mask, value) in enumerate(masks):
            name = f"{self.name}_mask_{number}"
            reshaped = self.shapes.get(len(masks) - 1 - number)
            if reshaped is not None:
                pieces.setdefault(id(reshaped[0]), []).append(_assign(f"{name}_shape", reshaped[1]))
                text = _LAID.format(mask=ast.unparse(mask), shape=f"{name}_shape", **own)
                mask = ast.parse(text, mode="eval").body
            begin += [
                _assign(name, ast.Constant(None)),
                _assign(f"{name}_value", ast.Constant(None)),
            ]
            lines = [_assign(name, mask)]
            if value is not None:
                lines.append(_assign(f"{name}_value", value))
            pieces.setdefault(id(statement), []).extend(lines)
            more += [_load(name), _load(f"{name}_value")]
        for statement, operator, by in reversed(self.scales):
            line = _assign(own["query"], ast.BinOp(_load(own["query"]), operator, by))
            pieces.setdefault(id(statement), []).append(line)
        pieces[id(first)] = begin + pieces.get(id(first), [])
        edit = Edit(
            self.name,
            ("attention",),
            AttentionCore(self.scale, tuple(kind for kind, *_ in masks)),
            guards=self.guards,
            takes_mask=any(kind == ADDED for kind, *_ in masks),
        )
        for definition in self.definitions:
            if definition.statement is not home and definition.statement is not None:
                edit.statements[id(definition.statement)] = pieces.get(id(definition.statement), [])
        if id(home) in pieces:
            edit.ahead[id(home)] = pieces[id(home)]
        call = ast.Attribute(ast.Name("self", ast.Load()), self.name, ast.Load())
        edit.expressions[id(final)] = ast.Call(call, [_load(own["query"]), _load(own["key"]), v, *more], [])  # fmt: skip
        edit.expressions |= turned
        for number, attribute in self.beside.items():
            edit.expressions[number] = ast.parse(_BESIDE[attribute].format(**own), mode="eval").body
        return edit

    def _untransposed(self, k: ast.expr, turned: dict[int, ast.expr]) -> ast.expr:
        """k where kᵀ is given."""
        made = self._straight(k)
        if made is not None:
            return made
        if isinstance(k, ast.Name):
            found = self.flow.reaching.get(id(k), frozenset())
            (only,) = found if len(found) == 1 else (None,)
            if only is not None and only.value is not None and len(self.flow.readers[only]) == 1:
                made = self._straight(only.value)
                if made is not None:
                    turned[id(only.value)] = made
                    return k
        return _swapped(k)

    def _straight(self, node: ast.expr) -> ast.expr | None:
        """What a transposition of the last two axes takes, or with one axis order less."""
        found = meaning(node, self.scope)
        if found is None or found.kind not in ("swapaxes", "transpose"):
            return None
        given = found.operands[1:]
        if found.kind == "transpose" and len(given) == 1:
            known = self.scope.evaluate(given[0])
            order = known.value if known else None
        else:
            parts = [self.scope.evaluate(one) for one in given]
            order = tuple(one.value if one else None for one in parts)
        if not isinstance(order, tuple) or not all(isinstance(one, int) for one in order):
            return None
        if found.kind == "swapaxes":
            return found.operands[0] if set(order) in ({-1, -2}, {2, 3}) and not found.keywords else None  # fmt: skip
        if len(order) not in (3, 4) or found.keywords:
            return None
        order = (*order[:-2], order[-1], order[-2])
        if order == tuple(range(len(order))):
            return found.operands[0]
        assert isinstance(node, ast.Call)
        axes: list[ast.expr] = [ast.Constant(one) for one in order]
        if len(given) == 1:
            axes = [ast.Tuple(axes, ast.Load())]
        method = len(node.args) == len(given)
        return ast.Call(node.func, axes if method else [found.operands[0], *axes], [])


_LAID = "{mask}.broadcast_to({shape}).reshape({query}.shape[:-1] + ({key}.shape[-2],))"
_BESIDE = {"dtype": "{query}.dtype", "shape": "({query}.shape[:-1] + ({key}.shape[-2],))"}


def _of_shape(definition: Definition) -> bool:
    """a, b = x.shape"""
    value = getattr(definition.statement, "value", None)
    if not isinstance(definition.statement, ast.Assign):
        return False
    return (isinstance(value, ast.Attribute) and value.attr == "shape") or (
        isinstance(value, ast.Call) and ast.unparse(value.func).split(".")[-1] == "shape"
    )


def _swapped(node: ast.expr) -> ast.expr:
    call = ast.Attribute(node, "swapaxes", ast.Load())
    return ast.Call(call, [ast.Constant(-1), ast.Constant(-2)], [])


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
