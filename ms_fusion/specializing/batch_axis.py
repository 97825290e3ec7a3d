"""May a batch be padded? A proof by reading: the same net at two batch sizes, operator by operator.

A net is compiled for a batch of n samples and for one of N. Where a tensor's shape differs between the two it carries the
batch, in blocks of m elements for each sample (a size n·m became N·m), samples one after another. An operator keeps that
so or mixes samples; what is not known to keep it is taken to mix. When the whole net keeps it, the first n samples of
its results at N are its results at n, whatever the other samples hold.

One file of more than 500 lines: it is one proof, operator family by operator family.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Set
from dataclasses import dataclass
from math import prod
from types import MappingProxyType
from typing import Any

from ms_fusion.graph import Graph, Node, Value


@dataclass(frozen=True)
class Carried:
    """Where a tensor carries the batch.

    Attributes:
        axis: counted from the front.
        block: how many places of the axis belong to one sample.
    """

    axis: int
    block: int = 1


@dataclass(frozen=True)
class Proof:
    """What was found.

    Attributes:
        results: for each result where it carries the batch, None where it does not; empty when `reason` says why not.
        reason: why samples cannot be told apart; empty when they can.
    """

    results: tuple[Carried | None, ...] = ()
    reason: str = ""


class _MixedError(Exception):
    """Samples may be mixed; its text says where and why."""


@dataclass(frozen=True)
class _Operator:
    """One operator: its tensors' shapes (at n samples), its constants, where they carry the batch, and the numbers of the
    inputs that are sizes which grow with it."""

    node: Node
    shapes: tuple[tuple[int, ...], ...]
    data: tuple[Any, ...]
    carried: tuple[Carried | None, ...]
    grows: frozenset[int]
    outputs: tuple[tuple[int, ...], ...]
    results: tuple[Carried | None, ...]

    def constant(self, index: int, name: str, default: Any = None) -> Any:
        """What is given as input number `index`, or as the attribute `name` in older graphs."""
        if index < len(self.data) and self.data[index] is not None:
            return self.data[index]
        return self.node.attr(name, default)


Rule = Callable[[_Operator], bool]
"""Whether the samples stay apart."""


def prove(small: Graph, large: Graph, samples: int, padded: int) -> Proof:
    """Whether `large` computes for each sample what `small` does.

    Args:
        small: the net at `samples` samples, as MindSpore's front end sees it.
        large: the same at `padded` samples.
    """
    if len(small.nodes) != len(large.nodes) or len(small.inputs) != len(large.inputs):
        return Proof(reason=f"its operators are others at a batch of {padded}")
    pairs: dict[str, str] = dict(zip(small.inputs, large.inputs, strict=True))
    carried: dict[str, Carried | None] = {}
    sizes: set[str] = set()
    try:
        for one, other in zip(small.nodes, large.nodes, strict=True):
            _same_operator(one, other, padded)
            for name, partner in zip(
                (*one.inputs, *one.outputs), (*other.inputs, *other.outputs), strict=True
            ):
                if pairs.setdefault(name, partner) != partner:
                    raise _MixedError(
                        f"{_place(one)} is connected otherwise at a batch of {padded}"
                    )
                if name not in carried:
                    value, other_value = small.values[name], large.values[partner]
                    carried[name] = _carried(value, other_value, samples, padded, one)
                    if value.data != other_value.data:
                        sizes.add(name)
            _check(one, small, carried, sizes)
        for name, partner in zip(small.outputs, large.outputs, strict=True):
            if name not in carried:
                carried[name] = _carried(
                    small.values[name], large.values[partner], samples, padded, None
                )
    except _MixedError as reason:
        return Proof(reason=str(reason))
    return Proof(results=tuple(carried[name] for name in small.outputs))


def _same_operator(one: Node, other: Node, padded: int) -> None:
    same = one.op == other.op and len(one.inputs) == len(other.inputs)
    if not same or len(one.outputs) != len(other.outputs):
        raise _MixedError(f"{_place(one)} is {other.op} at a batch of {padded}")
    if _attributes(one) != _attributes(other):
        raise _MixedError(f"{_place(one)} has other attributes at a batch of {padded}")


def _attributes(node: Node) -> dict[str, Any]:
    return {name: value for name, value in node.attrs if name != "instance name"}


def _carried(
    one: Value, other: Value, samples: int, padded: int, node: Node | None
) -> Carried | None:
    """Where the shapes differ; raises when it is no batch axis, or when constants differ."""
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
        found = Carried(axis, block)
    if one.kind == "constant":
        _same_constant(one, other, samples, padded, where)
        if found and one.data is None:
            raise _MixedError(f"{where} has a constant of the batch's size")
    elif one.kind == "parameter" and found:
        raise _MixedError(f"{where} has a weight of the batch's size")
    return found


def _same_constant(one: Value, other: Value, samples: int, padded: int, where: str) -> None:
    """Constants are equal, or sizes: integers that grow with the batch (checked where a shape is made of them)."""
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


def _check(
    node: Node, graph: Graph, carried: Mapping[str, Carried | None], sizes: Set[str]
) -> None:
    inputs = [graph.values[name] for name in node.inputs]
    outputs = [graph.values[name] for name in node.outputs]
    operator = _Operator(
        node,
        tuple(_sizes(value) for value in inputs),
        tuple(value.data if value.kind == "constant" else None for value in inputs),
        tuple(carried[value.name] for value in inputs),
        frozenset(index for index, name in enumerate(node.inputs) if name in sizes),
        tuple(_sizes(value) for value in outputs),
        tuple(carried[value.name] for value in outputs),
    )
    rule = RULES.get(node.op)
    if rule is None:
        raise _MixedError(f"{_place(node)} is not known to keep samples apart")
    if not operator.grows <= SIZES.get(node.op, frozenset()):
        raise _MixedError(f"{_place(node)} computes with the size of the batch")
    if not any(operator.carried):
        if any(operator.results) and node.op not in SIZES:
            raise _MixedError(f"{_place(node)} makes a batch of something else")
        return
    if not rule(operator):
        raise _MixedError(f"{_place(node)} mixes the samples of a batch")


def _sizes(value: Value) -> tuple[int, ...]:
    return tuple(int(size) for size in value.shape)


def _place(node: Node) -> str:
    source = f" ({node.sources[-1]})" if node.sources else ""
    return f"{node.op}{source}"


# The rules: each is asked only when an input carries the batch.


def _elementwise(operator: _Operator) -> bool:
    """Inputs are aligned at their last axes with every output."""
    return all(
        result is not None
        and all(
            item is None
            or (item.block == result.block and len(shape) - item.axis == len(output) - result.axis)
            for item, shape in zip(operator.carried, operator.shapes, strict=True)
        )
        for result, output in zip(operator.results, operator.outputs, strict=True)
    )


def _along(index: int, name: str, default: Any = None) -> Rule:
    """Works along the axes that its input `index` (or attribute `name`) tells; each is not the batch's."""

    def rule(operator: _Operator) -> bool:
        return all(operator.results) and _avoids(operator, operator.constant(index, name, default))

    return rule


