"""Each ONNX operator as a line of MindSpore: what stands behind ``=`` in the generated net.

One file of more than 500 lines: it is the table of ONNX operators.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import mindspore
from mindspore import Tensor

from custom_ops import LogSoftmax, Softmax
from custom_ops.core.cell import FusedCell
from custom_ops.operators.layer_norm import LAYER_NORM
from custom_ops.operators.rms_norm import RMS_NORM
from ms_fusion.onnx_cell import (
    attention,
    bits,
    boxes,
    distinct,
    einsum,
    images,
    places,
    quantized,
    recurrent,
    regions,
    sampling,
    sequences,
    spectra,
)
from ms_fusion.onnx_cell.operator_use import Use, number

Said = Callable[[Use], str]
MODULES = (
    "attention",
    "boxes",
    "distinct",
    "einsum",
    "functions",
    "places",
    "quantized",
    "recurrent",
    "regions",
    "resizing",
    "sampling",
    "sequences",
    "spectra",
    "windows",
)
"""Modules of this package that nets call."""
INTEGERS_MAX = (1 << 62) - 1
ONE_SCALE_A_CHANNEL = 21
"""Version from which on GroupNormalization has that, before one for a group."""


def _call(word: str) -> Said:
    return lambda use: f"ops.{word}({use.given(*range(len(use.texts)))})"


def _infix(symbol: str) -> Said:
    return lambda use: f"{use.text()} {symbol} {use.text(1)}"


def _several(word: str) -> Said:
    return lambda use: f'functions.several("{word}", ({", ".join(use.texts)},))'


def _own(word: str, *attributes: tuple[str, Any]) -> Said:
    """A function of `functions` that takes all inputs, then attributes."""

    def said(use: Use) -> str:
        told = [number(use.attr(name, default)) for name, default in attributes]
        return f"functions.{word}({', '.join([*use.texts, *told])})"

    return said


def _reduced(word: str, before: str = "{}", after: str = "{}", room: str = "ops") -> Said:
    def said(use: Use) -> str:
        axes, keep = use.filled().axes(), bool(use.attr("keepdims", 1))
        dtype = use.result().dtype
        is_whole, has_end = dtype.startswith(("int", "uint")), after != "{}"
        given = before.format(f"functions.wide({use.text()})" if has_end else use.text())
        found = f"{room}.{word}({given}, {axes}, {keep})" if axes else given
        # MindSpore's sums of whole numbers are int64, and its roots of them float32
        found = after.format(
            f"ops.cast({found}, mindspore.float64)" if is_whole and has_end else found
        )
        is_other = has_end or (is_whole and word in ("sum", "prod"))
        return f"ops.cast({found}, {use.dtype(dtype)})" if is_other else found

    return said


def _soft(made: Callable[[int], Any]) -> Said:
    """By our kernel: where a row is −∞, MindSpore's own leaves wrong numbers in the row behind it."""

    def said(use: Use) -> str:
        axis = use.axis(-1 if use.version >= 13 else 1)
        if use.version < 13 and axis != use.rank() - 1:
            # the axes from the named one on are one
            return f"ops.reshape({use.part('softmax', made(-1))}(functions.flatten({use.text()}, {axis})), {use.text()}.shape)"
        return f"{use.part('softmax', made(axis))}({use.text()})"

    return said


def _divided(use: Use) -> str:
    if use.result().dtype.startswith(("int", "uint")):
        return f"ops.truncate_div({use.given(0, 1)})"
    return f"{use.text()} / {use.text(1)}"


def _power(use: Use) -> str:
    dtype, exponent = use.result().dtype, use.text(1)
    # MindSpore finds no dtype for both
    exponent = (
        f"ops.cast({exponent}, {use.dtype(dtype)})"
        if use.value(1).dtype in ("uint32", "uint64")
        else exponent
    )
    # an exponent of fractions does not make fractions of whole numbers
    power = f"ops.pow({use.text()}, {exponent})"
    return (
        f"ops.cast({power}, {use.dtype(dtype)})"
        if "float" not in dtype and "float" in use.value(1).dtype
        else power
    )


