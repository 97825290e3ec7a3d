"""Builds the source edit that replaces a matched attention by the fused operator."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from custom_ops.patching.attention_core import ADDED_MASK, AttentionCore
from custom_ops.patching.call_semantics import semantics_of
from custom_ops.patching.data_flow import Definition, Flow
from custom_ops.patching.partial_evaluation import Scope
from custom_ops.patching.source import assignment
from custom_ops.patching.source_edits import Edit


@dataclass(frozen=True)
class MaskStep:
    """A matched operation that masks the scores.

    Attributes:
        statement: the statement that applies the mask.
        frame: index of the shape that the scores have in this statement (see `AttentionMatch`).
        kind: `ADDED_MASK`, `KEEP_MASK` or `DROP_MASK`.
        mask: the mask expression.
        value: expression of the score of dropped elements, or None for an added mask.
    """

    statement: ast.stmt
    frame: int
    kind: str
    mask: ast.expr
    value: ast.expr | None = None


@dataclass(frozen=True)
class ScaleStep:
    """A matched operation that multiplies or divides the scores by a number."""

    statement: ast.stmt
    operator: ast.operator
    by: ast.expr


@dataclass(frozen=True)
class ReshapeStep:
    """A matched operation that reshapes scores or weights.

    Attributes:
        statement: the statement with the reshape.
        frame: frame (index of a shape, see `AttentionMatch`) of the result. The frame of the input
            is `frame` + 1.
        call: the call that reshapes.
        scores: the operand of `call` that contains the scores or weights.
    """

    statement: ast.stmt
    frame: int
    call: ast.Call
    scores: ast.expr


ScoreStep = MaskStep | ScaleStep | ReshapeStep


@dataclass(frozen=True)
class AttentionMatch:
    """A matched softmax(scale·q kᵀ + masks)·v in a Cell.

    Reshapes may change the shape of the scores several times. A frame is the index of such a shape,
    counted backwards from the product with v. Frame 0 is the shape of the weights in this product.

    Attributes:
        name: name of the fused operator as a child of the Cell.
        final: (the product with v, the statement that contains it).
        v: second operand of the product with v.
        v_turned: whether the product with v transposes v.
        product: the product of q and k.
        q: first operand of the product of q and k.
        k: second operand of the product of q and k.
        k_turned: whether the product of q and k transposes k.
        scale: constant factor of the scores.
        steps: matched operations on the scores, in source order.
        frames: list indexed by frame. Each item is the representative of all frames of equal shape.
        of_product: frame of the product of q and k.
        of_softmax: frame of the softmax.
        definitions: definitions of the names that hold scores or weights.
        beside: dict with one entry for each node outside of the attention that reads the shape or
            dtype of scores or weights. The key is the id of the node. The value is ("shape" or
            "dtype", frame of the scores or weights that the node reads).
        dropped: statements that are dead after the edit.
        guards: conditions under which the match is valid.
    """

    name: str
    final: tuple[ast.expr, ast.stmt]
    v: ast.expr
    v_turned: bool
    product: ast.expr
    q: ast.expr
    k: ast.expr
    k_turned: bool
    scale: float
    steps: Sequence[ScoreStep]
    frames: Sequence[int]
    of_product: int
    of_softmax: int
    definitions: Sequence[Definition]
    beside: Mapping[int, tuple[str, int]]
    dropped: Sequence[ast.stmt]
    guards: Sequence[ast.expr]


def edit_of(found: AttentionMatch, flow: Flow, scope: Scope) -> Edit:
    """Returns the source edit that replaces a matched attention by the fused operator."""
    return _EditBuilder(found, flow, scope).edit()


_BLANK_SCORES = "{query}.new_zeros({query}.shape[:-1] + ({key}.shape[-2],))"
"""Source of a tensor of zeros with the shape of the product of q and k."""
_SCORE_PROPERTIES = {"dtype": "{query}.dtype", "shape": "({query}.shape[:-1] + ({key}.shape[-2],))"}


class _EditBuilder:
    """Builds one source edit; `pieces` maps the id of a statement to its replacement statements."""

    def __init__(self, found: AttentionMatch, flow: Flow, scope: Scope):
        self.found, self.flow, self.scope = found, flow, scope
        self.own = {name: f"{found.name}_{name}" for name in ("query", "key")}
        self.pieces: dict[int, list[ast.stmt]] = {}
        self.turned: dict[int, ast.expr] = {}

    def edit(self) -> Edit:
        """Builds the source edit."""
        found = self.found
        final, home = found.final
        k = found.k if found.k_turned else self._remove_transpose(found.k)
        v = _swap_last_axes(found.v) if found.v_turned else found.v
        masks = [step for step in found.steps if isinstance(step, MaskStep)]
        self._put(self.flow.statement_of(found.product), self._initial_statements(k, len(masks)))
        count = 0
        for step in found.steps:
            if isinstance(step, MaskStep):
                self._put(step.statement, self._mask_statements(step, count))
                count += 1
            elif isinstance(step, ScaleStep):
                query = _load(self.own["query"])
                line = assignment(self.own["query"], ast.BinOp(query, step.operator, step.by))
                self._put(step.statement, [line])
            elif self._is_shape_needed(step.frame):
                self._put(
                    step.statement,
                    [assignment(self._frame_name(step.frame), self._reshape_call(step))],
                )
        edit = Edit(
            found.name,
            ("attention",),
            AttentionCore(found.scale, tuple(one.kind for one in masks)),
            guards=list(found.guards),
            takes_mask=any(one.kind == ADDED_MASK for one in masks),
        )
        for statement in (*(one.statement for one in found.definitions), *found.dropped):
            if statement is not home and statement is not None:
                edit.statements[id(statement)] = self.pieces.get(id(statement), [])
        if id(home) in self.pieces:
            edit.ahead[id(home)] = self.pieces[id(home)]
        edit.expressions[id(final)] = self._call(v, len(masks))
        edit.expressions |= self.turned
        for number, (kind, frame) in found.beside.items():
            text = _SCORE_PROPERTIES[kind].format(**self.own)
            if kind == "shape" and self._has_other_shape(frame):
                text = f"{self._frame_name(frame)}.shape"
            edit.expressions[number] = _expression(text)
        return edit

    def _put(self, statement: ast.stmt, lines: Sequence[ast.stmt]) -> None:
        self.pieces.setdefault(id(statement), []).extend(lines)

    def _has_other_shape(self, frame: int) -> bool:
        """Whether the shape of a frame (see `AttentionMatch`) may differ from the shape of q kᵀ."""
        return self.found.frames[frame] != self.found.of_product

    def _is_shape_needed(self, frame: int) -> bool:
        """Whether the edit needs the shape of this frame, or of a frame after a further reshape."""
        asked = [0, self.found.of_softmax, *(frame for _, frame in self.found.beside.values())]
        asked += [step.frame for step in self.found.steps if isinstance(step, MaskStep)]
        return any(self._has_other_shape(one) and self.found.frames[one] <= frame for one in asked)

    def _frame_name(self, frame: int) -> str:
        return f"{self.found.name}_laid_{self.found.frames[frame]}"

    def _initial_statements(self, k: ast.expr, masks: int) -> list[ast.stmt]:
        """Returns the statements that assign q and k, and set each mask to None.

        If the edit needs the shape of the scores, a statement also assigns a tensor of zeros with
        this shape.
        """
        made: list[ast.stmt] = [
            assignment(self.own["query"], self.found.q),
            assignment(self.own["key"], k),
        ]
        if self._is_shape_needed(self.found.of_product):
            blank = _expression(_BLANK_SCORES.format(**self.own))
            made.append(assignment(f"{self.found.name}_laid_{self.found.of_product}", blank))
        for number in range(masks):
            name = f"{self.found.name}_mask_{number}"
            made += [
                assignment(name, ast.Constant(None)),
                assignment(f"{name}_value", ast.Constant(None)),
            ]
        return made

    def _mask_statements(self, step: MaskStep, number: int) -> list[ast.stmt]:
        name, mask = f"{self.found.name}_mask_{number}", step.mask
        if self._has_other_shape(step.frame):
            # reshapes keep the order of elements, so the mask can be reshaped like the scores
            whole = _method_call(
                mask, "broadcast_to", _expression(f"{self._frame_name(step.frame)}.shape")
            )
            mask = _method_call(
                whole, "reshape", _expression(_SCORE_PROPERTIES["shape"].format(**self.own))
            )
        lines: list[ast.stmt] = [assignment(name, mask)]
        if step.value is not None:
            lines.append(assignment(f"{name}_value", step.value))
        return lines

    def _reshape_call(self, step: ReshapeStep) -> ast.expr:
        """Returns a copy of a reshape call; the copy reshapes zeros instead of the scores."""
        before = _load(f"{self.found.name}_laid_{self._previous_frame(step.frame)}")
        call, func = step.call, step.call.func
        if isinstance(func, ast.Attribute) and func.value is step.scores:
            func = ast.Attribute(before, func.attr, ast.Load())
        arguments = [before if one is step.scores else one for one in call.args]
        return ast.Call(func, arguments, call.keywords)

    def _previous_frame(self, frame: int) -> int:
        return self.found.frames[frame + 1]

    def _call(self, v: ast.expr, masks: int) -> ast.expr:
        """Returns the call of the fused operator, with `masks` masks."""
        found, none = self.found, ast.Constant(None)
        keys = (
            _expression(f"{self._frame_name(found.of_softmax)}.shape[-1]")
            if self._has_other_shape(found.of_softmax)
            else none
        )
        shape = _expression(f"{self._frame_name(0)}.shape") if self._has_other_shape(0) else none
        given: list[ast.expr] = [_load(self.own["query"]), _load(self.own["key"]), v, keys, shape]
        for number in range(masks):
            name = f"{found.name}_mask_{number}"
            given += [_load(name), _load(f"{name}_value")]
        return ast.Call(ast.Attribute(_load("self"), found.name, ast.Load()), given, [])

    def _remove_transpose(self, k: ast.expr) -> ast.expr:
        """Converts the expression for kᵀ to an expression for k.

        If the expression for kᵀ transposes k, the transposition is removed. Otherwise another
        transposition is added.
        """
        made = self._transpose_operand(k)
        if made is not None:
            return made
        if isinstance(k, ast.Name):
            found = self.flow.reaching.get(id(k), frozenset())
            (only,) = found if len(found) == 1 else (None,)
            if only is not None and only.value is not None and len(self.flow.readers[only]) == 1:
                made = self._transpose_operand(only.value)
                if made is not None:
                    self.turned[id(only.value)] = made
                    return k
        return _swap_last_axes(k)

    def _transpose_operand(self, node: ast.expr) -> ast.expr | None:
        """Swaps the last two axes of the value of `node` by changing the permutation in `node`.

        If the new permutation is the identity, the permutation is removed. The function returns
        None if `node` does not permute axes, or if the permutation is unknown. The result is also
        None if the old permutation does not swap the last two axes.
        """
        found = semantics_of(node, self.scope)
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
            return (
                found.operands[0]
                if set(order) in ({-1, -2}, {2, 3}) and not found.keywords
                else None
            )
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


def _expression(text: str) -> ast.expr:
    return ast.parse(text, mode="eval").body


def _method_call(node: ast.expr, name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(node, name, ast.Load()), list(arguments), [])


def _swap_last_axes(node: ast.expr) -> ast.expr:
    return _method_call(node, "swapaxes", ast.Constant(-1), ast.Constant(-2))


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
