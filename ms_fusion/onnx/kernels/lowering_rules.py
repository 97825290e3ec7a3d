"""Lowering rules: a table of functions that express ONNX operators by operations of the DSL.

A rule receives DSL tensors with NumPy's array interface (`tbe_impl.tracing.arrays`), and constants
as NumPy arrays. The rules follow https://onnx.ai/onnx/operators at the opset version of the node.
float16 and bfloat16 are computed in float32 and rounded at the kernel's outputs.

This module exceeds 500 lines because the lowering rules and their table belong together.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ms_fusion.graph import Graph, Node
from ms_fusion.onnx.kernels.image_operators import (
    average_pool,
    convolution,
    max_pool,
    transposed_convolution,
)
from ms_fusion.onnx.kernels.operator_call import LoweringRule, OperatorCall
from ms_fusion.ops.call import numpy_dtype
from ms_fusion.readers.onnx_graph import ONNX_OP
from tbe_impl import dsl
from tbe_impl.errors import InputError
from tbe_impl.tracing.arrays import TracedArray, tensor_of

INTEGERS_MAX = np.iinfo(np.int64).max


def _unary_rule(function: Callable[[Any], Any]) -> LoweringRule:
    return lambda call: function(call.inputs[0])


def _binary_rule(function: Callable[[Any, Any], Any]) -> LoweringRule:
    return lambda call: function(call.inputs[0], call.inputs[1])


def _dsl_operation(word: Any) -> Callable[[Any], Any]:
    return lambda x: TracedArray(word(tensor_of(x)))


def _variadic_rule(function: Callable[[Any, Any], Any]) -> LoweringRule:
    def lower(call: OperatorCall) -> Any:
        found = call.inputs[0]
        for one in call.inputs[1:]:
            found = function(found, one)
        return found

    return lower


_sigmoid, _erf, _tanh = (
    _dsl_operation(dsl.ext.sigmoid),
    _dsl_operation(dsl.ext.erf),
    _dsl_operation(dsl.ext.tanh),
)


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _quotient(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f" or y.dtype.kind == "f":
        return x / y
    raise InputError("quotients of integers stay with the model")


def _elu(x: Any, alpha: float) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _selu(call: OperatorCall) -> Any:
    alpha, gamma = call.attr("alpha", 1.6732632423543772), call.attr("gamma", 1.0507009873554805)
    return gamma * _elu(call.inputs[0], alpha)


def _celu(call: OperatorCall) -> Any:
    alpha, x = call.attr("alpha", 1.0), call.inputs[0]
    return np.maximum(x, 0) + np.minimum(alpha * np.expm1(np.minimum(x, 0) / alpha), 0)


def _leaky_relu(call: OperatorCall) -> Any:
    x = call.inputs[0]
    return np.where(x < 0, x * call.attr("alpha", 0.01), x)


def _prelu(call: OperatorCall) -> Any:
    x, slope = call.inputs
    return np.where(x < 0, x * slope, x)


def _hard_sigmoid(call: OperatorCall) -> Any:
    return np.clip(call.inputs[0] * call.attr("alpha", 0.2) + call.attr("beta", 0.5), 0.0, 1.0)


def _hard_swish(call: OperatorCall) -> Any:
    x = call.inputs[0]
    return x * np.clip(x * (1 / 6) + 0.5, 0.0, 1.0)


def _gelu(call: OperatorCall) -> Any:
    x = call.inputs[0]
    word = dsl.ext.ndtr_tanh if call.attr("approximate", "none") == "tanh" else dsl.ext.ndtr
    return x * _dsl_operation(word)(x)


def _swish(call: OperatorCall) -> Any:
    x = call.inputs[0]
    return x * _sigmoid(x * call.attr("alpha", 1.0))


def _threshold(call: OperatorCall) -> Any:
    x = call.inputs[0]
    return np.where(x > call.attr("alpha", 1.0), x, 0.0 * x)


def _clip(call: OperatorCall) -> Any:
    low, high = (
        (call.optional_input(1), call.optional_input(2))
        if call.version >= 11
        else (call.attr("min"), call.attr("max"))
    )
    x = call.inputs[0]
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _cast(call: OperatorCall) -> Any:
    return call.inputs[0].astype(numpy_dtype(call.outputs[0].dtype))


def _modulo(call: OperatorCall) -> Any:
    x, y = call.inputs
    return np.fmod(x, y) if call.attr("fmod", 0) or x.dtype.kind == "f" else np.mod(x, y)


def _axes(call: OperatorCall) -> tuple[int, ...]:
    """Returns the axes of a reduction.

    If no axes are given, returns all axes, or an empty tuple if ``noop_with_empty_axes`` is set.
    """
    found, ndim = call.integers("axes", 1), call.inputs[0].ndim
    if not found:
        return () if call.attr("noop_with_empty_axes", 0) else tuple(range(ndim))
    return tuple(sorted({axis % ndim for axis in found}))


def _reduction_rule(
    function: Callable[..., Any],
    before: Callable[[Any], Any] = lambda x: x,
    after: Callable[[Any], Any] = lambda x: x,
) -> LoweringRule:
    def lower(call: OperatorCall) -> Any:
        x, axes = before(call.inputs[0]), _axes(call)
        found = function(x, axis=axes, keepdims=bool(call.attr("keepdims", 1))) if axes else x
        return after(found)

    return lower


def _log_sum_exp(call: OperatorCall) -> Any:
    x, axes, keep = call.inputs[0], _axes(call), bool(call.attr("keepdims", 1))
    top = np.max(x, axis=axes, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    total = np.log(np.sum(np.exp(x - safe), axis=axes, keepdims=keep))
    return total + (safe if keep else np.max(safe, axis=axes, keepdims=False))


def _global_mean(call: OperatorCall) -> Any:
    return np.mean(call.inputs[0], axis=tuple(range(2, call.inputs[0].ndim)), keepdims=True)


def _global_max(call: OperatorCall) -> Any:
    return np.max(call.inputs[0], axis=tuple(range(2, call.inputs[0].ndim)), keepdims=True)


def _soft_axis(call: OperatorCall) -> int:
    """Returns the axis of a softmax.

    Before opset 13, ONNX flattens the axes from the given axis on; this is supported only for the
    last axis.
    """
    axis = call.axis(-1 if call.version >= 13 else 1)
    if call.version < 13 and axis != call.inputs[0].ndim - 1:
        raise InputError(
            "a softmax over several axes at once stays with the model", place=call.node.name
        )
    return axis


def _softmax(call: OperatorCall) -> Any:
    x, axis = call.inputs[0], _soft_axis(call)
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


def _log_softmax(call: OperatorCall) -> Any:
    x, axis = call.inputs[0], _soft_axis(call)
    level = x - np.max(x, axis=axis, keepdims=True)
    return level - np.log(np.sum(np.exp(level), axis=axis, keepdims=True))


def _normalise(x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    centred = x - np.mean(x, axis=axes, keepdims=True)
    variance = np.mean(centred * centred, axis=axes, keepdims=True)
    return centred * _dsl_operation(dsl.vrsqrt)(variance + epsilon)


def _layer_norm(call: OperatorCall) -> Any:
    x, scale, shift = call.inputs[0], call.optional_input(1), call.optional_input(2)
    if len([one for one in call.outputs if one.name]) > 1:
        raise InputError("its results mean and deviation are not built", place=call.node.name)
    axes = tuple(range(call.axis(-1), x.ndim))
    found = _normalise(x, axes, call.attr("epsilon", 1e-5)) * scale
    return found if shift is None else found + shift


def _rms_norm(call: OperatorCall) -> Any:
    x = call.inputs[0]
    axes = tuple(range(call.axis(-1), x.ndim))
    power = np.mean(x * x, axis=axes, keepdims=True)
    return x * _dsl_operation(dsl.vrsqrt)(power + call.attr("epsilon", 1e-5)) * call.inputs[1]


def _reshape_to_channels(x: Any, ndim: int) -> Any:
    return (
        x.reshape((-1,) + (1,) * (ndim - 2))
        if isinstance(x, np.ndarray)
        else x.reshape((x.shape[0],) + (1,) * (ndim - 2))
    )


def _batch_norm(call: OperatorCall) -> Any:
    x = call.inputs[0]
    if call.attr("training_mode", 0) or len([one for one in call.outputs if one.name]) > 1:
        raise InputError("a training step stays with the model", place=call.node.name)
    scale, shift, mean, variance = (_reshape_to_channels(one, x.ndim) for one in call.inputs[1:5])
    return (x - mean) * (scale / np.sqrt(variance + call.attr("epsilon", 1e-5))) + shift


def _instance_norm(call: OperatorCall) -> Any:
    x = call.inputs[0]
    scale, shift = (_reshape_to_channels(one, x.ndim) for one in call.inputs[1:3])
    return _normalise(x, tuple(range(2, x.ndim)), call.attr("epsilon", 1e-5)) * scale + shift


def _static_result_shape(call: OperatorCall) -> tuple[int, ...] | None:
    """Returns the result shape that follows from constants and static sizes alone.

    One size may be −1. The shapes that a file declares are not used, because they may be wrong.
    Returns None if a size is unknown.
    """
    op, own = call.node.attr(ONNX_OP), tuple(call.inputs[0].shape)
    if not all(isinstance(size, int) for size in own):
        return None
    if op == "Flatten":
        axis = int(call.attr("axis", 1))
        return math.prod(own[:axis]), math.prod(own[axis:])
    told = call.integers("axes" if op in ("Squeeze", "Unsqueeze") else "shape", 1)
    if op == "Squeeze":
        axes = told and {axis % len(own) for axis in told}
        return tuple(
            size for axis, size in enumerate(own) if (axis not in axes if axes else size != 1)
        )
    if told is None:
        return None
    if op == "Unsqueeze":
        rest, axes = iter(own), {axis % (len(own) + len(told)) for axis in told}
        return tuple(1 if axis in axes else next(rest) for axis in range(len(own) + len(told)))
    if op == "Expand":
        return np.broadcast_shapes(own, told)
    return tuple(
        own[axis] if size == 0 and not call.attr("allowzero", 0) else size
        for axis, size in enumerate(told)
    )


def _shape_of_result(call: OperatorCall) -> tuple[Any, ...]:
    sizes = _static_result_shape(call) or call.sizes[0]
    if any(size is None for size in sizes):
        raise InputError("a size that no input of the kernel has", place=call.node.name)
    return sizes


def _reshape(call: OperatorCall) -> Any:
    sizes = _static_result_shape(call) or call.sizes[0]
    wanted = (
        [-1 if size is None else size for size in sizes]
        if sizes.count(None) == 1
        else _shape_of_result(call)
    )
    return TracedArray(dsl.ext.reshape(tensor_of(call.inputs[0]), list(wanted)))


def _transpose(call: OperatorCall) -> Any:
    x = call.inputs[0]
    return np.transpose(x, call.integers("perm") or tuple(reversed(range(x.ndim))))


def _expand(call: OperatorCall) -> Any:
    return TracedArray(dsl.broadcast(tensor_of(call.inputs[0]), list(_shape_of_result(call))))


def _slice(call: OperatorCall) -> Any:
    x = call.inputs[0]
    starts, ends = call.integers("starts", 1) or (), call.integers("ends", 2) or ()
    axes = call.integers("axes", 3) or tuple(range(len(starts)))
    steps = call.integers("steps", 4) or (1,) * len(starts)
    at: list[Any] = [slice(None)] * x.ndim
    for start, end, axis, step in zip(starts, ends, axes, steps, strict=True):
        if step < 0:
            raise InputError(
                "a slice that runs backwards stays with the model", place=call.node.name
            )
        size = x.shape[axis % x.ndim]
        if not isinstance(size, int) and not (start == 0 and end >= INTEGERS_MAX // 2):
            raise InputError(
                "a slice of a size that is not known stays with the model", place=call.node.name
            )
        at[axis % x.ndim] = slice(start or None, None if end >= INTEGERS_MAX // 2 else end, step)
    return x[tuple(at)]


def _concat(call: OperatorCall) -> Any:
    return np.concatenate(list(call.inputs), axis=call.axis(0))


def _split(call: OperatorCall) -> Sequence[Any]:
    x, axis = call.inputs[0], call.axis(0)
    size = x.shape[axis]
    if not isinstance(size, int):
        raise InputError(
            "a split of a size that is not known stays with the model", place=call.node.name
        )
    parts = call.integers("split", 1)
    if parts is None:
        each = math.ceil(size / len(call.outputs))
        parts = (*(each,) * (len(call.outputs) - 1), size - each * (len(call.outputs) - 1))
    ends = np.cumsum(parts)[:-1]
    return list(np.split(x, [int(end) for end in ends], axis))


def _tile(call: OperatorCall) -> Any:
    return np.tile(call.inputs[0], call.integers("repeats", 1) or ())


def _pad(call: OperatorCall) -> Any:
    x, mode = call.inputs[0], call.attr("mode", "constant")
    pads, value, axes = (
        call.integers("pads", 1) or (),
        call.optional_input(2),
        call.integers("axes", 3),
    )
    if mode != "constant" or min(pads, default=0) < 0:
        raise InputError("only a padding with a number is built", place=call.node.name)
    if isinstance(value, TracedArray):
        raise InputError(
            "what is padded with is computed while the model runs", place=call.node.name
        )
    number = call.attr("value", 0.0) if value is None else np.asarray(value).reshape(-1)[0]
    widths = [(0, 0)] * x.ndim
    for place, axis in enumerate(axes or range(x.ndim)):
        widths[axis % x.ndim] = (pads[place], pads[place + len(pads) // 2])
    return np.pad(x, widths, constant_values=number)


def _gemm(call: OperatorCall) -> Any:
    a, b, c = call.inputs[0], call.inputs[1], call.optional_input(2)
    found = np.matmul(a.T if call.attr("transA", 0) else a, b.T if call.attr("transB", 0) else b)
    alpha, beta = call.attr("alpha", 1.0), call.attr("beta", 1.0)
    found = found if alpha == 1.0 else found * alpha
    return found if c is None else found + (c if beta == 1.0 else c * beta)


LOWERING_RULES: Mapping[str, LoweringRule] = MappingProxyType(
    {
        # one operand
        "Abs": _unary_rule(np.abs),
        "Neg": _unary_rule(np.negative),
        "Exp": _unary_rule(np.exp),
        "Log": _unary_rule(np.log),
        "Sqrt": _unary_rule(np.sqrt),
        "Reciprocal": _unary_rule(lambda x: 1 / x),
        "Sin": _unary_rule(np.sin),
        "Cos": _unary_rule(np.cos),
        "Tan": _unary_rule(np.tan),
        "Asin": _unary_rule(np.arcsin),
        "Acos": _unary_rule(np.arccos),
        "Atan": _unary_rule(np.arctan),
        "Sinh": _unary_rule(np.sinh),
        "Cosh": _unary_rule(np.cosh),
        "Asinh": _unary_rule(np.arcsinh),
        "Acosh": _unary_rule(np.arccosh),
        "Atanh": _unary_rule(np.arctanh),
        "Tanh": _unary_rule(_tanh),
        "Sigmoid": _unary_rule(_sigmoid),
        "Erf": _unary_rule(_erf),
        "Floor": _unary_rule(np.floor),
        "Ceil": _unary_rule(np.ceil),
        "Round": _unary_rule(np.rint),
        "Sign": _unary_rule(np.sign),
        "Relu": _unary_rule(lambda x: np.maximum(x, 0)),
        "Not": _unary_rule(np.logical_not),
        "IsNaN": _unary_rule(np.isnan),
        "Softplus": _unary_rule(_softplus),
        "Softsign": _unary_rule(lambda x: x / (1 + np.abs(x))),
        "Mish": _unary_rule(lambda x: x * _tanh(_softplus(x))),
        "Identity": _unary_rule(lambda x: x),
        "LeakyRelu": _leaky_relu,
        "Elu": lambda call: _elu(call.inputs[0], call.attr("alpha", 1.0)),
        "Selu": _selu,
        "Celu": _celu,
        "PRelu": _prelu,
        "HardSigmoid": _hard_sigmoid,
        "HardSwish": _hard_swish,
        "Gelu": _gelu,
        "Swish": _swish,
        "ThresholdedRelu": _threshold,
        "Clip": _clip,
        "Cast": _cast,
        # several operands
        "Add": _binary_rule(np.add),
        "Sub": _binary_rule(np.subtract),
        "Mul": _binary_rule(np.multiply),
        "Div": _binary_rule(_quotient),
        "Pow": _binary_rule(np.power),
        "Mod": _modulo,
        "Max": _variadic_rule(np.maximum),
        "Min": _variadic_rule(np.minimum),
        "Sum": _variadic_rule(np.add),
        "Mean": lambda call: _variadic_rule(np.add)(call) / len(call.inputs),
        "Equal": _binary_rule(np.equal),
        "Greater": _binary_rule(np.greater),
        "Less": _binary_rule(np.less),
        "GreaterOrEqual": _binary_rule(np.greater_equal),
        "LessOrEqual": _binary_rule(np.less_equal),
        "And": _binary_rule(np.logical_and),
        "Or": _binary_rule(np.logical_or),
        "Xor": _binary_rule(np.logical_xor),
        "Where": lambda call: np.where(*call.inputs),
        # reductions and normalisations
        "ReduceSum": _reduction_rule(np.sum),
        "ReduceMean": _reduction_rule(np.mean),
        "ReduceMax": _reduction_rule(np.max),
        "ReduceMin": _reduction_rule(np.min),
        "ReduceProd": _reduction_rule(np.prod),
        "ReduceL1": _reduction_rule(np.sum, np.abs),
        "ReduceL2": _reduction_rule(np.sum, np.square, np.sqrt),
        "ReduceSumSquare": _reduction_rule(np.sum, np.square),
        "ReduceLogSum": _reduction_rule(np.sum, after=np.log),
        "ReduceLogSumExp": _log_sum_exp,
        "GlobalAveragePool": _global_mean,
        "GlobalMaxPool": _global_max,
        "Softmax": _softmax,
        "LogSoftmax": _log_softmax,
        "LayerNormalization": _layer_norm,
        "RMSNormalization": _rms_norm,
        "BatchNormalization": _batch_norm,
        "InstanceNormalization": _instance_norm,
        # shapes and indices
        "Reshape": _reshape,
        "Squeeze": _reshape,
        "Unsqueeze": _reshape,
        "Flatten": _reshape,
        "Transpose": _transpose,
        "Expand": _expand,
        "Slice": _slice,
        "Concat": _concat,
        "Split": _split,
        "Tile": _tile,
        "Pad": _pad,
        # images
        "MaxPool": max_pool,
        "AveragePool": average_pool,
        # products, computed by a library
        "MatMul": _binary_rule(np.matmul),
        "Gemm": _gemm,
        "Conv": convolution,
        "ConvTranspose": transposed_convolution,
    }
)
"""Operator type of ONNX's own domain → its lowering rule."""