def _chosen(use: Use) -> str:
    found = f"ops.where({use.given(0, 1, 2)})"
    # two numbers of Python say nothing of their dtype
    numbers = all(
        use.value(place).kind == "constant" and not use.value(place).shape for place in (1, 2)
    )
    return f"ops.cast({found}, {use.dtype(use.result().dtype)})" if numbers else found


def _cast(use: Use) -> str:
    return f"ops.cast({use.text()}, {use.dtype(use.result().dtype)})"


def _clipped(use: Use) -> str:
    low, high = (
        (use.text(1), use.text(2))
        if use.version >= 11
        else (_or_none(use, "min"), _or_none(use, "max"))
    )
    found = use.text()
    found = f"ops.maximum({found}, {low})" if low else found
    return f"ops.minimum({found}, {high})" if high else found


def _or_none(use: Use, name: str) -> str:
    found = use.attr(name)
    return "" if found is None else number(float(found))


def _gemm(use: Use) -> str:
    told = [number(float(use.attr(name, 1.0))) for name in ("alpha", "beta")]
    turned = [str(bool(use.attr(name, 0))) for name in ("transA", "transB")]
    bias = [use.text(2)] if use.has(2) else []
    return f"functions.gemm({', '.join([use.given(0, 1), *told, *turned, *bias])})"


def _normed(word: str) -> Said:
    def said(use: Use) -> str:
        axes = tuple(range(use.axis(-1), use.rank()))
        epsilon = use.attr("epsilon", 1e-5)
        own = _own_norm(use, word, len(axes), epsilon)
        made = own or f"functions.{word}({use.text()}, {axes}, {epsilon}, {use.given(1, 2)})"
        if len(use.node.outputs) == 1:
            return made
        results = [
            made,
            *(
                f"functions.{one}"
                for one in (
                    f"mean_of({use.text()}, {axes})",
                    f"deviation_of({use.text()}, {axes}, {epsilon})",
                )
            ),
        ]
        return ", ".join(results[: len(use.node.outputs)])

    return said


def _own_norm(use: Use, word: str, axes: int, epsilon: float) -> str:
    """The same by our kernel, empty where there is none: over so many axes, each with numbers of its own."""
    rank, known = use.rank(), use.value().shape[use.rank() - axes :]
    wanted = 3 if word == "layer_norm" else 2
    fits = all(use.has(place) and use.value(place).shape == known for place in range(1, wanted))
    if not (use.is_fused and fits and use.value().dtype in ("float16", "float32")):
        return ""
    begin = rank - axes
    cell = (
        FusedCell(
            LAYER_NORM, {"begin_norm_axis": begin, "begin_params_axis": begin, "epsilon": epsilon}
        )
        if word == "layer_norm"
        else FusedCell(RMS_NORM, {"epsilon": epsilon})
    )
    return f"{use.part(word, cell)}({', '.join(map(use.text, range(wanted)))})"


def _batch_norm(use: Use) -> str:
    told = f"{use.given(0, 1, 2, 3, 4)}, {use.attr('epsilon', 1e-5)}"
    if use.attr("training_mode", 0):
        return (
            f"functions.batch_norm_step({told}, {use.attr('momentum', 0.9)})[:{len(use.node.outputs)}]"
            + "[0]" * (len(use.node.outputs) == 1)
        )
    if len(use.node.outputs) > 1:
        raise use.refused("results of a training step")
    return f"functions.batch_norm({told})"


