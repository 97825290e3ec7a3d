"""Decides whether a batch may be padded: compares the graphs of a net at two batch sizes.

MindSpore's front end compiles the net for a batch of n samples and for a batch of N samples. A
tensor has a batch axis if its shape differs between the two graphs. One extent must be n·m in the
first graph and N·m in the second graph. Each sample then has m consecutive elements along this
axis. Each operator type has a rule (`ms_fusion.ops`) that decides whether an operator keeps the
samples separate and in order. An operator without a rule is treated as if it mixed samples. If all
operators keep the samples separate, the first n samples of the results at batch size N equal the
results at batch size n. The values of the other N − n input samples do not influence them.

This module exceeds 500 lines because the rules of all operator families belong to one proof.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ops import operator_info
from ms_fusion.ops.op_info import Batch, BatchRule


@dataclass(frozen=True)
class BatchAxis:
    """The batch axis of a tensor, and the extent of each sample along this axis.

    Attributes:
        axis: index of the axis.
        block: number of consecutive elements of each sample along the axis.
    """

    axis: int
    block: int = 1


@dataclass(frozen=True)
class PaddingProof:
    """The result of `prove`: whether padding a batch leaves the results of the net unchanged.

    Attributes:
        results: tuple with the batch axis of each result of the net, or None for a result without a
            batch axis. The tuple is empty if the proof failed.
        reason: the reason why the proof failed; empty if the proof succeeded.
    """

    results: tuple[BatchAxis | None, ...] = ()
    reason: str = ""


class _MixedError(Exception):
    """An operator may mix samples; the message names the operator and the reason."""


@dataclass(frozen=True)
class _Operator:
    """One operator of the graph that is compiled for the smaller batch size.

    Attributes:
        node: the operator's node in the graph.
        shapes: shape of each input.
        data: for each input, its value if the input is a constant, else None.
        carried: batch axis of each input, or None for an input without a batch axis.
        grows: indices of the constant inputs whose value depends on the batch size.
        outputs: shape of each output.
        results: batch axis of each output, or None for an output without a batch axis.
        rule: the rule of the operator type.
    """

    node: Node
    shapes: tuple[tuple[int, ...], ...]
    data: tuple[Any, ...]
    carried: tuple[BatchAxis | None, ...]
    grows: frozenset[int]
    outputs: tuple[tuple[int, ...], ...]
    results: tuple[BatchAxis | None, ...]
    rule: BatchRule

    def constant(self, index: int, name: str, default: Any = None) -> Any:
        """Returns the constant value of input `index`, or the value of the attribute `name`.

        Older versions of MindSpore store the value in the attribute instead of the input.
        """
        if index < len(self.data) and self.data[index] is not None:
            return self.data[index]
        return self.node.attr(name, default)


Rule = Callable[[_Operator], bool]
"""Function that returns whether an operator keeps the samples of a batch separate and in order."""


def prove(small: Graph, large: Graph, samples: int, padded: int) -> PaddingProof:
    """Decides whether a net computes the same results for a sample at two batch sizes.

    Args:
        small: graph of the net for a batch of `samples` samples, from MindSpore's front end.
        large: graph of the same net for a batch of `padded` samples.
    """
    if len(small.nodes) != len(large.nodes) or len(small.inputs) != len(large.inputs):
        return PaddingProof(reason=f"its operators are others at a batch of {padded}")
    pairs: dict[str, str] = dict(zip(small.inputs, large.inputs, strict=True))
    carried: dict[str, BatchAxis | None] = {}
    sizes: set[str] = set()
    try:
        for one, other in zip(small.nodes, large.nodes, strict=True):
            _check_same_operator(one, other, padded)
            for name, partner in zip(
                (*one.inputs, *one.outputs), (*other.inputs, *other.outputs), strict=True
            ):
                if pairs.setdefault(name, partner) != partner:
                    raise _MixedError(
                        f"{_place(one)} is connected otherwise at a batch of {padded}"
                    )
                if name not in carried:
                    value, other_value = small.values[name], large.values[partner]
                    carried[name] = _find_batch_axis(value, other_value, samples, padded, one)
                    if value.data != other_value.data:
                        sizes.add(name)
            _check_operator(one, small, carried, sizes)
        for name, partner in zip(small.outputs, large.outputs, strict=True):
            if name not in carried:
                carried[name] = _find_batch_axis(
                    small.values[name], large.values[partner], samples, padded, None
                )
    except _MixedError as reason:
        return PaddingProof(reason=str(reason))
    return PaddingProof(results=tuple(carried[name] for name in small.outputs))


def _check_same_operator(one: Node, other: Node, padded: int) -> None:
    same = one.op == other.op and len(one.inputs) == len(other.inputs)
    if not same or len(one.outputs) != len(other.outputs):
        raise _MixedError(f"{_place(one)} is {other.op} at a batch of {padded}")
    if _attributes(one) != _attributes(other):
        raise _MixedError(f"{_place(one)} has other attributes at a batch of {padded}")


def _attributes(node: Node) -> dict[str, Any]:
    return {name: value for name, value in node.attrs if name != "instance name"}


def _find_batch_axis(
    one: Value, other: Value, samples: int, padded: int, node: Node | None
) -> BatchAxis | None:
    """Returns the axis in which the shapes of `one` and `other` differ; None for equal shapes.

    `one` and `other` are the same tensor in the graphs for `samples` and for `padded` samples.

    Raises:
        _MixedError: a shape or dtype is unknown, more than one axis differs, the extents of the
            axis are not proportional to the numbers of samples, or a constant or a weight depends
            on the batch size.
    """
    where = _place(node) if node else "a result"
    if one.is_dynamic or other.is_dynamic or one.dtype != other.dtype:
        raise _MixedError(f"{where} has a shape or dtype that is not known")
    different = [
        axis
        for axis, sizes in enumerate(zip(one.shape, other.shape, strict=False))
        if sizes[0] != sizes[1]
    ]
    if len(one.shape) != len(other.shape) or len(different) > 1:
        raise _MixedError(f"{where}: {one.shape} becomes {other.shape} at a batch of {padded}")
    found = None
    if different:
        axis = different[0]
        block, rest = divmod(int(one.shape[axis]), samples)
        if rest or not block or block * padded != other.shape[axis]:
            raise _MixedError(f"{where}: {one.shape} becomes {other.shape} at a batch of {padded}")
        found = BatchAxis(axis, block)
    if one.kind == "constant":
        _check_same_constant(one, other, samples, padded, where)
        if found and one.data is None:
            raise _MixedError(f"{where} has a constant of the batch's size")
    elif one.kind == "parameter" and found:
        raise _MixedError(f"{where} has a weight of the batch's size")
    return found


def _check_same_constant(one: Value, other: Value, samples: int, padded: int, where: str) -> None:
    """Raises `_MixedError` if two constants differ and are not vectors of sizes.

    A vector of sizes has the dtype int64. Each of its elements is equal in both constants, or is
    proportional to the batch size. `_check_operator` checks whether an operator may read a vector
    of sizes. Scalars whose values are unknown are treated as equal.
    """
    if one.data is None and other.data is None and one.shape == ():
        return
    if one.data is None or other.data is None:
        raise _MixedError(f"{where} has a constant that cannot be compared")
    if one.data == other.data:
        return
    integers = one.dtype == "int64" and len(one.shape) == 1 and one.shape == other.shape
    if integers and all(
        first == second or (first % samples == 0 and first // samples * padded == second)
        for first, second in zip(one.data, other.data, strict=True)
    ):
        return
    raise _MixedError(f"{where} has a constant that depends on the batch")


def _check_operator(
    node: Node, graph: Graph, carried: Mapping[str, BatchAxis | None], sizes: Set[str]
) -> None:
    inputs = [graph.values[name] for name in node.inputs]
    outputs = [graph.values[name] for name in node.outputs]
    rule = operator_info(node.op).batch
    if rule is None:
        raise _MixedError(f"{_place(node)} is not known to keep samples apart")
    operator = _Operator(
        node,
        tuple(_sizes(value) for value in inputs),
        tuple(value.data if value.kind == "constant" else None for value in inputs),
        tuple(carried[value.name] for value in inputs),
        frozenset(index for index, name in enumerate(node.inputs) if name in sizes),
        tuple(_sizes(value) for value in outputs),
        tuple(carried[value.name] for value in outputs),
        rule,
    )
    if not operator.grows <= rule.sizes:
        raise _MixedError(f"{_place(node)} computes with the size of the batch")
    if not any(operator.carried):
        if any(operator.results) and not rule.sizes:
            raise _MixedError(f"{_place(node)} makes a batch of something else")
        return
    if not RULES[rule.kind](operator):
        raise _MixedError(f"{_place(node)} mixes the samples of a batch")


def _sizes(value: Value) -> tuple[int, ...]:
    return tuple(int(size) for size in value.shape)


def _place(node: Node) -> str:
    source = f" ({node.sources[-1]})" if node.sources else ""
    return f"{node.op}{source}"


# Rules. `_check_operator` calls a rule only if at least one input carries the batch.


def _elementwise_rule(operator: _Operator) -> bool:
    """Returns whether an elementwise operator keeps the samples separate and in order.

    Broadcasting aligns the last axes. So the batch axis of an input must have the same distance
    from the last axis as the batch axis of the result.
    """
    return all(
        result is not None
        and all(
            item is None
            or (item.block == result.block and len(shape) - item.axis == len(output) - result.axis)
            for item, shape in zip(operator.carried, operator.shapes, strict=True)
        )
        for result, output in zip(operator.results, operator.outputs, strict=True)
    )


def _axis_rule(operator: _Operator) -> bool:
    """Returns whether an operator that reduces or reorders along axes keeps the samples separate.

    The axes along which the operator reduces or reorders must not include the batch axis of the
    first input. These axes are the constant value of input 1. In graphs of older MindSpore
    versions, they are an attribute.
    """
    axes = operator.constant(1, *operator.rule.axis)
    return all(operator.results) and _has_no_batch_axis(operator, axes)


def _has_no_batch_axis(operator: _Operator, axes: Any) -> bool:
    first = operator.carried[0]
    rank = len(operator.shapes[0])
    if first is None or axes is None or any(operator.carried[1:]):
        return False
    return first.axis not in {axis % rank for axis in _numbers(axes)} and axes != ()


def _numbers(data: Any) -> tuple[int, ...]:
    return tuple(data) if isinstance(data, (tuple, list)) else (data,)


def _concat_rule(operator: _Operator) -> bool:
    """Returns whether Concat keeps the samples separate and in order.

    All inputs must have the same batch axis, and Concat must join them along another axis.
    """
    axis = operator.constant(len(operator.shapes) - 1, "axis")
    result, rank = operator.results[0], len(operator.outputs[0])
    tensors = [item for item, shape in zip(operator.carried, operator.shapes, strict=True) if shape]
    return (
        isinstance(axis, int)
        and result is not None
        and axis % rank != result.axis
        and all(item == result for item in tensors)
    )


def _stack_rule(operator: _Operator) -> bool:
    """Returns whether Stack keeps the samples separate and in order.

    Stack joins its inputs along a new axis, so all inputs must have the same batch axis.
    """
    result = operator.results[0]
    axis = operator.node.attr("axis", 0) % len(operator.outputs[0])
    before = {item for item, shape in zip(operator.carried, operator.shapes, strict=True) if shape}
    if result is None or len(before) != 1 or None in before:
        return False
    (item,) = before
    return item is not None and result == BatchAxis(item.axis + (axis <= item.axis), item.block)


def _reshape_rule(operator: _Operator) -> bool:
    """Returns whether a reshape keeps the samples separate and in order.

    A reshape keeps the order of the elements. Let n be the product of the sizes of all axes before
    the batch axis. The samples stay separate and in order if n is equal in input and output.
    """
    item, result = operator.carried[0], operator.results[0]
    if item is None or result is None or any(operator.carried[1:]):
        return False
    return prod(operator.shapes[0][: item.axis]) == prod(operator.outputs[0][: result.axis])


def _transpose_rule(operator: _Operator) -> bool:
    item, result, order = (
        operator.carried[0],
        operator.results[0],
        operator.constant(1, "perm"),
    )
    if item is None or result is None or order is None:
        return False
    rank = len(order)
    return order[result.axis] % rank == item.axis and item.block == result.block


def _product_rule(operator: _Operator) -> bool:
    """Returns whether a matrix product a · b keeps the samples separate and in order.

    The batch axis may be the row axis of a, the column axis of b, or an axis before the last two.
    The batch axis must not be the axis over which the product sums.
    """
    result = operator.results[0]
    first, second = operator.carried[:2]
    if result is None or any(operator.carried[2:]):
        return False
    has_flags = operator.rule.kind is Batch.MATRIX_PRODUCT
    flags = [
        has_flags and bool(operator.constant(index, name, False))
        for index, name in ((2, "transpose_a"), (3, "transpose_b"))
    ]
    rank = len(operator.outputs[0])
    a_rank, b_rank = len(operator.shapes[0]), len(operator.shapes[1])
    if min(a_rank, b_rank) < 2:
        return False
    places = []
    for item, own, flag, summed in (
        (first, a_rank, flags[0], -1),
        (second, b_rank, flags[1], -2),
    ):
        if item is None:
            continue
        axis = item.axis - own
        if axis >= -2 and flag:
            axis = -3 - axis
        if axis == summed:
            return False
        places.append((axis, item.block))
    return all(place == (result.axis - rank, result.block) for place in places)


def _dense_rule(operator: _Operator) -> bool:
    """Returns whether a dense layer x · wᵀ + b keeps the samples separate and in order.

    Only x may have a batch axis, which must not be the last axis of x.
    """
    item, result = operator.carried[0], operator.results[0]
    return (
        item is not None
        and item == result
        and item.axis != len(operator.shapes[0]) - 1
        and not any(operator.carried[1:])
    )


def _image_rule(operator: _Operator) -> bool:
    """Returns whether a convolution, pooling or resizing keeps the samples separate and in order.

    The images must have rank 4 or more, and axis 0 must be their batch axis. The weights must have
    no batch axis.
    """
    item = operator.carried[0]
    return (
        item is not None
        and item.axis == 0
        and len(operator.shapes[0]) >= 4
        and not any(operator.carried[1:])
        and all(result == item for result in operator.results)
    )


def _batch_norm_rule(operator: _Operator) -> bool:
    """Returns whether BatchNorm keeps the samples separate: True except in training."""
    item = operator.carried[0]
    training = operator.constant(5, "is_training", True)
    return item is not None and item.axis == 0 and training is False and operator.results[0] == item


def _layer_norm_rule(operator: _Operator) -> bool:
    item, begin = operator.carried[0], operator.constant(3, "begin_norm_axis")
    if item is None or not isinstance(begin, int) or any(operator.carried[1:]):
        return False
    return item.axis < begin % len(operator.shapes[0])


def _layer_norm_ext_rule(operator: _Operator) -> bool:
    item, normalised = operator.carried[0], operator.constant(1, "normalized_shape")
    if item is None or normalised is None or any(operator.carried[1:]):
        return False
    return item.axis < len(operator.shapes[0]) - len(normalised)


def _last_axis_rule(operator: _Operator) -> bool:
    """Returns whether an operator such as Softmax on the last axis keeps the samples separate.

    The operator computes along the last axis. So the last axis must not be the batch axis.
    """
    item = operator.carried[0]
    return (
        item is not None
        and item.axis != len(operator.shapes[0]) - 1
        and not any(operator.carried[1:])
        and all(result is None or result.axis == item.axis for result in operator.results)
    )


def _gather_rule(operator: _Operator) -> bool:
    """Returns whether Gather keeps the samples separate and in order.

    There are two allowed cases. In the first, only the indices have a batch axis. In the second,
    only the table has a batch axis, and Gather selects along another axis of the table.
    """
    table, indices = operator.carried[:2]
    axis = operator.constant(2, "axis", 0)
    if not isinstance(axis, int) or operator.constant(3, "batch_dims", 0) != 0:
        return False
    result = operator.results[0]
    axis %= len(operator.shapes[0])
    if indices is not None:
        return table is None and result == BatchAxis(axis + indices.axis, indices.block)
    return table is not None and table.axis != axis and result is not None


def _embedding_rule(operator: _Operator) -> bool:
    """Returns whether Embedding(indices, table) keeps the samples separate and in order.

    Only the indices may have a batch axis.
    """
    return (
        operator.carried[0] is not None
        and not any(operator.carried[1:])
        and operator.results[0] == operator.carried[0]
    )


def _strided_slice_rule(operator: _Operator) -> bool:
    """Returns whether StridedSlice keeps the samples separate and in order.

    All strides must be 1, and the result must have the same batch axis as the input.
    """
    item, result = operator.carried[0], operator.results[0]
    strides, masks = (
        operator.constant(3, "strides"),
        [operator.constant(index, name, 0) for index, name in enumerate(_MASKS, 6)],
    )
    if (
        item is None
        or result is None
        or strides is None
        or any(operator.carried[1:])
        or masks[:2] != [0, 0]
    ):
        return False
    taken = [axis for axis in range(len(operator.shapes[0])) if not masks[2] >> axis & 1]
    return (
        item.axis in taken
        and taken.index(item.axis) == result.axis
        and item.block == result.block
        and all(step == 1 for step in strides)
    )


_MASKS = ("ellipsis_mask", "new_axis_mask", "shrink_axis_mask")


def _tile_rule(operator: _Operator) -> bool:
    item, result = operator.carried[0], operator.results[0]
    times = operator.constant(1, "multiples")
    if item is None or result is None or times is None:
        return False
    place = item.axis - len(operator.shapes[0])
    return place < -len(times) or times[place] == 1


def _one_hot_rule(operator: _Operator) -> bool:
    item, result = operator.carried[0], operator.results[0]
    return (
        item is not None
        and result is not None
        and not any(operator.carried[1:])
        and item.block == result.block
    )


RULES: Mapping[Batch, Rule] = MappingProxyType(
    {
        Batch.ELEMENTWISE: _elementwise_rule,
        Batch.ALONG_AXES: _axis_rule,
        Batch.IMAGE: _image_rule,
        Batch.RESHAPE: _reshape_rule,
        Batch.TRANSPOSE: _transpose_rule,
        Batch.MATRIX_PRODUCT: _product_rule,
        Batch.MATRIX_PRODUCT_WITHOUT_FLAGS: _product_rule,
        Batch.DENSE: _dense_rule,
        Batch.BATCH_NORM: _batch_norm_rule,
        Batch.LAYER_NORM: _layer_norm_rule,
        Batch.LAYER_NORM_OF_SHAPE: _layer_norm_ext_rule,
        Batch.LAST_AXIS: _last_axis_rule,
        Batch.CONCAT: _concat_rule,
        Batch.STACK: _stack_rule,
        Batch.GATHER: _gather_rule,
        Batch.EMBEDDING: _embedding_rule,
        Batch.STRIDED_SLICE: _strided_slice_rule,
        Batch.TILE: _tile_rule,
        Batch.FILL: lambda operator: True,
        Batch.ONE_HOT: _one_hot_rule,
    }
)
