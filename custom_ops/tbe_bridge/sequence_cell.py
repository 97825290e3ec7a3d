"""Runs a sequence of TBE operators (`custom_ops.tbe_bridge.tbe_sequence`) as a MindSpore Cell."""
# ruff: noqa: RUF005

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from custom_ops.core.framework import Cell, ops
from custom_ops.tbe_bridge.tbe_sequence import AnyStep, TbeBlocks, TbeSteps, TbeView

PrimitiveMaker = Callable[..., Any]
"""Function that builds the primitive of an operator from its spec and attributes.

The usual value is the class `custom_ops.ascend.AscendPrimitive`.
"""


class SequenceCell(Cell):
    """Cell that runs the steps (TBE operators, reshapes and loops) of a sequence in order.

    Args:
        whole: the description of the sequence's steps.
        inputs, outputs: names of the sequence's inputs and outputs.
        primitive: function that builds the primitive of each operator.
    """

    def __init__(
        self,
        whole: TbeSteps,
        inputs: Sequence[str],
        outputs: Sequence[str],
        primitive: PrimitiveMaker,
    ):
        super().__init__()
        self.calls = tuple(_build_call(one, primitive) for one in whole.steps)
        self.singles = tuple(_is_single(one) for one in whole.steps)
        self.numbers = tuple(range(len(whole.steps)))
        self.reads, self.makes = whole.places(inputs, outputs)

    def construct(self, *inputs: Any) -> Any:
        """Returns the output, or a tuple if there are several outputs."""
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


class _SequenceOf1(SequenceCell):
    def bprop(self, a: Any, out: Any, dout: Any) -> Any:
        return self.back((a,), out, dout)


class _SequenceOf2(SequenceCell):
    def bprop(self, a: Any, b: Any, out: Any, dout: Any) -> Any:
        return self.back((a, b), out, dout)


class _SequenceOf3(SequenceCell):
    def bprop(self, a: Any, b: Any, c: Any, out: Any, dout: Any) -> Any:
        return self.back((a, b, c), out, dout)


class _SequenceOf4(SequenceCell):
    def bprop(self, a: Any, b: Any, c: Any, d: Any, out: Any, dout: Any) -> Any:
        return self.back((a, b, c, d), out, dout)


def build_differentiable_sequence(
    whole: TbeSteps,
    inputs: Sequence[str],
    outputs: Sequence[str],
    primitive: PrimitiveMaker,
    back: Any,
) -> SequenceCell:
    """Builds the Cell of a sequence; a second sequence computes the gradient.

    If the Cell had no gradient of its own, MindSpore would differentiate each operator of the
    sequence. All intermediate tensors would then stay in memory.

    Args:
        whole, inputs, outputs, primitive: as in `SequenceCell`.
        back: gradient function of the sequence, from `custom_ops.core.bprops.build_bprop` with
            `bare=True`.
    """
    row = (_SequenceOf1, _SequenceOf2, _SequenceOf3, _SequenceOf4)[len(inputs) - 1](
        whole, inputs, outputs, primitive
    )
    row.back = back
    return row


class BlockLoopCell(Cell):
    """Cell that runs the loop that a `TbeBlocks` describes.

    The result is a tuple: first the final loop-carried tensors, then the concatenated tensors.

    Args:
        blocks: the description of the loop.
        primitive: function that builds the primitive of each operator.
    """

    def __init__(self, blocks: TbeBlocks, primitive: PrimitiveMaker):
        super().__init__()
        made = (*blocks.carried, *blocks.joined)
        first, written = blocks.steps[0], (*blocks.carried.values(), *blocks.joined)
        is_one = len(blocks.steps) == 1 and (first.reads, first.writes) == (blocks.reads, written)
        # a single step needs no SequenceCell around it; this saves one Cell call per block, and
        # there may be hundreds of blocks
        self.body = (
            _build_call(first, primitive)
            if is_one
            else SequenceCell(blocks.body, blocks.reads, made, primitive)
        )
        self.several = len(made) > 1
        self.size, self.times = blocks.size, blocks.times
        self.axes = tuple(blocks.cut.values())
        self.joined = tuple(blocks.joined.values())
        self.first_carried = len(blocks.reads) - len(blocks.carried)
        self.number_carried = len(blocks.carried)

    def construct(self, *inputs: Any) -> Any:
        """Runs the iterations in order. In graph mode, MindSpore unrolls the loop."""
        count, cut = self.times, len(self.axes)
        if cut > 0:
            count = (inputs[0].shape[self.axes[0]] + self.size - 1) // self.size
        pieces = self.all_pieces(inputs, count)
        whole = inputs[cut : self.first_carried]
        carried = inputs[self.first_carried :]
        every: Any = ()
        # MindSpore counts each loop iteration as a nested call and limits the nesting; inner loops
        # are therefore separate functions
        for block in range(count):
            made = self.run_block(pieces, block, whole + carried)
            carried = made[: self.number_carried]
            every = every + made[self.number_carried :]
        for number in range(len(self.joined)):
            parts = every[number :: len(self.joined)]
            carried = carried + (ops.concat(parts, self.joined[number]),)
        return carried

    def all_pieces(self, inputs: Any, count: int) -> Any:
        """Returns, for each split tensor, a tuple with one block for each iteration."""
        found: Any = ()
        for number in range(len(self.axes)):
            found = found + (self.pieces(inputs[number], self.axes[number], count),)
        return found

    def pieces(self, x: Any, axis: int, count: int) -> Any:
        """Returns the blocks of a tensor along `axis`.

        If the extent of the axis is 1, each block is the whole tensor.
        """
        if len(x.shape) > 0 and x.shape[axis] > 1:
            return ops.split(x, self.size, axis)
        found: Any = ()
        for _ in range(count):
            found = found + (x,)
        return found

    def run_block(self, pieces: Any, block: int, others: Any) -> Any:
        """Runs one iteration and returns its results as a tuple."""
        given: Any = ()
        for number in range(len(self.axes)):
            given = given + (pieces[number][block],)
        made = self.body(*(given + others))
        if self.several:
            return made
        return (made,)


class ReshapeToRowsCell(Cell):
    """Cell that flattens all axes but the last `kept` axes into one axis."""

    def __init__(self, kept: int):
        super().__init__()
        self.kept = kept

    def construct(self, x: Any) -> Any:
        """Returns `x` with its leading axes flattened."""
        shape = x.shape
        return ops.reshape(x, (-1,) + shape[len(shape) - self.kept :])


class ReshapeLikeCell(Cell):
    """Cell that reshapes a tensor to the shape of another tensor."""

    def construct(self, x: Any, like: Any) -> Any:
        """Returns `x` in the shape of `like`."""
        return ops.reshape(x, like.shape)


def _build_call(step: AnyStep, primitive: PrimitiveMaker) -> Any:
    if isinstance(step, TbeBlocks):
        return BlockLoopCell(step, primitive)
    if isinstance(step, TbeView):
        return ReshapeLikeCell() if step.like else ReshapeToRowsCell(step.kept)
    return primitive(step.spec, step.attributes, forward=step.forward)


def _is_single(step: AnyStep) -> bool:
    return len(step.writes) == 1 and not isinstance(step, TbeBlocks)