SHAPE_ELEMENTS = 64


def has_lowering_rule(node: Node, graph: Graph) -> bool:
    """Returns whether an operator of this type can be part of a generated kernel.

    An operator whose results are a few integers is excluded, because it usually computes sizes or
    indices. The runtime that executes the model computes it.
    """
    results = graph.outputs_of(node)
    counts = all(
        value.dtype.startswith(("int", "uint"))
        and not value.is_dynamic
        and value.elements <= SHAPE_ELEMENTS
        for value in results
    )
    return str(node.attr(ONNX_OP)) in LOWERING_RULES and not counts


def lower_operator(call: OperatorCall) -> tuple[Any, ...]:
    """Lowers an operator to traced tensors of the declared dtypes.

    A result in half precision is a float32 tensor; only the kernel's outputs are rounded.

    Raises:
        InputError: the operator cannot be lowered. The error names the node.
    """
    found = LOWERING_RULES[str(call.node.attr(ONNX_OP))](call)
    results = tuple(found) if isinstance(found, list | tuple) else (found,)
    return tuple(
        _cast_to(one, value.dtype) for one, value in zip(results, call.outputs, strict=False)
    )


def _cast_to(found: Any, dtype: str) -> Any:
    wanted = np.dtype(np.float32) if dtype in ("float16", "bfloat16") else numpy_dtype(dtype)
    return found if found.dtype == wanted else found.astype(wanted)