def _reshaped(use: Use) -> str:
    told = use.sizes.get(use.node.inputs[1]) if len(use.node.inputs) > 1 else None
    told = told or (str(use.known_result()) if use.is_computed(1) else None)
    if told is not None:
        return f"ops.reshape({use.text()}, {told})"
    wanted = use.whole("shape", 1) or ()
    kept = [
        f"{use.text()}.shape[{axis}]" if size == 0 and not use.attr("allowzero", 0) else str(size)
        for axis, size in enumerate(wanted)
    ]
    return f"ops.reshape({use.text()}, ({', '.join(kept)}{',' if len(kept) == 1 else ''}))"


def _squeezed(use: Use) -> str:
    axes = use.whole("axes", 1)
    axes = (
        tuple(axis for axis, size in enumerate(use.value().shape) if size == 1)
        if axes is None
        else axes
    )
    return f"ops.squeeze({use.text()}, {axes})" if axes else use.text()


def _unsqueezed(use: Use) -> str:
    axes = use.whole("axes", 1) or ()
    rank = use.rank() + len(axes)
    return f"functions.unsqueeze({use.text()}, {tuple(sorted(axis % rank for axis in axes))})"


def _transposed(use: Use) -> str:
    order = use.whole("perm") or tuple(reversed(range(use.rank())))
    return f"ops.transpose({use.text()}, {order})" if order else use.text()


def _expanded(use: Use) -> str:
    told = use.sizes.get(use.node.inputs[1])
    told = told or str(use.known_result() if use.is_computed(1) else use.whole("shape", 1))
    value = use.value()
    if value.kind == "constant" and not value.shape:
        # a number of Python has no axes
        return f"ops.full({told}, {use.text()}, dtype={use.dtype(value.dtype)})"
    return f"functions.expanded({use.text()}, {told})"


def _filled(use: Use) -> str:
    told = use.sizes.get(use.node.inputs[0]) or (
        use.known_result() if use.is_computed(0) else use.whole("shape", 0)
    )
    value, dtype = use.numbers("value") or (0.0,), use.result().dtype
    if isinstance(value[0], str):
        raise use.refused("its number is not known")
    return f"ops.full({told}, {number(value[0])}, dtype={use.dtype(dtype)})"


def _range(use: Use) -> str:
    told = [
        use.sizes.get(name) or number((use.numbers("", position) or (0,))[0])
        for position, name in enumerate(use.node.inputs)
    ]
    return f"ops.cast(ops.arange({', '.join(told)}), {use.dtype(use.result().dtype)})"


def _triangle(use: Use) -> str:
    word = "triu" if use.attr("upper", 1) else "tril"
    return f"ops.{word}({use.filled().text()}, {(use.whole('k', 1) or (0,))[0]})"


def _place_of(word: str) -> Said:
    def said(use: Use) -> str:
        told = use.axis(0), bool(use.attr("keepdims", 1)), bool(use.attr("select_last_index", 0))
        return f'functions.place_of("{word}", {use.text()}, {", ".join(map(str, told))})'

    return said


def _running_sum(use: Use) -> str:
    axis = (use.whole("axis", 1) or (0,))[0] % use.rank()
    return f"functions.running_sum({use.text()}, {axis}, {bool(use.attr('exclusive', 0))}, {bool(use.attr('reverse', 0))})"


def _group_norm(use: Use) -> str:
    of_groups = use.version < ONE_SCALE_A_CHANNEL
    return f"functions.group_norm({use.given(0, 1, 2)}, {use.attr('num_groups')}, {use.attr('epsilon', 1e-5)}, {of_groups})"


def _one_hot(use: Use) -> str:
    depth = (use.whole("depth", 1) or (0,))[0]
    axis = use.axis(-1, use.rank() + 1)
    return f"functions.one_hot({use.text()}, {depth}, {use.text(2)}, {axis})"


def _blocks(use: Use) -> str:
    size = int(use.attr("blocksize", 1))
    word = "space_to_depth" if use.op == "SpaceToDepth" else "depth_to_space"
    return f"functions.{word}({use.text()}, {size}, {use.attr('mode', 'DCR') == 'DCR'})"


