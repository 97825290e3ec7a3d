"""Matches softmax(scale·q kᵀ + masks)·v in the source of a Cell.

This module exceeds 500 lines because all forms of attention are recognised by one matcher class.
"""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Any

from custom_ops.core.framework import nn
from custom_ops.operators.softmax import Softmax
from custom_ops.patching.attention_core import ADDED_MASK, DROP_MASK, KEEP_MASK
from custom_ops.patching.attention_edit import (
    AttentionMatch,
    MaskStep,
    ReshapeStep,
    ScaleStep,
    ScoreStep,
    edit_of,
)
from custom_ops.patching.binary_masks import is_same_expression, is_zero_or_one
from custom_ops.patching.call_semantics import CallSemantics, semantics_of
from custom_ops.patching.data_flow import Definition, Flow
from custom_ops.patching.partial_evaluation import Scope, number_of
from custom_ops.patching.scalar_constants import is_number, value_of
from custom_ops.patching.source_edits import NOT_TRAINING, Edit

LOW_SCORE, WEAK_LOW_SCORE = -1e9, -1e4
"""Upper bounds for the score that a mask assigns to masked elements.

Below `LOW_SCORE`, the softmax weight of a masked element is always 0. A score between the two
bounds is accepted only if there is no other mask. The edit then replaces this score by `LOW_SCORE`.
"""
LIKE_FUNCTIONS = ("full_like", "ones_like", "zeros_like")


class _NoAttention(Exception):
    """Raised if an expression is not attention; the message is the reason."""


def find(flow: Flow, scope: Scope) -> Iterator[Edit | str]:
    """Finds each attention in the source of a Cell, and yields a source edit for each.

    For a product softmax(…)·v that cannot be replaced, the function yields the reason as a string.
    """
    count = 0
    for node in list(flow.nodes()):
        found = semantics_of(node, scope)
        if found is None or found.kind != "matmul" or len(found.operands) != 2:
            continue
        chain = _AttentionMatcher(
            flow, scope, f"fused_attention_{count}" if count else "fused_attention"
        )
        try:
            edit = chain.edit(node, found)
        except _NoAttention as reason:
            if chain.softmax:
                yield str(reason)
            continue
        count += 1
        yield edit