def _avoids(operator: _Operator, axes: Any) -> bool:
    first = operator.carried[0]
    rank = len(operator.shapes[0])
    if first is None or axes is None or any(operator.carried[1:]):
        return False
    return first.axis not in {axis % rank for axis in _numbers(axes)} and axes != ()


def _numbers(data: Any) -> tuple[int, ...]:
    return tuple(data) if isinstance(data, (tuple, list)) else (data,)


def _joined(operator: _Operator) -> bool:
    """Concat: along another axis, and all that carry the batch carry it alike."""
    axis = operator.constant(len(operator.shapes) - 1, "axis")
    result, rank = operator.results[0], len(operator.outputs[0])
    tensors = [item for item, shape in zip(operator.carried, operator.shapes, strict=True) if shape]
    return (
        isinstance(axis, int)
        and result is not None
        and axis % rank != result.axis
        and all(item == result for item in tensors)
    )


def _stacked(operator: _Operator) -> bool:
    """A new axis; all that is stacked carries the batch alike."""
    result = operator.results[0]
    axis = operator.node.attr("axis", 0) % len(operator.outputs[0])
    before = {item for item, shape in zip(operator.carried, operator.shapes, strict=True) if shape}
    if result is None or len(before) != 1 or None in before:
        return False
    (item,) = before
    return item is not None and result == Carried(item.axis + (axis <= item.axis), item.block)


def _reshaped(operator: _Operator) -> bool:
    """The same elements in the same order: as many stand before the batch as did, so each sample stays in one piece."""
    item, result = operator.carried[0], operator.results[0]
    if item is None or result is None or any(operator.carried[1:]):
        return False
    return prod(operator.shapes[0][: item.axis]) == prod(operator.outputs[0][: result.axis])