def _dropped(use: Use) -> str:
    training = use.has(2) and (use.numbers("training_mode", 2) or (0,))[0]
    if training and (use.numbers("ratio", 1) or (0.5,))[0]:
        raise use.refused("a training step, which is random")
    if len(use.node.outputs) == 1:
        return use.text()
    return f"{use.text()}, ops.ones({use.text()}.shape, mindspore.bool_)"


def _infinite(use: Use) -> str:
    below, above = use.attr("detect_negative", 1), use.attr("detect_positive", 1)
    sign = {(1, 1): "", (1, 0): " < 0", (0, 1): " > 0"}.get((below, above))
    if sign is None:
        return f"ops.zeros({use.text()}.shape, mindspore.bool_)"
    return (
        f"ops.logical_and(ops.isinf({use.text()}), {use.text()}{sign})"
        if sign
        else f"ops.isinf({use.text()})"
    )


def _shifted(use: Use) -> str:
    dtype = use.result().dtype
    told = use.attr("direction") == "LEFT", int(dtype.lstrip("uint")), dtype.startswith("uint")
    return f"functions.shifted({use.given(0, 1)}, {', '.join(map(str, told))})"


def _inverted(use: Use) -> str:
    dtype = use.result().dtype
    return (
        f"{(1 << int(dtype[4:])) - 1} - {use.text()}"
        if dtype.startswith("uint")
        else f"-1 - {use.text()}"
    )


def _running_product(use: Use) -> str:
    axis = (use.whole("axis", 1) or (0,))[0] % use.rank()
    return f"functions.running_product({use.text()}, {axis}, {bool(use.attr('exclusive', 0))}, {bool(use.attr('reverse', 0))})"


def _remainder(use: Use) -> str:
    dtype, (x, y) = use.result().dtype, use.texts
    if dtype == "uint64":
        raise use.refused(f"remainders of {dtype}")
    # MindSpore has no exact ones of these
    wider = {"bfloat16": "float32", "uint16": "int64", "uint32": "int64"}.get(dtype)
    if wider:
        x, y = (f"ops.cast({text}, mindspore.{wider})" for text in (x, y))
    word = "functions.left_over" if (wider or dtype) in ("int16", "int64") else "ops.truncate_mod"
    left = f"{word}({x}, {y})"
    if not (use.attr("fmod", 0) or dtype.startswith("uint")):
        left = f"functions.signed_as({y}, {left})"
    return f"ops.cast({left}, {use.dtype(dtype)})" if wider else left


def _uncounted(use: Use) -> str:
    raise use.refused("its rounds are too many, or their number is not known before the net runs")


def _bounds(use: Use, name: str, position: int) -> Sequence[Any]:
    """Where slices begin or end: numbers, or texts of sizes."""
    told = use.sizes.get(use.node.inputs[position]) if position < len(use.node.inputs) else None
    if told is None:
        return use.whole(name, position) or ()
    return [f"{told}[{number}]" for number in range(use.known_shape(position)[0])]


def _sliced(use: Use) -> str:
    starts, ends = _bounds(use, "starts", 1), _bounds(use, "ends", 2)
    axes = use.whole("axes", 3) or tuple(range(len(starts)))
    steps = use.whole("steps", 4) or (1,) * len(starts)
    at = [":"] * use.rank()
    text = use.text()
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 0 and not (isinstance(start, int) and isinstance(end, int)):
            raise use.refused("steps backwards between places that are not known")
        if step < 0:
            size = use.value().shape[axis % use.rank()]
            if not isinstance(size, int) or size < 0:
                raise use.refused("steps backwards from a size that is not known")
            found = range(size)[slice(start, None if end < -size else end, step)]
            if not found:
                raise use.refused("MindSpore has no tensors without elements")
            text = f"ops.gather({text}, {use.part('places', Tensor(list(found), mindspore.int64))}, {axis % use.rank()})"
            continue
        start = 0 if isinstance(start, int) and start < -INTEGERS_MAX // 2 else start
        last = "" if isinstance(end, int) and end >= INTEGERS_MAX // 2 else str(end)
        at[axis % use.rank()] = f"{start or ''}:{last}" + (f":{step}" if step != 1 else "")
    return text if set(at) <= {":"} else f"{text}[{', '.join(at)}]"


