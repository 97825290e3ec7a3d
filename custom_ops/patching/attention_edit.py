"""The change of a Cell's source that puts our attention in the place of one that was found."""

from __future__ import annotations

import ast
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from custom_ops.patching.attention_core import ADDED, AttentionCore
from custom_ops.patching.call_semantics import meaning
from custom_ops.patching.data_flow import Definition, Flow
from custom_ops.patching.partial_evaluation import Scope
from custom_ops.patching.source_edits import Edit


@dataclass(frozen=True)
class Masked:
    """A mask.

    Attributes:
        statement: where it is put on.
        frame: which shape scores have there.
        kind: one of `attention_core`.
        mask: it.
        value: what stands where scores do not stay; None where it is added.
    """

    statement: ast.stmt
    frame: int
    kind: str
    mask: ast.expr
    value: ast.expr | None = None


@dataclass(frozen=True)
class Scaled:
    """A number that scores are multiplied with, or divided by."""

    statement: ast.stmt
    operator: ast.operator
    by: ast.expr


@dataclass(frozen=True)
class Reshaped:
    """Scores, or weights, get another shape.

    Attributes:
        statement: where.
        frame: of the shape that they get; the one that they had is the next.
        call: what does it.
        scores: what of the call they are.
    """

    statement: ast.stmt
    frame: int
    call: ast.Call
    scores: ast.expr


Step = Masked | Scaled | Reshaped


