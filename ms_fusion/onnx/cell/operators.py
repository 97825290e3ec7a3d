"""Emits each ONNX operator as a MindSpore expression in the source of the generated net.

This module exceeds 500 lines because the table of ONNX operators and its emitters belong together.
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
from ms_fusion.onnx.cell import (
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
from ms_fusion.onnx.cell.operator_use import OperatorUse, python_literal

Emitter = Callable[[OperatorUse], str]
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
"""Modules of this package that generated nets import."""
INTEGERS_MAX = (1 << 62) - 1
SCALE_PER_CHANNEL_OPSET = 21
"""First opset in which GroupNormalization has one scale and shift per channel.

In earlier opsets it has one scale and shift per group.
"""


def _call(word: str) -> Emitter:
    return lambda use: f"ops.{word}({use.input_texts(*range(len(use.texts)))})"


def _infix(symbol: str) -> Emitter:
    return lambda use: f"{use.text()} {symbol} {use.text(1)}"


def _variadic(word: str) -> Emitter:
    return lambda use: f'functions.fold_operands("{word}", ({", ".join(use.texts)},))'


def _own_function(word: str, *attributes: tuple[str, Any]) -> Emitter:
    """Returns a function that emits a call of the function `word` in `functions`.

    The arguments of the call are all inputs of the operator, followed by the given attributes.
    """

    def emit(use: OperatorUse) -> str:
        told = [python_literal(use.attr(name, default)) for name, default in attributes]
        return f"functions.{word}({', '.join([*use.texts, *told])})"

    return emit


def _reduction(word: str, before: str = "{}", after: str = "{}", room: str = "ops") -> Emitter:
    def emit(use: OperatorUse) -> str:
        axes, keep = use.require_elements().axes(), bool(use.attr("keepdims", 1))
        dtype = use.result().dtype
        is_whole, has_end = dtype.startswith(("int", "uint")), after != "{}"
        given = before.format(f"functions.widen_half({use.text()})" if has_end else use.text())
        found = f"{room}.{word}({given}, {axes}, {keep})" if axes else given
        # MindSpore's sums of integers are int64, and its roots of integers are float32.
        found = after.format(
            f"ops.cast({found}, mindspore.float64)" if is_whole and has_end else found
        )
        is_other = has_end or (is_whole and word in ("sum", "prod"))
        return f"ops.cast({found}, {use.dtype(dtype)})" if is_other else found

    return emit


def _softmax(made: Callable[[int], Any]) -> Emitter:
    """Returns a function that emits a call of a generated softmax kernel.

    `made` is a function that builds the kernel for a given axis. MindSpore's own softmax is not
    used, because it corrupts the row after a row of −∞.
    """

    def emit(use: OperatorUse) -> str:
        axis = use.axis(-1)
        if use.version < 13 and axis != use.rank() - 1:
            # Before opset 13, ONNX flattens the axes from the given axis on.
            return (
                f"ops.reshape({use.part('softmax', made(-1))}(functions.flatten({use.text()}, "
                f"{axis})), {use.text()}.shape)"
            )
        return f"{use.part('softmax', made(axis))}({use.text()})"

    return emit


def _divide(use: OperatorUse) -> str:
    if use.result().dtype.startswith(("int", "uint")):
        return f"ops.truncate_div({use.input_texts(0, 1)})"
    return f"{use.text()} / {use.text(1)}"


def _power(use: OperatorUse) -> str:
    dtype, exponent = use.result().dtype, use.text(1)
    # MindSpore finds no common dtype for a base and an exponent of these types.
    exponent = (
        f"ops.cast({exponent}, {use.dtype(dtype)})"
        if use.value(1).dtype in ("uint32", "uint64")
        else exponent
    )
    # In ONNX, the power of an integer and a float is an integer.
    power = f"ops.pow({use.text()}, {exponent})"
    return (
        f"ops.cast({power}, {use.dtype(dtype)})"
        if "float" not in dtype and "float" in use.value(1).dtype
        else power
    )


def _where(use: OperatorUse) -> str:
    found = f"ops.where({use.input_texts(0, 1, 2)})"
    # If both alternatives are Python numbers, the result has no dtype yet.
    numbers = all(
        use.value(place).kind == "constant" and not use.value(place).shape for place in (1, 2)
    )
    return f"ops.cast({found}, {use.dtype(use.result().dtype)})" if numbers else found


def _clip(use: OperatorUse) -> str:
    low, high = (
        (use.text(1), use.text(2))
        if use.version >= 11
        else (_attribute_text(use, "min"), _attribute_text(use, "max"))
    )
    found = use.text()
    found = f"ops.maximum({found}, {low})" if low else found
    return f"ops.minimum({found}, {high})" if high else found


def _attribute_text(use: OperatorUse, name: str) -> str:
    found = use.attr(name)
    return "" if found is None else python_literal(float(found))


def _gemm(use: OperatorUse) -> str:
    told = [python_literal(float(use.attr(name, 1.0))) for name in ("alpha", "beta")]
    turned = [str(bool(use.attr(name, 0))) for name in ("transA", "transB")]
    bias = [use.text(2)] if use.has(2) else []
    return f"functions.gemm({', '.join([use.input_texts(0, 1), *told, *turned, *bias])})"


def _normalisation(word: str) -> Emitter:
    def emit(use: OperatorUse) -> str:
        axes = tuple(range(use.axis(-1), use.rank()))
        epsilon = use.attr("epsilon", 1e-5)
        own = _kernel_norm(use, word, len(axes), epsilon)
        made = own or f"functions.{word}({use.text()}, {axes}, {epsilon}, {use.input_texts(1, 2)})"
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

    return emit


def _kernel_norm(use: OperatorUse, word: str, axes: int, epsilon: float) -> str:
    """Emits a call of a generated kernel for a norm.

    Returns an empty string if `auto_fuse` did not write the model, or if no kernel supports the
    norm.
    """
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


def _batch_norm(use: OperatorUse) -> str:
    told = f"{use.input_texts(0, 1, 2, 3, 4)}, {use.attr('epsilon', 1e-5)}"
    if use.attr("training_mode", 0):
        return (
            f"functions.batch_norm_step({told}, "
            f"{use.attr('momentum', 0.9)})[:{len(use.node.outputs)}]"
            + ("[0]" * (len(use.node.outputs) == 1))
        )
    if len(use.node.outputs) > 1:
        raise use.refusal("results of a training step")
    return f"functions.batch_norm({told})"


def _reshape(use: OperatorUse) -> str:
    told = use.sizes.get(use.node.inputs[1]) if len(use.node.inputs) > 1 else None
    told = told or (str(use.known_result()) if use.is_computed(1) else None)
    if told is not None:
        return f"ops.reshape({use.text()}, {told})"
    wanted = use.integers("shape", 1) or ()
    kept = [
        f"{use.text()}.shape[{axis}]" if size == 0 and not use.attr("allowzero", 0) else str(size)
        for axis, size in enumerate(wanted)
    ]
    return f"ops.reshape({use.text()}, ({', '.join(kept)}{',' if len(kept) == 1 else ''}))"


def _squeeze(use: OperatorUse) -> str:
    axes = use.integers("axes", 1)
    axes = (
        tuple(axis for axis, size in enumerate(use.value().shape) if size == 1)
        if axes is None
        else axes
    )
    return f"ops.squeeze({use.text()}, {axes})" if axes else use.text()


def _unsqueeze(use: OperatorUse) -> str:
    axes = use.integers("axes", 1) or ()
    rank = use.rank() + len(axes)
    return f"functions.unsqueeze({use.text()}, {tuple(sorted(axis % rank for axis in axes))})"


def _transpose(use: OperatorUse) -> str:
    order = use.integers("perm") or tuple(reversed(range(use.rank())))
    return f"ops.transpose({use.text()}, {order})" if order else use.text()


def _expand(use: OperatorUse) -> str:
    told = use.sizes.get(use.node.inputs[1])
    told = told or str(use.known_result() if use.is_computed(1) else use.integers("shape", 1))
    value = use.value()
    if value.kind == "constant" and not value.shape:
        # The expression of a scalar constant is a Python number, which has no shape.
        return f"ops.full({told}, {use.text()}, dtype={use.dtype(value.dtype)})"
    return f"functions.expand({use.text()}, {told})"


def _constant_of_shape(use: OperatorUse) -> str:
    told = use.sizes.get(use.node.inputs[0]) or (
        use.known_result() if use.is_computed(0) else use.integers("shape", 0)
    )
    value, dtype = use.numbers("value") or (0.0,), use.result().dtype
    if isinstance(value[0], str):
        raise use.refusal("its number is not known")
    return f"ops.full({told}, {python_literal(value[0])}, dtype={use.dtype(dtype)})"


def _range(use: OperatorUse) -> str:
    told = [
        use.sizes.get(name) or python_literal((use.numbers("", position) or (0,))[0])
        for position, name in enumerate(use.node.inputs)
    ]
    return f"ops.cast(ops.arange({', '.join(told)}), {use.dtype(use.result().dtype)})"


def _triangle(use: OperatorUse) -> str:
    word = "triu" if use.attr("upper", 1) else "tril"
    return f"ops.{word}({use.require_elements().text()}, {(use.integers('k', 1) or (0,))[0]})"


def _arg_extremum(word: str) -> Emitter:
    def emit(use: OperatorUse) -> str:
        told = use.axis(0), bool(use.attr("keepdims", 1)), bool(use.attr("select_last_index", 0))
        return f'functions.arg_extremum("{word}", {use.text()}, {", ".join(map(str, told))})'

    return emit


def _running_sum(use: OperatorUse) -> str:
    axis = (use.integers("axis", 1) or (0,))[0] % use.rank()
    return (
        f"functions.running_sum({use.text()}, {axis}, {bool(use.attr('exclusive', 0))}, "
        f"{bool(use.attr('reverse', 0))})"
    )


def _group_norm(use: OperatorUse) -> str:
    of_groups = use.version < SCALE_PER_CHANNEL_OPSET
    return (
        f"functions.group_norm({use.input_texts(0, 1, 2)}, {use.attr('num_groups')}, "
        f"{use.attr('epsilon', 1e-5)}, {of_groups})"
    )


def _one_hot(use: OperatorUse) -> str:
    depth = (use.integers("depth", 1) or (0,))[0]
    axis = use.axis(-1, use.rank() + 1)
    return f"functions.one_hot({use.text()}, {depth}, {use.text(2)}, {axis})"


def _blocks(use: OperatorUse) -> str:
    size = int(use.attr("blocksize", 1))
    word = "space_to_depth" if use.op == "SpaceToDepth" else "depth_to_space"
    return f"functions.{word}({use.text()}, {size}, {use.attr('mode', 'DCR') == 'DCR'})"


def _dropout(use: OperatorUse) -> str:
    training = use.has(2) and (use.numbers("training_mode", 2) or (0,))[0]
    if training and (use.numbers("ratio", 1) or (0.5,))[0]:
        raise use.refusal("a training step, which is random")
    if len(use.node.outputs) == 1:
        return use.text()
    return f"{use.text()}, ops.ones({use.text()}.shape, mindspore.bool_)"


def _infinity_test(use: OperatorUse) -> str:
    below, above = use.attr("detect_negative", 1), use.attr("detect_positive", 1)
    sign = {(1, 1): "", (1, 0): " < 0", (0, 1): " > 0"}.get((below, above))
    if sign is None:
        return f"ops.zeros({use.text()}.shape, mindspore.bool_)"
    return (
        f"ops.logical_and(ops.isinf({use.text()}), {use.text()}{sign})"
        if sign
        else f"ops.isinf({use.text()})"
    )


def _bit_shift(use: OperatorUse) -> str:
    dtype = use.result().dtype
    told = use.attr("direction") == "LEFT", int(dtype.lstrip("uint")), dtype.startswith("uint")
    return f"functions.shift_bits({use.input_texts(0, 1)}, {', '.join(map(str, told))})"


def _bitwise_not(use: OperatorUse) -> str:
    dtype = use.result().dtype
    return (
        f"{(1 << int(dtype[4:])) - 1} - {use.text()}"
        if dtype.startswith("uint")
        else f"-1 - {use.text()}"
    )


def _running_product(use: OperatorUse) -> str:
    axis = (use.integers("axis", 1) or (0,))[0] % use.rank()
    return (
        f"functions.running_product({use.text()}, {axis}, {bool(use.attr('exclusive', 0))}, "
        f"{bool(use.attr('reverse', 0))})"
    )


def _remainder(use: OperatorUse) -> str:
    dtype, (x, y) = use.result().dtype, use.texts
    if dtype == "uint64":
        raise use.refusal(f"remainders of {dtype}")
    # MindSpore's remainders of these dtypes are not exact
    wider = {"bfloat16": "float32", "uint16": "int64", "uint32": "int64"}.get(dtype)
    if wider:
        x, y = (f"ops.cast({text}, mindspore.{wider})" for text in (x, y))
    word = (
        "functions.truncated_remainder"
        if (wider or dtype) in ("int16", "int64")
        else "ops.truncate_mod"
    )
    left = f"{word}({x}, {y})"
    if not (use.attr("fmod", 0) or dtype.startswith("uint")):
        left = f"functions.floored_remainder({y}, {left})"
    return f"ops.cast({left}, {use.dtype(dtype)})" if wider else left


def _refuse_loop(use: OperatorUse) -> str:
    raise use.refusal("its iterations are too many, or their number is unknown before the net runs")


def _bounds(use: OperatorUse, name: str, position: int) -> Sequence[Any]:
    """Returns the starts or the ends of a Slice.

    Each element is an integer, or a Python expression if the element is the result of shape
    arithmetic.
    """
    told = use.sizes.get(use.node.inputs[position]) if position < len(use.node.inputs) else None
    if told is None:
        return use.integers(name, position) or ()
    return [f"{told}[{number}]" for number in range(use.known_shape(position)[0])]


def _slice(use: OperatorUse) -> str:
    starts, ends = _bounds(use, "starts", 1), _bounds(use, "ends", 2)
    axes = use.integers("axes", 3) or tuple(range(len(starts)))
    steps = use.integers("steps", 4) or (1,) * len(starts)
    at = [":"] * use.rank()
    text = use.text()
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 0 and not (isinstance(start, int) and isinstance(end, int)):
            raise use.refusal("steps backwards between places that are not known")
        if step < 0:
            size = use.value().shape[axis % use.rank()]
            if not isinstance(size, int) or size < 0:
                raise use.refusal("steps backwards from a size that is not known")
            found = range(size)[slice(start, None if end < -size else end, step)]
            if not found:
                raise use.refusal("MindSpore has no tensors without elements")
            text = (
                f"ops.gather({text}, {use.part('places', Tensor(list(found), mindspore.int64))}, "
                f"{axis % use.rank()})"
            )
            continue
        start = 0 if isinstance(start, int) and start < -INTEGERS_MAX // 2 else start
        last = "" if isinstance(end, int) and end >= INTEGERS_MAX // 2 else str(end)
        at[axis % use.rank()] = f"{start or ''}:{last}" + (f":{step}" if step != 1 else "")
    return text if set(at) <= {":"} else f"{text}[{', '.join(at)}]"


def _gather(use: OperatorUse) -> str:
    axis, indices = use.axis(0), use.value(1)
    if indices.kind == "constant":
        found, size = use.numbers("indices", 1) or (), use.value().shape[axis]
        if not indices.shape:
            return f"{use.text()}[{':, ' * axis}{int(found[0])}]"
        if min(found, default=0) < 0 and not _is_static_size(size):
            raise use.refusal("places from the end of an axis that is not known")
        listed_places = [int(one) + (int(size) if one < 0 else 0) for one in found]
        shape = indices.shape
        listed = Tensor(listed_places, mindspore.int64).reshape(tuple(map(int, shape)))
        return f"ops.gather({use.text()}, {use.part('places', listed)}, {axis})"
    index = use.text(1)
    return (
        f"ops.gather({use.text()}, ops.where({index} < 0, {index} + {use.text()}.shape[{axis}], "
        f"{index}), {axis})"
    )


def _split(use: OperatorUse) -> str:
    axis = use.axis(0)
    parts = use.integers("split", 1)
    if parts is None:
        size, count = use.value().shape[axis], len(use.node.outputs)
        if not _is_static_size(size):
            raise use.refusal("parts of an axis that is not known")
        size = int(size)
        each = -(-size // count)
        parts = (*(each,) * (count - 1), size - each * (count - 1))
    return f"ops.split({use.text()}, {parts}, {axis})" + "[0]" * (len(use.node.outputs) == 1)


def _is_static_size(size: object) -> bool:
    """Returns whether a size is static. Unknown sizes are names or −1."""
    return isinstance(size, int) and size >= 0


def _tile(use: OperatorUse) -> str:
    return (
        f"ops.tile({use.text()}, {use.sizes.get(use.node.inputs[1]) or use.integers('repeats', 1)})"
    )


def _pad(use: OperatorUse) -> str:
    if use.has(1) and use.node.inputs[1] in use.sizes:
        return places.pad(use)
    pads, axes = use.integers("pads", 1) or (), use.integers("axes", 3)
    value = use.numbers("value", 2) or (0.0,)
    if use.attr("mode", "constant") != "constant" or min(pads, default=0) < 0 or axes:
        return places.pad(use)
    half = len(pads) // 2
    told = tuple(one for pair in zip(pads[:half], pads[half:], strict=True) for one in pair)
    return f"functions.pad({use.text()}, {told}, {python_literal(value[0])})"


OPERATORS: Mapping[str, Emitter] = MappingProxyType(
    {
        # one operand
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
        "Dropout": _dropout,
        "IsInf": _infinity_test,
        "Cast": lambda use: f"ops.cast({use.text()}, {use.dtype(use.result().dtype)})",
        "Clip": _clip,
        "Elu": _own_function("elu", ("alpha", 1.0)),
        "LeakyRelu": _own_function("leaky_relu", ("alpha", 0.01)),
        "Celu": _own_function("celu", ("alpha", 1.0)),
        "Selu": lambda use: (
            f"{python_literal(float(use.attr('gamma', 1.0507009873554805)))} * "
            f"functions.elu({use.text()}, "
            f"{python_literal(float(use.attr('alpha', 1.6732632423543772)))})"
        ),
        "ThresholdedRelu": lambda use: (
            f"ops.where({use.text()} > {python_literal(float(use.attr('alpha', 1.0)))}, "
            f"{use.text()}, 0.0)"
        ),
        "PRelu": _own_function("leaky_relu"),
        "Tanh": _own_function("tanh"),
        "Softplus": _own_function("softplus"),
        "HardSigmoid": _own_function("hard_sigmoid", ("alpha", 0.2), ("beta", 0.5)),
        "HardSwish": lambda use: (
            f"{use.text()} * functions.hard_sigmoid({use.text()}, {1 / 6}, 0.5)"
        ),
        "Gelu": lambda use: (
            f"functions.gelu({use.text()}, {use.attr('approximate', 'none') == 'tanh'})"
        ),
        "Mish": lambda use: f"{use.text()} * functions.tanh(functions.softplus({use.text()}))",
        "Shrink": _own_function("shrink", ("lambd", 0.5), ("bias", 0.0)),
        "Softsign": lambda use: f"{use.text()} / (1.0 + ops.abs({use.text()}))",
        "Swish": lambda use: (
            f"{use.text()} * ops.sigmoid({use.text()} * "
            f"{python_literal(float(use.attr('alpha', 1.0)))})"
        ),
        # several operands
        "Add": _infix("+"),
        "Sub": _infix("-"),
        "Mul": _infix("*"),
        "Div": _divide,
        "Pow": _power,
        "Max": _variadic("maximum"),
        "Min": _variadic("minimum"),
        "Sum": _variadic("add"),
        "Mean": lambda use: (
            f'functions.fold_operands("add", ({", ".join(use.texts)},)) / {float(len(use.texts))}'
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
        "BitwiseNot": _bitwise_not,
        "BitShift": _bit_shift,
        "Mod": _remainder,
        "Where": _where,
        # reductions and normalisations
        "ReduceSum": _reduction("sum"),
        "ReduceMean": _reduction("mean"),
        "ReduceMax": _reduction("amax"),
        "ReduceMin": _reduction("amin"),
        "ReduceProd": _reduction("prod"),
        "ReduceL1": _reduction("sum", "ops.abs({})"),
        "ReduceL2": _reduction("sum", "ops.square({})", "ops.sqrt({})"),
        "ReduceSumSquare": _reduction("sum", "ops.square({})"),
        "ReduceLogSum": _reduction("sum", after="ops.log({})"),
        "ReduceLogSumExp": _reduction("log_sum_exp", room="functions"),
        "ArgMax": _arg_extremum("argmax"),
        "ArgMin": _arg_extremum("argmin"),
        "CumSum": _running_sum,
        "CumProd": _running_product,
        "Hardmax": lambda use: (
            f"functions.hard_max({use.text()}, {use.axis(-1)}, {use.version < 13})"
        ),
        "LpNormalization": lambda use: (
            f"functions.lp_normalize({use.text()}, {use.axis(-1)}, {use.attr('p', 2)})"
        ),
        "LRN": lambda use: (
            f"functions.local_response_norm({use.text()}, {use.attr('size')}, "
            f"{use.attr('alpha', 1e-4)}, {use.attr('beta', 0.75)}, {use.attr('bias', 1.0)})"
        ),
        "Det": _call("det"),
        "GlobalAveragePool": lambda use: (
            f"ops.mean({use.text()}, {tuple(range(2, use.rank()))}, True)"
        ),
        "GlobalMaxPool": lambda use: f"ops.amax({use.text()}, {tuple(range(2, use.rank()))}, True)",
        "Softmax": _softmax(Softmax),
        "LogSoftmax": _softmax(LogSoftmax),
        "LayerNormalization": _normalisation("layer_norm"),
        "RMSNormalization": _normalisation("rms_norm"),
        "BatchNormalization": _batch_norm,
        "InstanceNormalization": _own_function("instance_norm", ("epsilon", 1e-5)),
        "GroupNormalization": _group_norm,
        # shapes and indices
        "Reshape": _reshape,
        "Squeeze": _squeeze,
        "Unsqueeze": _unsqueeze,
        "Transpose": _transpose,
        "Expand": _expand,
        "Flatten": lambda use: (
            f"""functions.flatten({use.text()}, {
                int(use.attr("axis", 1)) % (use.rank() + 1)
                if use.attr("axis", 1) >= 0
                else use.axis(1)
            })"""
        ),
        "Slice": _slice,
        "Gather": _gather,
        "Concat": lambda use: f"ops.concat(({', '.join(use.texts)},), {use.axis(0)})",
        "Split": _split,
        "Tile": _tile,
        "Pad": _pad,
        "ConstantOfShape": _constant_of_shape,
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
        "TopK": places.top_k,
        "Compress": places.compress,
        "ReverseSequence": places.reverse_sequence,
        "EyeLike": places.eye_like,
        "NonZero": lambda use: f"places.nonzero_places({use.text()})",
        "Unique": distinct.unique,
        "TensorScatter": places.tensor_scatter,
        "BitCast": bits.bit_cast,
        # products, images, sequences
        "MatMul": _own_function("matmul"),
        "Gemm": _gemm,
        "Einsum": einsum.einsum,
        "Attention": attention.attention,
        "Conv": images.convolution,
        "ConvTranspose": images.transposed_convolution,
        "MaxPool": images.max_pool,
        "AveragePool": images.average_pool,
        "Resize": images.resize,
        "LpPool": images.power_pool,
        "Upsample": images.resize,
        "GridSample": sampling.grid_sample,
        "RoiAlign": regions.roi_align,
        "DeformConv": regions.deformable_convolution,
        "Col2Im": images.col2im,
        "MaxUnpool": images.max_unpool,
        "DFT": spectra.dft,
        "STFT": spectra.stft,
        "LSTM": recurrent.lstm,
        "GRU": recurrent.gru,
        "RNN": recurrent.rnn,
        "Scan": _refuse_loop,
        "SequenceConstruct": sequences.sequence_construct,
        "SequenceEmpty": lambda _: "()",
        "SequenceAt": sequences.sequence_at,
        "SequenceInsert": sequences.sequence_insert,
        "SequenceErase": sequences.sequence_erase,
        "SequenceLength": lambda use: f"Tensor(len({use.text()}), mindspore.int64)",
        "ConcatFromSequence": sequences.concat_from_sequence,
        "SplitToSequence": sequences.split_to_sequence,
        # quantization, boxes
        "QuantizeLinear": quantized.quantize_linear,
        "DequantizeLinear": quantized.dequantize_linear,
        "NonMaxSuppression": boxes.non_max_suppression,
        "MatMulInteger": quantized.matmul_integer,
        "QLinearMatMul": quantized.qlinear_matmul,
    }
)
"""Maps an operator type of ONNX's own domain to the function that emits its expression.

A net supports these operators outside of fused groups.
"""
