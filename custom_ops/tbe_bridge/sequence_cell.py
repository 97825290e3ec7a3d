"""TBE operators in a row as a Cell that MindSpore builds a graph of (`custom_ops.tbe_bridge.steps`)."""
# ruff: noqa: RUF005

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from custom_ops.core.framework import Cell, ops
from custom_ops.tbe_bridge.steps import AnyStep, TbeBlocks, TbeSteps, TbeView

Primitive = Callable[..., Any]
"""Makes the primitive of an operator and its attributes, as `custom_ops.ascend.AscendPrimitive`."""


class InARow(Cell):
    """The steps one after the other.

    Args:
        whole: the steps.
        inputs, outputs: names of what it is given, and of what it makes.
        primitive: makes that of each operator.
    """

    def __init__(
        self, whole: TbeSteps, inputs: Sequence[str], outputs: Sequence[str], primitive: Primitive
    ):
        super().__init__()
        self.calls = tuple(_call(one, primitive) for one in whole.steps)
        self.singles = tuple(_is_single(one) for one in whole.steps)
        self.numbers = tuple(range(len(whole.steps)))
        self.reads, self.makes = whole.places(inputs, outputs)

    def construct(self, *inputs: Any) -> Any:
        """The output, or a tuple of them."""
        known = inputs
        for number in self.numbers:
            read: Any = ()
            for place in self.reads[number]:
                read = read + (known[place],)
            made = self.calls[number](*read)
            known = known + (made,) if self.singles[number] else known + made
        found: Any = ()
        for place in self.makes:
            found = found + (known[place],)
        if len(self.makes) == 1:
            return found[0]
        return found


class _OfOne(InARow):
    def bprop(self, a: Any, out: Any, dout: Any) -> Any:
        return self.back((a,), out, dout)


class _OfTwo(InARow):
    def bprop(self, a: Any, b: Any, out: Any, dout: Any) -> Any:
        return self.back((a, b), out, dout)


class _OfThree(InARow):
    def bprop(self, a: Any, b: Any, c: Any, out: Any, dout: Any) -> Any:
        return self.back((a, b, c), out, dout)


class _OfFour(InARow):
    def bprop(self, a: Any, b: Any, c: Any, d: Any, out: Any, dout: Any) -> Any:
        return self.back((a, b, c, d), out, dout)


def with_gradient(
    whole: TbeSteps, inputs: Sequence[str], outputs: Sequence[str], primitive: Primitive, back: Any
) -> InARow:
    """Steps with a gradient of their own, where that of each step would keep what lies between them.

    Args:
        whole, inputs, outputs, primitive: as `InARow` takes them.
        back: what `custom_ops.core.bprops.of` makes, bare.
    """
    row = (_OfOne, _OfTwo, _OfThree, _OfFour)[len(inputs) - 1](whole, inputs, outputs, primitive)
    row.back = back
    return row


class InBlocks(Cell):
    """Steps that are repeated; a tuple of what is carried and what is put together.

    Args:
        blocks: the steps, and what is cut, carried and joined.
        primitive: makes that of each operator.
    """

    def __init__(self, blocks: TbeBlocks, primitive: Primitive):
        super().__init__()
        made = (*blocks.carried, *blocks.joined)
        first, written = blocks.steps[0], (*blocks.carried.values(), *blocks.joined)
        is_one = len(blocks.steps) == 1 and (first.reads, first.writes) == (blocks.reads, written)
        # a Cell less in each block, where there may be hundreds
        self.body = (
            _call(first, primitive)
            if is_one
            else InARow(blocks.body, blocks.reads, made, primitive)
        )
        self.several = len(made) > 1
        self.size, self.times = blocks.size, blocks.times
        self.axes = tuple(blocks.cut.values())
        self.joined = tuple(blocks.joined.values())
        self.first_carried = len(blocks.reads) - len(blocks.carried)
        self.number_carried = len(blocks.carried)

    def construct(self, *inputs: Any) -> Any:
        """Block by block; a graph holds the steps of each."""
        count, cut = self.times, len(self.axes)
        if cut > 0:
            count = (inputs[0].shape[self.axes[0]] + self.size - 1) // self.size
        pieces = self.all_pieces(inputs, count)
        whole = inputs[cut : self.first_carried]
        carried = inputs[self.first_carried :]
        every: Any = ()
        # MindSpore counts each turn of a loop as a call within the one before, up to a limit: inner loops are functions
        for block in range(count):
            made = self.of_block(pieces, block, whole + carried)
            carried = made[: self.number_carried]
            every = every + made[self.number_carried :]
        for number in range(len(self.joined)):
            parts = every[number :: len(self.joined)]
            carried = carried + (ops.concat(parts, self.joined[number]),)
        return carried

    def all_pieces(self, inputs: Any, count: int) -> Any:
        """What each block gets of each tensor that is cut."""
        found: Any = ()
        for number in range(len(self.axes)):
            found = found + (self.pieces(inputs[number], self.axes[number], count),)
        return found

    def pieces(self, x: Any, axis: int, count: int) -> Any:
        """What each block gets of a tensor."""
        if len(x.shape) > 0 and x.shape[axis] > 1:
            return ops.split(x, self.size, axis)
        found: Any = ()
        for _ in range(count):
            found = found + (x,)
        return found

    def of_block(self, pieces: Any, block: int, others: Any) -> Any:
        """What the steps make of one block."""
        given: Any = ()
        for number in range(len(self.axes)):
            given = given + (pieces[number][block],)
        made = self.body(*(given + others))
        if self.several:
            return made
        return (made,)


class AsRows(Cell):
    """All axes but the last ones become one."""

    def __init__(self, kept: int):
        super().__init__()
        self.kept = kept

    def construct(self, x: Any) -> Any:
        """The same elements."""
        shape = x.shape
        return ops.reshape(x, (-1,) + shape[len(shape) - self.kept :])


class Like(Cell):
    """A tensor in the shape of another."""

    def construct(self, x: Any, like: Any) -> Any:
        """The same elements."""
        return ops.reshape(x, like.shape)


def _call(step: AnyStep, primitive: Primitive) -> Any:
    if isinstance(step, TbeBlocks):
        return InBlocks(step, primitive)
    if isinstance(step, TbeView):
        return Like() if step.like else AsRows(step.kept)
    return primitive(step.spec, step.attributes, forward=step.forward)


def _is_single(step: AnyStep) -> bool:
    return len(step.writes) == 1 and not isinstance(step, TbeBlocks)