def _gathered(use: Use) -> str:
    axis, indices = use.axis(0), use.value(1)
    if indices.kind == "constant":
        found, size = use.numbers("indices", 1) or (), use.value().shape[axis]
        if not indices.shape:
            return f"{use.text()}[{':, ' * axis}{int(found[0])}]"
        if min(found, default=0) < 0 and not _is_known(size):
            raise use.refused("places from the end of an axis that is not known")
        listed_places = [int(one) + (int(size) if one < 0 else 0) for one in found]
        shape = indices.shape
        listed = Tensor(listed_places, mindspore.int64).reshape(tuple(map(int, shape)))
        return f"ops.gather({use.text()}, {use.part('places', listed)}, {axis})"
    index = use.text(1)
    return f"ops.gather({use.text()}, ops.where({index} < 0, {index} + {use.text()}.shape[{axis}], {index}), {axis})"


def _joined(use: Use) -> str:
    return f"ops.concat(({', '.join(use.texts)},), {use.axis(0)})"


def _split(use: Use) -> str:
    axis = use.axis(0)
    parts = use.whole("split", 1)
    if parts is None:
        size, count = use.value().shape[axis], len(use.node.outputs)
        if not _is_known(size):
            raise use.refused("parts of an axis that is not known")
        size = int(size)
        each = -(-size // count)
        parts = (*(each,) * (count - 1), size - each * (count - 1))
    return f"ops.split({use.text()}, {parts}, {axis})" + "[0]" * (len(use.node.outputs) == 1)


def _is_known(size: object) -> bool:
    """Whether it is a number; −1 is an axis without a name."""
    return isinstance(size, int) and size >= 0


def _tiled(use: Use) -> str:
    return f"ops.tile({use.text()}, {use.sizes.get(use.node.inputs[1]) or use.whole('repeats', 1)})"


def _padded(use: Use) -> str:
    if use.has(1) and use.node.inputs[1] in use.sizes:
        return places.padded(use)
    pads, axes = use.whole("pads", 1) or (), use.whole("axes", 3)
    value = use.numbers("value", 2) or (0.0,)
    if use.attr("mode", "constant") != "constant" or min(pads, default=0) < 0 or axes:
        return places.padded(use)
    half = len(pads) // 2
    told = tuple(one for pair in zip(pads[:half], pads[half:], strict=True) for one in pair)
    return f"functions.padded({use.text()}, {told}, {number(value[0])})"


OPERATORS: Mapping[str, Said] = MappingProxyType(
    {
        # one tensor
        **{
            name: _call(word)
            for name, word in {
                "Abs": "abs",
                "Neg": "neg",
                "Exp": "exp",
                "Log": "log",
                "Sqrt": "sqrt",
                "Sin": "sin",
                "Cos": "cos",
                "Tan": "tan",
                "Asin": "asin",
                "Acos": "acos",
                "Atan": "atan",
                "Sinh": "sinh",
                "Cosh": "cosh",
                "Sigmoid": "sigmoid",
                "Erf": "erf",
                "Floor": "floor",
                "Ceil": "ceil",
                "Sign": "sign",
                "Relu": "relu",
                "Not": "logical_not",
                "IsNaN": "isnan",
                "Reciprocal": "reciprocal",
                "Round": "round",
                "Acosh": "acosh",
                "Asinh": "asinh",
                "Atanh": "atanh",
            }.items()
        },
        "Identity": lambda use: use.text(),
        "Dropout": _dropped,
        "IsInf": _infinite,
        "Cast": _cast,
        "Clip": _clipped,
        "Elu": _own("elu", ("alpha", 1.0)),
        "LeakyRelu": _own("leaky_relu", ("alpha", 0.01)),
        "Celu": _own("celu", ("alpha", 1.0)),
        "Selu": lambda use: (
            f"{number(float(use.attr('gamma', 1.0507009873554805)))} * functions.elu({use.text()}, {number(float(use.attr('alpha', 1.6732632423543772)))})"
        ),
        "ThresholdedRelu": lambda use: (
            f"ops.where({use.text()} > {number(float(use.attr('alpha', 1.0)))}, {use.text()}, 0.0)"
        ),
        "PRelu": _own("leaky_relu"),
        "Tanh": _own("tanh"),
        "Softplus": _own("softplus"),
        "HardSigmoid": _own("hard_sigmoid", ("alpha", 0.2), ("beta", 0.5)),
        "HardSwish": lambda use: (
            f"{use.text()} * functions.hard_sigmoid({use.text()}, {1 / 6}, 0.5)"
        ),
        "Gelu": lambda use: (
            f"functions.gelu({use.text()}, {use.attr('approximate', 'none') == 'tanh'})"
        ),
        "Mish": lambda use: f"{use.text()} * functions.tanh(functions.softplus({use.text()}))",
        "Shrink": _own("shrink", ("lambd", 0.5), ("bias", 0.0)),
        "Softsign": lambda use: f"{use.text()} / (1.0 + ops.abs({use.text()}))",
        "Swish": lambda use: (
            f"{use.text()} * ops.sigmoid({use.text()} * {number(float(use.attr('alpha', 1.0)))})"
        ),
        # several
        "Add": _infix("+"),
        "Sub": _infix("-"),
        "Mul": _infix("*"),
        "Div": _divided,
        "Pow": _power,
        "Max": _several("maximum"),
        "Min": _several("minimum"),
        "Sum": _several("add"),
        "Mean": lambda use: (
            f'functions.several("add", ({", ".join(use.texts)},)) / {float(len(use.texts))}'
        ),
        "Equal": _call("equal"),
        "Greater": _infix(">"),
        "Less": _infix("<"),
        "GreaterOrEqual": _infix(">="),
        "LessOrEqual": _infix("<="),
        "And": _call("logical_and"),
        "Or": _call("logical_or"),
        "Xor": _call("logical_xor"),
        "BitwiseAnd": _call("bitwise_and"),
        "BitwiseOr": _call("bitwise_or"),
        "BitwiseXor": _call("bitwise_xor"),
        "BitwiseNot": _inverted,
        "BitShift": _shifted,
        "Mod": _remainder,
        "Where": _chosen,
        # reductions and norms
        "ReduceSum": _reduced("sum"),
        "ReduceMean": _reduced("mean"),
        "ReduceMax": _reduced("amax"),
        "ReduceMin": _reduced("amin"),
        "ReduceProd": _reduced("prod"),
        "ReduceL1": _reduced("sum", "ops.abs({})"),
        "ReduceL2": _reduced("sum", "ops.square({})", "ops.sqrt({})"),
        "ReduceSumSquare": _reduced("sum", "ops.square({})"),
        "ReduceLogSum": _reduced("sum", after="ops.log({})"),
        "ReduceLogSumExp": _reduced("log_sum_exp", room="functions"),
        "ArgMax": _place_of("argmax"),
        "ArgMin": _place_of("argmin"),
        "CumSum": _running_sum,
        "CumProd": _running_product,
        "Hardmax": lambda use: (
            f"functions.hard_max({use.text()}, {use.axis(-1 if use.version >= 13 else 1)}, {use.version < 13})"
        ),
        "LpNormalization": lambda use: (
            f"functions.unit({use.text()}, {use.axis(-1)}, {use.attr('p', 2)})"
        ),
        "LRN": lambda use: (
            f"functions.beside_channels({use.text()}, {use.attr('size')}, {use.attr('alpha', 1e-4)}, {use.attr('beta', 0.75)}, {use.attr('bias', 1.0)})"
        ),
        "Det": _call("det"),
        "GlobalAveragePool": lambda use: (
            f"ops.mean({use.text()}, {tuple(range(2, use.rank()))}, True)"
        ),
        "GlobalMaxPool": lambda use: f"ops.amax({use.text()}, {tuple(range(2, use.rank()))}, True)",
        "Softmax": _soft(Softmax),
        "LogSoftmax": _soft(LogSoftmax),
        "LayerNormalization": _normed("layer_norm"),
        "RMSNormalization": _normed("rms_norm"),
        "BatchNormalization": _batch_norm,
        "InstanceNormalization": _own("instance_norm", ("epsilon", 1e-5)),
        "GroupNormalization": _group_norm,
        # shapes and places
        "Reshape": _reshaped,
        "Squeeze": _squeezed,
        "Unsqueeze": _unsqueezed,
        "Transpose": _transposed,
        "Expand": _expanded,
        "Flatten": lambda use: (
            f"functions.flatten({use.text()}, {int(use.attr('axis', 1)) % (use.rank() + 1) if use.attr('axis', 1) >= 0 else use.axis(1)})"
        ),
        "Slice": _sliced,
        "Gather": _gathered,
        "Concat": _joined,
        "Split": _split,
        "Tile": _tiled,
        "Pad": _padded,
        "ConstantOfShape": _filled,
        "Range": _range,
        "Trilu": _triangle,
        "OneHot": _one_hot,
        "DepthToSpace": _blocks,
        "SpaceToDepth": _blocks,
        "GatherElements": places.gather_elements,
        "GatherND": places.gather_nd,
        "ScatterElements": places.scatter_elements,
        "Scatter": places.scatter_elements,
        "ScatterND": places.scatter_nd,
        "TopK": places.top,
        "Compress": places.compress,
        "ReverseSequence": places.reverse_sequence,
        "EyeLike": places.diagonal,
        "NonZero": lambda use: f"places.not_zero({use.text()})",
        "Unique": distinct.unique,
        "TensorScatter": places.write,
        "BitCast": bits.bit_cast,
        # products, images, sequences
        "MatMul": _own("matmul"),
        "Gemm": _gemm,
        "Einsum": einsum.einsum,
        "Attention": attention.attention,
        "Conv": images.convolution,
        "ConvTranspose": images.transposed_convolution,
        "MaxPool": images.max_pool,
        "AveragePool": images.average_pool,
        "Resize": images.resized,
        "LpPool": images.power_pool,
        "Upsample": images.resized,
        "GridSample": sampling.grid_sample,
        "RoiAlign": regions.align,
        "DeformConv": regions.bent_convolution,
        "Col2Im": images.put_together,
        "MaxUnpool": images.unpooled,
        "DFT": spectra.transform,
        "STFT": spectra.windowed_transform,
        "LSTM": recurrent.lstm,
        "GRU": recurrent.gru,
        "RNN": recurrent.rnn,
        "Scan": _uncounted,
        "SequenceConstruct": sequences.constructed,
        "SequenceEmpty": lambda _: "()",
        "SequenceAt": sequences.at,
        "SequenceInsert": sequences.inserted,
        "SequenceErase": sequences.erased,
        "SequenceLength": lambda use: f"Tensor(len({use.text()}), mindspore.int64)",
        "ConcatFromSequence": sequences.joined,
        "SplitToSequence": sequences.split,
        # numbers on a grid, boxes
        "QuantizeLinear": quantized.to_grid,
        "DequantizeLinear": quantized.from_grid,
        "NonMaxSuppression": boxes.suppression,
        "MatMulInteger": quantized.product,
        "QLinearMatMul": quantized.product_on_grid,
    }
)
"""ONNX's own operators that a net from ONNX may have besides its fused groups."""