@dataclass(frozen=True)
class Attention:
    """softmax(scale·q kᵀ + masks)·v as it stands in a Cell.

    Scores have one shape or several, one after the other: frame 0 is the one that weights have in the product with v.

    Attributes:
        name: under which ours becomes a part of the Cell.
        final: the product with v, and the statement that it is in.
        v: as it is multiplied; `v_turned` where that is its transpose.
        product: that of q and k.
        q: of it.
        k: of it; `k_turned` where the product takes it as it is and transposes it itself.
        scale: a number.
        steps: what is done to scores, in the order of the source.
        frames: for each frame the one whose shape it has; `of_product` is the one that the product makes.
        of_softmax: the frame of the softmax.
        definitions: names that scores and weights had.
        beside: number of a node that reads their shape or dtype → which of both, and the frame.
        dropped: statements that nobody needs any more.
        guards: conditions under which all that holds.
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
    steps: Sequence[Step]
    frames: Sequence[int]
    of_product: int
    of_softmax: int
    definitions: Sequence[Definition]
    beside: Mapping[int, tuple[str, int]]
    dropped: Sequence[ast.stmt]
    guards: Sequence[ast.expr]


def edit_of(found: Attention, flow: Flow, scope: Scope) -> Edit:
    """The change."""
    return _Making(found, flow, scope).edit()


_BLANK = "{query}.new_zeros({query}.shape[:-1] + ({key}.shape[-2],))"
"""Of the shape that the product of q and k has."""
_BESIDE = {"dtype": "{query}.dtype", "shape": "({query}.shape[:-1] + ({key}.shape[-2],))"}


class _Making:
    """One change; `pieces` are the statements that stand for each one of the source."""

    def __init__(self, found: Attention, flow: Flow, scope: Scope):
        self.found, self.flow, self.scope = found, flow, scope
        self.own = {name: f"{found.name}_{name}" for name in ("query", "key")}
        self.pieces: dict[int, list[ast.stmt]] = {}
        self.turned: dict[int, ast.expr] = {}

    def edit(self) -> Edit:
        """All of it."""
        found = self.found
        final, home = found.final
        k = found.k if found.k_turned else self._untransposed(found.k)
        v = _swapped(found.v) if found.v_turned else found.v
        masks = [step for step in found.steps if isinstance(step, Masked)]
        self._put(self.flow.statement_of(found.product), self._begin(k, len(masks)))
        count = 0
        for step in found.steps:
            if isinstance(step, Masked):
                self._put(step.statement, self._masked(step, count))
                count += 1
            elif isinstance(step, Scaled):
                query = _load(self.own["query"])
                line = _assign(self.own["query"], ast.BinOp(query, step.operator, step.by))
                self._put(step.statement, [line])
            elif self._needs(step.frame):
                self._put(step.statement, [_assign(self._laid(step.frame), self._relaid(step))])
        edit = Edit(
            found.name,
            ("attention",),
            AttentionCore(found.scale, tuple(one.kind for one in masks)),
            guards=list(found.guards),
            takes_mask=any(one.kind == ADDED for one in masks),
        )
        for statement in (*(one.statement for one in found.definitions), *found.dropped):
            if statement is not home and statement is not None:
                edit.statements[id(statement)] = self.pieces.get(id(statement), [])
        if id(home) in self.pieces:
            edit.ahead[id(home)] = self.pieces[id(home)]
        edit.expressions[id(final)] = self._call(v, len(masks))
        edit.expressions |= self.turned
        for number, (kind, frame) in found.beside.items():
            text = _BESIDE[kind].format(**self.own)
            if kind == "shape" and self._is_other(frame):
                text = f"{self._laid(frame)}.shape"
            edit.expressions[number] = _expression(text)
        return edit

    def _put(self, statement: ast.stmt, lines: Sequence[ast.stmt]) -> None:
        self.pieces.setdefault(id(statement), []).extend(lines)

    def _is_other(self, frame: int) -> bool:
        """Whether scores have another shape there than the product makes."""
        return self.found.frames[frame] != self.found.of_product

    def _needs(self, frame: int) -> bool:
        """Whether the shape of that frame, or of one that follows from it, is asked for."""
        asked = [0, self.found.of_softmax, *(frame for _, frame in self.found.beside.values())]
        asked += [step.frame for step in self.found.steps if isinstance(step, Masked)]
        return any(self._is_other(one) and self.found.frames[one] <= frame for one in asked)

    def _laid(self, frame: int) -> str:
        return f"{self.found.name}_laid_{self.found.frames[frame]}"

    def _begin(self, k: ast.expr, masks: int) -> list[ast.stmt]:
        """q, k, what has the shape of their product if that is asked for, and masks that may not come."""
        made: list[ast.stmt] = [
            _assign(self.own["query"], self.found.q),
            _assign(self.own["key"], k),
        ]
        if self._needs(self.found.of_product):
            blank = _expression(_BLANK.format(**self.own))
            made.append(_assign(f"{self.found.name}_laid_{self.found.of_product}", blank))
        for number in range(masks):
            name = f"{self.found.name}_mask_{number}"
            made += [
                _assign(name, ast.Constant(None)),
                _assign(f"{name}_value", ast.Constant(None)),
            ]
        return made

    def _masked(self, step: Masked, number: int) -> list[ast.stmt]:
        name, mask = f"{self.found.name}_mask_{number}", step.mask
        if self._is_other(step.frame):
            # elements keep their order, so that a mask that is reshaped as they are is theirs
            whole = _method(mask, "broadcast_to", _expression(f"{self._laid(step.frame)}.shape"))
            mask = _method(whole, "reshape", _expression(_BESIDE["shape"].format(**self.own)))
        lines: list[ast.stmt] = [_assign(name, mask)]
        if step.value is not None:
            lines.append(_assign(f"{name}_value", step.value))
        return lines

    def _relaid(self, step: Reshaped) -> ast.expr:
        """The call with what has the shape of scores in their place."""
        before = _load(f"{self.found.name}_laid_{self._before(step.frame)}")
        call, func = step.call, step.call.func
        if isinstance(func, ast.Attribute) and func.value is step.scores:
            func = ast.Attribute(before, func.attr, ast.Load())
        arguments = [before if one is step.scores else one for one in call.args]
        return ast.Call(func, arguments, call.keywords)

    def _before(self, frame: int) -> int:
        return self.found.frames[frame + 1]

    def _call(self, v: ast.expr, masks: int) -> ast.expr:
        """Of our attention."""
        found, none = self.found, ast.Constant(None)
        keys = (
            _expression(f"{self._laid(found.of_softmax)}.shape[-1]")
            if self._is_other(found.of_softmax)
            else none
        )
        shape = _expression(f"{self._laid(0)}.shape") if self._is_other(0) else none
        given: list[ast.expr] = [_load(self.own["query"]), _load(self.own["key"]), v, keys, shape]
        for number in range(masks):
            name = f"{found.name}_mask_{number}"
            given += [_load(name), _load(f"{name}_value")]
        return ast.Call(ast.Attribute(_load("self"), found.name, ast.Load()), given, [])

    def _untransposed(self, k: ast.expr) -> ast.expr:
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
                    self.turned[id(only.value)] = made
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


def _method(node: ast.expr, name: str, *arguments: ast.expr) -> ast.expr:
    return ast.Call(ast.Attribute(node, name, ast.Load()), list(arguments), [])


def _swapped(node: ast.expr) -> ast.expr:
    return _method(node, "swapaxes", ast.Constant(-1), ast.Constant(-2))


def _assign(name: str, value: ast.expr) -> ast.Assign:
    return ast.Assign([ast.Name(name, ast.Store())], value)


def _load(name: str) -> ast.Name:
    return ast.Name(name, ast.Load())
