"""Eliminates reshapes, for which CANN has no operation, by choosing other shapes for tensors.

An element-wise stage computes the same elements in any shape. The pass gives the shape of a
reshape's operand to the result of the reshape. It gives the same shape to all tensors that
element-wise stages connect to the result. The reshape is then superfluous. If one of these tensors
must keep its shape, the pass tries the opposite: it gives the shape of the result to the operand
and to all tensors connected to the operand.
"""

from __future__ import annotations

import math
from collections import defaultdict
from collections.abc import Sequence

from tbe_impl.cann.graph_source import SHAPELESS_OPERATIONS, ReshapeElimination
from tbe_impl.dsl.expr import Const
from tbe_impl.dsl.tensor import Operation, Tensor, stages_of

Shape = tuple[int, ...]


def eliminate_reshapes(inputs: Sequence[Tensor], outputs: Sequence[Tensor]) -> ReshapeElimination:
    """Eliminates the reshapes of a graph with static sizes, as far as possible.

    The shapes of inputs and results of the graph may also change.
    """
    return _Eliminator(inputs, outputs).run()


class _Eliminator:
    def __init__(self, inputs: Sequence[Tensor], outputs: Sequence[Tensor]):
        self.stages = stages_of(outputs)
        tensors = [*inputs, *(one.outputs[0] for one in self.stages)]
        self.before = {id(one): _sizes(one) for one in tensors}
        self.shapes = dict(self.before)
        self.readers: dict[int, list[Operation]] = defaultdict(list)
        for op in self.stages:
            for tensor in op.input_tensors:
                self.readers[id(tensor)].append(op)
        self.reshapes = {
            id(op.outputs[0]): op.input_tensors[0] for op in self.stages if _is_reshape(op)
        }
        ends = {id(one) for one in (*inputs, *outputs)}
        self.copied = frozenset(
            id(one) for one in outputs if any(id(tensor) in ends for tensor in self._sources(one))
        )

    def run(self) -> ReshapeElimination:
        for op in self.stages:
            made = op.outputs[0]
            source = self.reshapes.get(id(made))
            if source is None:
                continue
            own, other = self.shapes[id(made)], self.shapes[id(source)]
            for start, shape in ((made, other), (source, own)):
                region = self._region(start, shape) if own != other else None
                if region is not None:
                    self.shapes |= dict.fromkeys(region, shape)
                    break
        changed = {key: shape for key, shape in self.shapes.items() if shape != self.before[key]}
        eliminated = frozenset(
            made
            for made, source in self.reshapes.items()
            if self.shapes[made] == self.shapes[id(source)]
        )
        return ReshapeElimination(changed, eliminated, self.copied & eliminated)

    def _sources(self, tensor: Tensor) -> list[Tensor]:
        """Returns the operand of each reshape in the chain of reshapes that ends in `tensor`."""
        found = []
        while id(tensor) in self.reshapes:
            tensor = self.reshapes[id(tensor)]
            found.append(tensor)
        return found

    def _region(self, start: Tensor, shape: Shape) -> set[int] | None:
        """Returns the ``id`` of each tensor that must have the shape `shape` if `start` has it.

        Returns None if one of these tensors cannot have this shape.
        """
        found: set[int] = set()
        waiting = [start]
        while waiting:
            tensor = waiting.pop()
            if id(tensor) in found:
                continue
            found.add(id(tensor))
            own = self.shapes[id(tensor)]
            is_filled = _repeats_one_element(tensor.op, len(shape))
            for op in self.readers[id(tensor)] + ([] if is_filled else [tensor.op]):
                if op.kind == "placeholder":
                    continue
                around = [*op.input_tensors, op.outputs[0]]
                if not self._is_flexible(op):
                    return None
                waiting += [one for one in around if self.shapes[id(one)] == own]
                if any(self.shapes[id(one)] not in (own, shape) for one in around):
                    return None
        return found

    def _is_flexible(self, op: Operation) -> bool:
        """Whether the stage allows other shapes, that is, is a reshape or element-wise."""
        if _is_reshape(op):
            return True
        use, made = op.dsl_call, self.before[id(op.outputs[0])]
        return (
            use is not None
            and use.name in SHAPELESS_OPERATIONS
            and all(self.before[id(one)] == made for one in op.input_tensors)
        )


def _is_reshape(op: Operation) -> bool:
    return op.dsl_call is not None and op.dsl_call.name == "reshape"


def _repeats_one_element(op: Operation, rank: int) -> bool:
    """Whether the stage broadcasts one element, and thus allows any result shape of rank `rank`."""
    is_fill = op.dsl_call is not None and op.dsl_call.name == "broadcast"
    return is_fill and all(
        math.prod(_sizes(one)) == 1 and one.ndim <= rank for one in op.input_tensors
    )


def _sizes(tensor: Tensor) -> Shape:
    return tuple(int(size.value) for size in tensor.shape if isinstance(size, Const))