def _transposed(operator: _Operator) -> bool:
    item, result, order = (
        operator.carried[0],
        operator.results[0],
        operator.constant(1, "perm"),
    )
    if item is None or result is None or order is None:
        return False
    rank = len(order)
    return order[result.axis] % rank == item.axis and item.block == result.block


def _product(transposes: tuple[int, int] | None) -> Rule:
    """a · b: the batch stands in rows of a, in columns of b, or in the leading axes of both; never where is summed."""

    def rule(operator: _Operator) -> bool:
        result = operator.results[0]
        first, second = operator.carried[:2]
        if result is None or any(operator.carried[2:]):
            return False
        flags = [
            bool(operator.constant(index, name, False)) if transposes else False
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

    return rule


def _dense(operator: _Operator) -> bool:
    """x · wᵀ + b: any axis of x but its last; the weights carry nothing."""
    item, result = operator.carried[0], operator.results[0]
    return (
        item is not None
        and item == result
        and item.axis != len(operator.shapes[0]) - 1
        and not any(operator.carried[1:])
    )


def _images(operator: _Operator) -> bool:
    """Convolution, pooling, resizing: samples are the first axis of four or five; weights carry nothing."""
    item = operator.carried[0]
    return (
        item is not None
        and item.axis == 0
        and len(operator.shapes[0]) >= 4
        and not any(operator.carried[1:])
        and all(result == item for result in operator.results)
    )


def _batch_norm(operator: _Operator) -> bool:
    """In inference only: in training its mean is taken over the batch."""
    item = operator.carried[0]
    training = operator.constant(5, "is_training", True)
    return item is not None and item.axis == 0 and training is False and operator.results[0] == item


def _layer_norm(operator: _Operator) -> bool:
    item, begin = operator.carried[0], operator.constant(3, "begin_norm_axis")
    if item is None or not isinstance(begin, int) or any(operator.carried[1:]):
        return False
    return item.axis < begin % len(operator.shapes[0])


def _layer_norm_ext(operator: _Operator) -> bool:
    item, normalised = operator.carried[0], operator.constant(1, "normalized_shape")
    if item is None or normalised is None or any(operator.carried[1:]):
        return False
    return item.axis < len(operator.shapes[0]) - len(normalised)


def _rows(operator: _Operator) -> bool:
    """Works along the last axis."""
    item = operator.carried[0]
    return (
        item is not None
        and item.axis != len(operator.shapes[0]) - 1
        and not any(operator.carried[1:])
        and all(result is None or result.axis == item.axis for result in operator.results)
    )


def _gathered(operator: _Operator) -> bool:
    """Rows of a table that carries nothing, or a batch of tables read with the same indices along another axis."""
    table, indices = operator.carried[:2]
    axis = operator.constant(2, "axis", 0)
    if not isinstance(axis, int) or operator.constant(3, "batch_dims", 0) != 0:
        return False
    result = operator.results[0]
    axis %= len(operator.shapes[0])
    if indices is not None:
        return table is None and result == Carried(axis + indices.axis, indices.block)
    return table is not None and table.axis != axis and result is not None


def _looked_up(operator: _Operator) -> bool:
    """Embedding(indices, table)."""
    return (
        operator.carried[0] is not None
        and not any(operator.carried[1:])
        and operator.results[0] == operator.carried[0]
    )


def _sliced(operator: _Operator) -> bool:
    """Every sample is taken, one after another; single places are taken of other axes only."""
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


def _tiled(operator: _Operator) -> bool:
    item, result = operator.carried[0], operator.results[0]
    times = operator.constant(1, "multiples")
    if item is None or result is None or times is None:
        return False
    place = item.axis - len(operator.shapes[0])
    return place < -len(times) or times[place] == 1


def _constant(operator: _Operator) -> bool:
    """Nothing is read of the tensor but its dtype."""
    return True


def _one_hot(operator: _Operator) -> bool:
    item, result = operator.carried[0], operator.results[0]
    return (
        item is not None
        and result is not None
        and not any(operator.carried[1:])
        and item.block == result.block
    )


SIZES: Mapping[str, frozenset[int]] = MappingProxyType(
    {
        "BroadcastTo": frozenset({1}),
        "FillV2": frozenset({0}),
        "Fills": frozenset({0}),
        "NewOnes": frozenset({1}),
        "NewZeros": frozenset({1}),
        "Ones": frozenset({0}),
        "Reshape": frozenset({1}),
        "StridedSlice": frozenset({2}),
        "Tile": frozenset({1}),
        "Zeros": frozenset({0}),
    }
)
"""Which of their inputs may be sizes that grow with the batch; of one sample they make a batch of equal ones."""

_ELEMENTWISE = """Abs ACos Acosh Add AddExt AddN AddScalar Asin Asinh Atan Atan2 Atanh BiasAdd BitwiseAnd BitwiseOr
BitwiseXor BroadcastTo Cast Ceil ClampScalar ClampTensor Clamp Cos Cosh Div DivMod Divs Elu EluExt Equal Erf Erfc Exp
Expm1 FastGeLU FillV2 Fills Floor FloorDiv FloorMod GeLU GeluExt Greater GreaterEqual HSigmoid HSwish Identity
Inv IsFinite IsInf IsNan LeakyReLU LeakyReLUExt Less LessEqual Log Log1p LogSigmoid LogSigmoidExt LogicalAnd LogicalNot
LogicalOr LogicalXor Maximum Minimum Mish Mod Mul Muls MaskedFill Neg NotEqual OnesLike OnesLikeExt Ones Pow
PowScalarTensor PowTensorScalar PReLU RealDiv Reciprocal ReLU ReLU6 Rint Round Rsqrt Select SeLU SeLUExt SiLU Sigmoid
Sign Sin Sinh Softplus SoftplusExt Softsign Sqrt Square SquaredDifference Sub SubExt SubScalar Swish Tan Tanh Threshold
Trunc Xdivy Xlogy Zeros ZerosLike ZerosLikeExt StopGradient""".split()

_REDUCTIONS = """ReduceAll ReduceAny ReduceMax ReduceMean ReduceMin ReduceProd ReduceSum SumExt MeanExt""".split()

_IMAGES = """AdaptiveAvgPool2D AdaptiveAvgPool2DExt AdaptiveMaxPool2D AvgPool AvgPool3D Conv2D Conv2DExt
Conv2DTranspose Conv3D ConvTranspose2D MaxPool MaxPool3D MaxPoolWithArgmax MaxPoolWithArgmaxV2 MaxPoolWithIndices
MaxPoolWithMask ResizeBicubic ResizeBilinearV2 ResizeNearestNeighbor ResizeNearestNeighborV2 UpsampleBilinear2D UpsampleNearest2D
GroupNorm""".split()

RULES: Mapping[str, Rule] = MappingProxyType(
    dict.fromkeys(_ELEMENTWISE, _elementwise)
    | dict.fromkeys(_REDUCTIONS, _along(1, "axis"))
    | dict.fromkeys(_IMAGES, _images)
    | dict.fromkeys(
        ("Reshape", "Flatten", "FlattenExt", "ExpandDims", "Squeeze", "View"), _reshaped
    )
    | {
        "ArgMaxWithValue": _along(1, "axis"),
        "ArgMinWithValue": _along(1, "axis"),
        "Argmax": _along(1, "axis", -1),
        "Argmin": _along(1, "axis", -1),
        "CumSum": _along(1, "axis"),
        "CumProd": _along(1, "axis"),
        "LogSoftmax": _along(1, "axis", -1),
        "LogSoftmaxExt": _along(1, "dim"),
        "ReverseV2": _along(1, "axis"),
        "Softmax": _along(1, "axis", -1),
        "Split": _along(1, "axis"),
        "BatchMatMul": _product((2, 3)),
        "BatchMatMulExt": _product(None),
        "BatchNorm": _batch_norm,
        "BatchNormExt": _batch_norm,
        "Concat": _joined,
        "Dense": _dense,
        "Embedding": _looked_up,
        "Gather": _gathered,
        "LayerNorm": _layer_norm,
        "LayerNormExt": _layer_norm_ext,
        "MatMul": _product((2, 3)),
        "MatMulExt": _product(None),
        "NewOnes": _constant,
        "NewZeros": _constant,
        "OneHot": _one_hot,
        "RmsNorm": _rows,
        "Stack": _stacked,
        "StridedSlice": _sliced,
        "Tile": _tiled,
        "TopK": _rows,
        "Transpose": _transposed,
    }
)
"""By operator. What does not stand here is taken to mix samples: so are random numbers and everything that writes."""