class _AttentionMatcher:
    """Matches one attention by following the data flow from the product with v back to q kᵀ."""

    def __init__(self, flow: Flow, scope: Scope, name: str):
        self.flow, self.scope, self.name = flow, scope, name
        self.softmax = False
        self.passed: set[int] = set()
        self.definitions: list[Definition] = []
        self.guards: list[ast.expr] = []
        self.scale, self.is_scaled = 1.0, False
        self.steps: list[ScoreStep] = []  # in reverse order
        self.frames = [0]
        self.frame_of: dict[Definition, int] = {}
        self.sometimes: list[tuple[frozenset[Definition], int]] = []
        self.dropped: list[Definition] = []
        self.weak = False

    def edit(self, final: Any, found: CallSemantics) -> Edit:
        """Matches one attention and returns the source edit that replaces it.

        Raises:
            _NoAttention: the expression is not attention.
        """
        self._check_flags(found)
        if self.flow.is_conditional(final):
            raise _NoAttention("the product with v is made only sometimes")
        home = self.flow.statement_of(final)
        node = self._resolve_name(found.operands[0])
        while not self.softmax:
            node = self._resolve_name(self._step_after_softmax(node))
        of_softmax = self._frame
        product = None
        while product is None:
            node = self._resolve_name(node)
            known = semantics_of(node, self.scope)
            if known is not None and known.kind in ("matmul", "baddbmm"):
                product = known
            else:
                node = self._step_before_softmax(node, known)
        q, k = self._factors(product, self.flow.statement_of(node))
        if self.sometimes:
            raise _NoAttention("the product of q and k is made only sometimes")
        if self.weak and len([one for one in self.steps if isinstance(one, MaskStep)]) > 1:
            raise _NoAttention(
                f"scores are replaced by more than {LOW_SCORE:g}, "
                "which may count beside those of other masks"
            )
        self._check_other_readers(home)
        attention = AttentionMatch(
            name=self.name,
            final=(final, home),
            v=found.operands[1],
            v_turned=bool(getattr(found.called, "transpose_b", False)),
            product=node,
            q=q,
            k=k,
            k_turned=bool(getattr(product.called, "transpose_b", False)),
            scale=self.scale,
            steps=self.steps[::-1],
            frames=self.frames,
            of_product=self._frame,
            of_softmax=of_softmax,
            definitions=self.definitions,
            beside=self.beside,
            dropped=[one.statement for one in self.dropped if one.statement is not None],
            guards=self.guards,
        )
        return edit_of(attention, self.flow, self.scope)

    @property
    def _frame(self) -> int:
        """Frame (index of a shape, see `AttentionMatch`) of the current operation's scores."""
        return len(self.frames) - 1

    def _factors(self, product: CallSemantics, statement: ast.stmt) -> tuple[ast.expr, ast.expr]:
        """Returns the factors q and k of q kᵀ.

        If q kᵀ is computed by a baddbmm, the tensor that this baddbmm adds becomes a mask.
        """
        given = dict(product.keywords)
        if product.kind == "matmul":
            self._check_flags(product)
            if len(product.operands) != 2:
                raise _NoAttention("the product of q and k is unusual")
            return product.operands[0], product.operands[1]
        order = ("input", "batch1", "batch2", "beta", "alpha")
        given |= zip(order, product.operands, strict=False)
        if not set(given) <= set(order) or not set(order[:3]) <= set(given):
            raise _NoAttention("the product of q and k is unusual")
        beta = value_of(given["beta"], self.flow, self.scope) if "beta" in given else 1.0
        if beta != 0:
            mask = given["input"]
            if beta != 1:
                mask = ast.BinOp(given["beta"], ast.Mult(), mask)
            self._add_mask(mask, statement)
        if "alpha" in given:
            self._add_scale("mul", given["alpha"], statement)
        return given["batch1"], given["batch2"]

    def _check_flags(self, found: CallSemantics) -> None:
        if getattr(found.called, "transpose_a", False) or found.keywords:
            raise _NoAttention("the product is of something else")

    def _resolve_name(self, node: ast.expr) -> ast.expr:
        """Follows a name to its definition, repeatedly, and returns the defining expression."""
        while isinstance(node, ast.Name):
            found = self.flow.reaching.get(id(node), frozenset())
            self.passed.add(id(node))
            if self.sometimes and found == self.sometimes[-1][0]:
                _, frame = self.sometimes.pop()
                # without the branch the shape does not change, so the branch restores the shape
                self.frames = [self._frame if one == frame else one for one in self.frames]
            if len(found) == 2:
                found = self._conditional_definition(found)
            if len(found) != 1:
                raise _NoAttention(f"{node.id} has several possible values")
            (only,) = found
            if only.value is None or not isinstance(only.statement, (ast.Assign, ast.AugAssign)):
                raise _NoAttention(f"{node.id} is not defined by an assignment")
            if isinstance(only.statement, ast.Assign) and len(only.statement.targets) != 1:
                raise _NoAttention(f"{node.id} has two names")
            self.definitions.append(only)
            self.frame_of[only] = self._frame
            node = only.value
        return node

    def _conditional_definition(self, found: frozenset[Definition]) -> frozenset[Definition]:
        """Selects one of two definitions of a name: the definition in an ``if`` without ``else``.

        The matcher continues at the definition in the ``if``. This definition may compute the
        scores only from the scores of the other definition. The matcher therefore has to reach the
        other definition later.
        """
        for one in found:
            (other,) = found - {one}
            if one.statement is None or other.statement is None:
                continue
            inner, outer = (self.flow.block[id(two.statement)] for two in (one, other))
            holders = [
                part
                for part in outer
                if isinstance(part, ast.If) and part.body is inner and not part.orelse
            ]
            if holders:
                self.sometimes.append((frozenset({other}), self._frame))
                return frozenset({one})
        raise _NoAttention("the scores have several possible values")

    def _step_after_softmax(self, node: ast.expr) -> ast.expr:
        """Matches the softmax, or an operation between the softmax and the product with v.

        Returns the input of the matched operation.
        """
        found = semantics_of(node, self.scope)
        if found is None or not found.operands:
            raise _NoAttention("the weights are not a softmax")
        if found.kind in ("cast", "contiguous"):
            return self._skip_step(found)
        if found.kind == "reshape":
            return self._add_reshape(node, found)
        if self._is_softmax(found):
            if self.sometimes:
                raise _NoAttention("the softmax is taken only sometimes")
            self.softmax = True
            return self._skip_step(found)
        share = self._dropout_share(found)
        if share is None or self.sometimes:
            # reported only if the input is a softmax
            self.softmax = self._is_softmax_near(found)
            raise _NoAttention("the weights are changed after the softmax")
        if share > 0:
            self.guards.append(NOT_TRAINING)
        elif found.kind == "cell":
            # the attribute p of a Dropout Cell may change after patching
            where = ast.unparse(getattr(node, "func", node))
            self.guards.append(ast.parse(f"not self.training or {where}.p == 0", mode="eval").body)
        return found.operands[0]

    def _is_softmax_near(self, found: CallSemantics) -> bool:
        origins = (self.flow.origin(one) for one in found.operands)
        known = [semantics_of(one, self.scope) for one in origins]
        return any(one is not None and self._is_softmax(one) for one in known)

    def _is_softmax(self, found: CallSemantics) -> bool:
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

    def _dropout_share(self, found: CallSemantics) -> float | None:
        """Returns the drop probability of a dropout call, or None for any other call.

        If the probability is unknown, the result is 1.
        """
        if found.kind == "cell":
            called = found.called
            if "Dropout" not in type(called).__name__:
                return None
            share = getattr(called, "p", None)
            return float(share) if isinstance(share, (int, float)) else 1.0
        if found.kind != "dropout":
            return None
        given = found.keywords.get("p", found.operands[1] if len(found.operands) > 1 else None)
        known = value_of(given, self.flow, self.scope) if given is not None else None
        share = 1.0 if known is None else known
        training = found.keywords.get("training")
        follows = (
            training is not None and ast.unparse(self.flow.origin(training)) == "self.training"
        )
        if share and not follows:
            raise _NoAttention("dropout of the weights is also active outside of training")
        return float(share)

    def _step_before_softmax(self, node: ast.expr, found: CallSemantics | None) -> ast.expr:
        """Matches one operation between q kᵀ and the softmax; returns its scores operand."""
        if found is None or not found.operands:
            raise _NoAttention(f"{ast.unparse(node)[:60]} is not a step of attention")
        statement = self.flow.statement_of(node)
        if found.kind in ("cast", "contiguous"):
            return self._skip_step(found)
        if found.kind == "reshape":
            return self._add_reshape(node, found)
        if found.kind in ("mul", "div"):
            return self._match_scale(found, statement)
        multiplied = self._match_binary_mask(found, statement)
        if multiplied is not None:
            return multiplied
        if found.kind == "add" and len(found.operands) == 2:
            mine, mask = self._sides(found)
            self._add_mask(mask, statement)
            return mine
        if (
            found.kind == "sub"
            and len(found.operands) == 2
            and self._is_from_product(found.operands[0])
        ):
            mine, mask = found.operands
            self._add_mask(ast.UnaryOp(ast.USub(), mask), statement)
            return mine
        if found.kind == "masked_fill" and len(found.operands) == 3:
            mine, where, value = found.operands
            return self._add_replacing_mask(DROP_MASK, mine, where, value, statement)
        if found.kind == "where" and len(found.operands) == 3:
            where, first, second = found.operands
            if self._is_from_product(first) and not self._is_filled_like(first):
                return self._add_replacing_mask(KEEP_MASK, first, where, second, statement)
            return self._add_replacing_mask(DROP_MASK, second, where, first, statement)
        raise _NoAttention(f"{ast.unparse(node)[:60]} is not a step of attention")

    def _skip_step(self, found: CallSemantics) -> ast.expr:
        """Skips an operation that the edit removes, and returns the operation's first operand.

        The edit also removes all other operands of the operation. If these operands read the
        scores, `_check_other_readers` therefore ignores the reads.
        """
        for other in (*found.operands[1:], *found.keywords.values()):
            self.passed |= {id(one) for one in ast.walk(other)}
        return found.operands[0]

    def _add_mask(self, mask: ast.expr, statement: ast.stmt) -> None:
        if self.is_scaled:
            raise _NoAttention("the scores are scaled behind a mask")
        self.steps.append(MaskStep(statement, self._frame, ADDED_MASK, mask))

    def _add_replacing_mask(
        self, kind: str, mine: ast.expr, where: ast.expr, value: ast.expr, statement: ast.stmt
    ) -> ast.expr:
        self.steps.append(MaskStep(statement, self._frame, kind, where, self._masked_score(value)))
        return mine

    def _match_binary_mask(self, found: CallSemantics, statement: ast.stmt) -> ast.expr | None:
        """Matches scores·b + (1 − b)·low, where each element of b is 0 or 1.

        If the expression matches, b becomes a mask that is true for kept scores. The method then
        returns the expression of the scores, otherwise None.
        """
        if found.kind not in ("add", "sub") or len(found.operands) != 2:
            return None
        mine, rest = found.operands
        if found.kind == "add" and not self._is_from_product(mine):
            mine, rest = rest, mine
        product, low = (self._two_operands(one, "mul") for one in (mine, rest))
        if (
            product is None
            or low is None
            or not self._is_from_product(mine)
            or self._is_from_product(rest)
        ):
            return None
        for scores, kept in (product, product[::-1]):
            if not self._is_from_product(scores) or self._is_from_product(kept):
                continue
            for turned, number in (low, low[::-1]):
                value = value_of(number, self.flow, self.scope)
                sides = self._two_operands(turned, "sub")
                if value is None or sides is None or value_of(sides[0], self.flow, self.scope) != 1:
                    continue
                if not is_same_expression(sides[1], kept, self.flow):
                    continue
                if not is_zero_or_one(kept, self.flow, self.scope):
                    shown = ast.unparse(kept)[:60]
                    raise _NoAttention(f"{shown} may have values other than 0 and 1")
                self._resolve_name(mine)
                self._forget(rest)
                signed = ast.Constant(value if found.kind == "add" else -value)
                return self._add_replacing_mask(KEEP_MASK, scores, kept, signed, statement)
        return None

    def _two_operands(self, node: ast.expr, kind: str) -> tuple[ast.expr, ast.expr] | None:
        """Returns both operands of an operation of the given kind, or None for another operation.

        `node` is the operation, or a name that is defined as the operation.
        """
        node = self.flow.origin(node) if isinstance(node, ast.Name) else node
        found = semantics_of(node, self.scope)
        if found is None or found.kind != kind or len(found.operands) != 2:
            return None
        return found.operands[0], found.operands[1]

    def _add_reshape(self, node: ast.expr, found: CallSemantics) -> ast.expr:
        """Records a reshape of the scores or attention weights, and returns the reshaped input.

        The shape of the input gets a new frame (index of a shape, see `AttentionMatch`). A reshape
        keeps the order of elements. Masks can therefore be reshaped in the same way.
        """
        assert isinstance(node, ast.Call)
        self.steps.append(
            ReshapeStep(self.flow.statement_of(node), self._frame, node, found.operands[0])
        )
        self.frames.append(len(self.frames))
        return found.operands[0]

    def _sides(self, found: CallSemantics) -> tuple[ast.expr, ast.expr]:
        """Returns the two operands of a sum; the operand that contains the scores comes first."""
        first, second = found.operands
        leads = self._is_from_product(first), self._is_from_product(second)
        if leads == (True, False):
            return first, second
        if leads == (False, True):
            return second, first
        raise _NoAttention("what is added to the scores is made like them")

    def _is_from_product(self, node: ast.expr, depth: int = 12) -> bool:
        """Whether the value is a matrix product, which may be scaled, masked, cast or reshaped."""
        if depth == 0:
            return False
        if isinstance(node, ast.Name):
            found = self.flow.reaching.get(id(node), frozenset())
            return any(
                one.value is not None and self._is_from_product(one.value, depth - 1)
                for one in found
            )
        known = semantics_of(node, self.scope)
        if known is None:
            return False
        if known.kind in ("matmul", "baddbmm"):
            return True
        if known.kind in ("cast", "contiguous", "reshape", "sub"):
            return self._is_from_product(known.operands[0], depth - 1)
        if known.kind not in ("mul", "div", "add", "masked_fill", "where"):
            return False
        return any(self._is_from_product(one, depth - 1) for one in known.operands)

    def _match_scale(self, found: CallSemantics, statement: ast.stmt) -> ast.expr:
        if len(found.operands) != 2:
            raise _NoAttention("the scale is not a number")
        if found.kind == "div":
            mine, by = found.operands
        else:
            mine, by = self._sides(found)
        self.is_scaled = True
        self._add_scale(found.kind, by, statement)
        return mine

    def _add_scale(self, kind: str, by: ast.expr, statement: ast.stmt) -> None:
        known = self.scope.evaluate(by)
        number = number_of(known.value) if known else None
        if number is not None and not self.sometimes:
            self.scale *= number if kind == "mul" else 1 / number
            assert known is not None
            self.guards += self.scope.conditions(known)
        elif is_number(by, self.flow, self.scope):
            self.steps.append(ScaleStep(statement, ast.Mult() if kind == "mul" else ast.Div(), by))
        else:
            raise _NoAttention(f"{ast.unparse(by)[:60]} may be more than one number")

    def _masked_score(self, value: ast.expr) -> ast.expr:
        """Returns the expression of the number that is used as score of all masked elements.

        Raises:
            _NoAttention: the number is unknown, or so high that the softmax may not be 0.
        """
        number = value_of(value, self.flow, self.scope)
        if number is None or number > WEAK_LOW_SCORE:
            shown = ast.unparse(value) if number is None else f"{number:g}"
            raise _NoAttention(f"scores are replaced by {shown}, which may count beside others")
        if number > LOW_SCORE:
            self.weak, number = True, LOW_SCORE
        elif not self._is_filled_like(value):
            return value
        self._forget(value)
        return ast.Constant(number)

    def _is_filled_like(self, node: ast.expr, depth: int = 8) -> bool:
        """Whether the value is a `*_like` tensor filled with one number."""
        node = self.flow.origin(node) if isinstance(node, ast.Name) else node
        known = semantics_of(node, self.scope)
        if known is None or depth == 0:
            return False
        if known.kind in LIKE_FUNCTIONS:
            return True
        inner = known.kind in ("mul", "add", "sub", "div", "cast")
        return inner and any(self._is_filled_like(one, depth - 1) for one in known.operands)

    def _forget(self, node: ast.expr) -> None:
        """Records that the edit removes an expression.

        The edit also removes each definition that only this expression reads.
        """
        for one in ast.walk(node):
            self.passed.add(id(one))
            found = self.flow.reaching.get(id(one), frozenset())
            (only,) = found if len(found) == 1 else (None,)
            if only is None or not isinstance(only.statement, ast.Assign) or only.value is None:
                continue
            if len(only.statement.targets) == 1 and len(self.flow.readers[only]) == 1:
                self.dropped.append(only)
                self._forget(only.value)

    def _check_other_readers(self, home: ast.stmt) -> None:
        """Checks that code outside of the attention reads no elements of the scores or weights.

        Code outside of the attention may read shapes and dtypes; `self.beside` records these reads.

        Raises:
            _NoAttention: code outside of the attention reads elements.
        """
        self.beside: dict[int, tuple[str, int]] = {}
        for definition in self.definitions:
            for reader in self.flow.readers.get(definition, []):
                if id(reader) in self.passed:
                    continue
                parent = self.flow.parent[id(reader)]
                read = self._read_attribute(parent)
                if read:
                    self.beside[id(parent)] = read, self.frame_of[definition]
                    continue
                if isinstance(parent, (ast.Assign, ast.AugAssign)) and self._is_passed(parent):
                    continue
                raise _NoAttention(f"{reader.id} is read elsewhere too")
            block = self.flow.block[id(definition.statement)]
            if block is not self.flow.block[id(home)] and not self._is_conditional(block, home):
                raise _NoAttention(f"{definition.name} is assigned in another block of statements")

    def _read_attribute(self, node: ast.AST) -> str:
        """Returns "shape" or "dtype" if the node reads only this property; otherwise returns ""."""
        if isinstance(node, ast.Attribute):
            return node.attr if node.attr in ("shape", "dtype") else ""
        known = semantics_of(node, self.scope) if isinstance(node, ast.Call) else None
        return known.kind if known is not None and known.kind in ("shape", "dtype") else ""

    def _is_passed(self, statement: ast.stmt) -> bool:
        return any(one.statement is statement for one in self.definitions)

    def _is_conditional(self, block: list[ast.stmt], home: ast.stmt) -> bool:
        outer = self.flow.block[id(home)]
        return any(isinstance(one, ast.If) and one.body is block for one in outer)
