"""Lowering rules: each ONNX operator that our kernels compute, as DSL operations.

Formulas see tensors of the language that behave like NumPy's arrays (`tbe_impl.tracing.arrays`), constants as arrays, and
follow https://onnx.ai/onnx/operators at the version of the node. Float16 and bfloat16 are computed in float32 and rounded
where a value leaves the kernel.

One file of more than 500 lines: it is the table of lowering rules.
"""

from __future__ import annotations

import math
from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

import numpy as np

from ms_fusion.accuracy.formulas import numpy_dtype
from ms_fusion.formats.onnx_graph import ONNX_OP
from ms_fusion.graph import Graph, Node
from ms_fusion.onnx_fusion.image_operators import (
    average_pool,
    convolution,
    max_pool,
    transposed_convolution,
)
from ms_fusion.onnx_fusion.operator_call import Call, Meaning
from tbe_impl import dsl
from tbe_impl.errors import InputError
from tbe_impl.tracing.arrays import Traced, tensor_of

INTEGERS_MAX = np.iinfo(np.int64).max


def _unary(function: Callable[[Any], Any]) -> Meaning:
    return lambda call: function(call.inputs[0])


def _binary(function: Callable[[Any, Any], Any]) -> Meaning:
    return lambda call: function(call.inputs[0], call.inputs[1])


def _word(word: Any) -> Callable[[Any], Any]:
    return lambda x: Traced(word(tensor_of(x)))


def _several(function: Callable[[Any, Any], Any]) -> Meaning:
    def meaning(call: Call) -> Any:
        found = call.inputs[0]
        for one in call.inputs[1:]:
            found = function(found, one)
        return found

    return meaning


_sigmoid, _erf, _tanh = _word(dsl.ext.sigmoid), _word(dsl.ext.erf), _word(dsl.ext.tanh)


def _softplus(x: Any) -> Any:
    return np.maximum(x, 0) + np.log1p(np.exp(-np.abs(x)))


def _quotient(x: Any, y: Any) -> Any:
    if x.dtype.kind == "f" or y.dtype.kind == "f":
        return x / y
    raise InputError("quotients of integers stay with the model")


def _elu(x: Any, alpha: float) -> Any:
    return np.where(x > 0, x, alpha * np.expm1(np.minimum(x, 0)))


def _selu(call: Call) -> Any:
    alpha, gamma = call.attr("alpha", 1.6732632423543772), call.attr("gamma", 1.0507009873554805)
    return gamma * _elu(call.inputs[0], alpha)


def _celu(call: Call) -> Any:
    alpha, x = call.attr("alpha", 1.0), call.inputs[0]
    return np.maximum(x, 0) + np.minimum(alpha * np.expm1(np.minimum(x, 0) / alpha), 0)


def _leaky(call: Call) -> Any:
    x = call.inputs[0]
    return np.where(x < 0, x * call.attr("alpha", 0.01), x)


def _prelu(call: Call) -> Any:
    x, slope = call.inputs
    return np.where(x < 0, x * slope, x)


def _hard_sigmoid(call: Call) -> Any:
    return np.clip(call.inputs[0] * call.attr("alpha", 0.2) + call.attr("beta", 0.5), 0.0, 1.0)


def _hard_swish(call: Call) -> Any:
    x = call.inputs[0]
    return x * np.clip(x * (1 / 6) + 0.5, 0.0, 1.0)


def _gelu(call: Call) -> Any:
    x = call.inputs[0]
    word = dsl.ext.ndtr_tanh if call.attr("approximate", "none") == "tanh" else dsl.ext.ndtr
    return x * _word(word)(x)


def _swish(call: Call) -> Any:
    x = call.inputs[0]
    return x * _sigmoid(x * call.attr("alpha", 1.0))


def _threshold(call: Call) -> Any:
    x = call.inputs[0]
    return np.where(x > call.attr("alpha", 1.0), x, 0.0 * x)


def _clip(call: Call) -> Any:
    low, high = (
        (call.given(1), call.given(2))
        if call.version >= 11
        else (call.attr("min"), call.attr("max"))
    )
    x = call.inputs[0]
    x = x if low is None else np.maximum(x, low)
    return x if high is None else np.minimum(x, high)


def _cast(call: Call) -> Any:
    return call.inputs[0].astype(numpy_dtype(call.outputs[0].dtype))


def _modulo(call: Call) -> Any:
    x, y = call.inputs
    return np.fmod(x, y) if call.attr("fmod", 0) or x.dtype.kind == "f" else np.mod(x, y)


def _axes(call: Call) -> tuple[int, ...]:
    """Of a reduction; all of them where none are named, and none where the node says so."""
    found, ndim = call.integers("axes", 1), call.inputs[0].ndim
    if not found:
        return () if call.attr("noop_with_empty_axes", 0) else tuple(range(ndim))
    return tuple(sorted({axis % ndim for axis in found}))


def _reduction(
    function: Callable[..., Any],
    before: Callable[[Any], Any] = lambda x: x,
    after: Callable[[Any], Any] = lambda x: x,
) -> Meaning:
    def meaning(call: Call) -> Any:
        x, axes = before(call.inputs[0]), _axes(call)
        found = function(x, axis=axes, keepdims=bool(call.attr("keepdims", 1))) if axes else x
        return after(found)

    return meaning


def _log_sum_exp(call: Call) -> Any:
    x, axes, keep = call.inputs[0], _axes(call), bool(call.attr("keepdims", 1))
    top = np.max(x, axis=axes, keepdims=True)
    safe = np.where(np.isfinite(top), top, 0.0)
    total = np.log(np.sum(np.exp(x - safe), axis=axes, keepdims=keep))
    return total + (safe if keep else np.max(safe, axis=axes, keepdims=False))


def _global_mean(call: Call) -> Any:
    return np.mean(call.inputs[0], axis=tuple(range(2, call.inputs[0].ndim)), keepdims=True)


def _global_max(call: Call) -> Any:
    return np.max(call.inputs[0], axis=tuple(range(2, call.inputs[0].ndim)), keepdims=True)


def _soft_axis(call: Call) -> int:
    """Before version 13 the axes from the named one on are one."""
    axis = call.axis(-1 if call.version >= 13 else 1)
    if call.version < 13 and axis != call.inputs[0].ndim - 1:
        raise InputError(
            "a softmax over several axes at once stays with the model", place=call.node.name
        )
    return axis


def _softmax(call: Call) -> Any:
    x, axis = call.inputs[0], _soft_axis(call)
    powers = np.exp(x - np.max(x, axis=axis, keepdims=True))
    return powers / np.sum(powers, axis=axis, keepdims=True)


def _log_softmax(call: Call) -> Any:
    x, axis = call.inputs[0], _soft_axis(call)
    level = x - np.max(x, axis=axis, keepdims=True)
    return level - np.log(np.sum(np.exp(level), axis=axis, keepdims=True))


def _normalised(x: Any, axes: tuple[int, ...], epsilon: float) -> Any:
    centred = x - np.mean(x, axis=axes, keepdims=True)
    variance = np.mean(centred * centred, axis=axes, keepdims=True)
    return centred * _word(dsl.vrsqrt)(variance + epsilon)


def _layer_norm(call: Call) -> Any:
    x, scale, shift = call.inputs[0], call.given(1), call.given(2)
    if len([one for one in call.outputs if one.name]) > 1:
        raise InputError("mean and deviation are results of it, too", place=call.node.name)
    axes = tuple(range(call.axis(-1), x.ndim))
    found = _normalised(x, axes, call.attr("epsilon", 1e-5)) * scale
    return found if shift is None else found + shift


def _rms_norm(call: Call) -> Any:
    x = call.inputs[0]
    axes = tuple(range(call.axis(-1), x.ndim))
    power = np.mean(x * x, axis=axes, keepdims=True)
    return x * _word(dsl.vrsqrt)(power + call.attr("epsilon", 1e-5)) * call.inputs[1]


def _along_channels(x: Any, ndim: int) -> Any:
    return (
        x.reshape((-1,) + (1,) * (ndim - 2))
        if isinstance(x, np.ndarray)
        else x.reshape((x.shape[0],) + (1,) * (ndim - 2))
    )


def _batch_norm(call: Call) -> Any:
    x = call.inputs[0]
    if call.attr("training_mode", 0) or len([one for one in call.outputs if one.name]) > 1:
        raise InputError("a training step stays with the model", place=call.node.name)
    scale, shift, mean, variance = (_along_channels(one, x.ndim) for one in call.inputs[1:5])
    return (x - mean) * (scale / np.sqrt(variance + call.attr("epsilon", 1e-5))) + shift


def _instance_norm(call: Call) -> Any:
    x = call.inputs[0]
    scale, shift = (_along_channels(one, x.ndim) for one in call.inputs[1:3])
    return _normalised(x, tuple(range(2, x.ndim)), call.attr("epsilon", 1e-5)) * scale + shift


def _made_of_known(call: Call) -> tuple[int, ...] | None:
    """The shape of a result, perhaps with one −1, of numbers alone: names of sizes in a file may be wrong. None where some are not known."""
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


def _shape_of_result(call: Call) -> tuple[Any, ...]:
    sizes = _made_of_known(call) or call.sizes[0]
    if any(size is None for size in sizes):
        raise InputError("a size that no input of the kernel has", place=call.node.name)
    return sizes


def _reshaped(call: Call) -> Any:
    sizes = _made_of_known(call) or call.sizes[0]
    wanted = (
        [-1 if size is None else size for size in sizes]
        if sizes.count(None) == 1
        else _shape_of_result(call)
    )
    return Traced(dsl.ext.reshape(tensor_of(call.inputs[0]), list(wanted)))


def _transpose(call: Call) -> Any:
    x = call.inputs[0]
    return np.transpose(x, call.integers("perm") or tuple(reversed(range(x.ndim))))


def _expand(call: Call) -> Any:
    return Traced(dsl.broadcast(tensor_of(call.inputs[0]), list(_shape_of_result(call))))


def _slice(call: Call) -> Any:
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


def _concat(call: Call) -> Any:
    return np.concatenate(list(call.inputs), axis=call.axis(0))


def _split(call: Call) -> Sequence[Any]:
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


def _tile(call: Call) -> Any:
    return np.tile(call.inputs[0], call.integers("repeats", 1) or ())


def _pad(call: Call) -> Any:
    x, mode = call.inputs[0], call.attr("mode", "constant")
    pads, value, axes = call.integers("pads", 1) or (), call.given(2), call.integers("axes", 3)
    if mode != "constant" or min(pads, default=0) < 0:
        raise InputError("only a padding with a number is built", place=call.node.name)
    if isinstance(value, Traced):
        raise InputError(
            "what is padded with is computed while the model runs", place=call.node.name
        )
    number = call.attr("value", 0.0) if value is None else np.asarray(value).reshape(-1)[0]
    widths = [(0, 0)] * x.ndim
    for place, axis in enumerate(axes or range(x.ndim)):
        widths[axis % x.ndim] = (pads[place], pads[place + len(pads) // 2])
    return np.pad(x, widths, constant_values=number)


def _gemm(call: Call) -> Any:
    a, b, c = call.inputs[0], call.inputs[1], call.given(2)
    found = np.matmul(a.T if call.attr("transA", 0) else a, b.T if call.attr("transB", 0) else b)
    alpha, beta = call.attr("alpha", 1.0), call.attr("beta", 1.0)
    found = found if alpha == 1.0 else found * alpha
    return found if c is None else found + (c if beta == 1.0 else c * beta)


MEANINGS: Mapping[str, Meaning] = MappingProxyType(
    {
        # one tensor
        "Abs": _unary(np.abs),
        "Neg": _unary(np.negative),
        "Exp": _unary(np.exp),
        "Log": _unary(np.log),
        "Sqrt": _unary(np.sqrt),
        "Reciprocal": _unary(lambda x: 1 / x),
        "Sin": _unary(np.sin),
        "Cos": _unary(np.cos),
        "Tan": _unary(np.tan),
        "Asin": _unary(np.arcsin),
        "Acos": _unary(np.arccos),
        "Atan": _unary(np.arctan),
        "Sinh": _unary(np.sinh),
        "Cosh": _unary(np.cosh),
        "Asinh": _unary(np.arcsinh),
        "Acosh": _unary(np.arccosh),
        "Atanh": _unary(np.arctanh),
        "Tanh": _unary(_tanh),
        "Sigmoid": _unary(_sigmoid),
        "Erf": _unary(_erf),
        "Floor": _unary(np.floor),
        "Ceil": _unary(np.ceil),
        "Round": _unary(np.rint),
        "Sign": _unary(np.sign),
        "Relu": _unary(lambda x: np.maximum(x, 0)),
        "Not": _unary(np.logical_not),
        "IsNaN": _unary(np.isnan),
        "Softplus": _unary(_softplus),
        "Softsign": _unary(lambda x: x / (1 + np.abs(x))),
        "Mish": _unary(lambda x: x * _tanh(_softplus(x))),
        "Identity": _unary(lambda x: x),
        "LeakyRelu": _leaky,
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
        # several
        "Add": _binary(np.add),
        "Sub": _binary(np.subtract),
        "Mul": _binary(np.multiply),
        "Div": _binary(_quotient),
        "Pow": _binary(np.power),
        "Mod": _modulo,
        "Max": _several(np.maximum),
        "Min": _several(np.minimum),
        "Sum": _several(np.add),
        "Mean": lambda call: _several(np.add)(call) / len(call.inputs),
        "Equal": _binary(np.equal),
        "Greater": _binary(np.greater),
        "Less": _binary(np.less),
        "GreaterOrEqual": _binary(np.greater_equal),
        "LessOrEqual": _binary(np.less_equal),
        "And": _binary(np.logical_and),
        "Or": _binary(np.logical_or),
        "Xor": _binary(np.logical_xor),
        "Where": lambda call: np.where(*call.inputs),
        # reductions and norms
        "ReduceSum": _reduction(np.sum),
        "ReduceMean": _reduction(np.mean),
        "ReduceMax": _reduction(np.max),
        "ReduceMin": _reduction(np.min),
        "ReduceProd": _reduction(np.prod),
        "ReduceL1": _reduction(np.sum, np.abs),
        "ReduceL2": _reduction(np.sum, np.square, np.sqrt),
        "ReduceSumSquare": _reduction(np.sum, np.square),
        "ReduceLogSum": _reduction(np.sum, after=np.log),
        "ReduceLogSumExp": _log_sum_exp,
        "GlobalAveragePool": _global_mean,
        "GlobalMaxPool": _global_max,
        "Softmax": _softmax,
        "LogSoftmax": _log_softmax,
        "LayerNormalization": _layer_norm,
        "RMSNormalization": _rms_norm,
        "BatchNormalization": _batch_norm,
        "InstanceNormalization": _instance_norm,
        # shapes and places
        "Reshape": _reshaped,
        "Squeeze": _reshaped,
        "Unsqueeze": _reshaped,
        "Flatten": _reshaped,
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
        # products, by a library
        "MatMul": _binary(np.matmul),
        "Gemm": _gemm,
        "Conv": convolution,
        "ConvTranspose": transposed_convolution,
    }
)
"""Operator of ONNX's own domain → its formula."""


SHAPE_ELEMENTS = 64


def has_meaning(node: Node, graph: Graph) -> bool:
    """Whether the operator can be part of a kernel of ours, as far as its name and its results say.

    Arithmetic with a few whole numbers computes sizes and places; it stays with the model, whose runtime does it at once.
    """
    results = graph.outputs_of(node)
    counts = all(
        value.dtype.startswith(("int", "uint"))
        and not value.is_dynamic
        and value.elements <= SHAPE_ELEMENTS
        for value in results
    )
    return str(node.attr(ONNX_OP)) in MEANINGS and not counts


def said(call: Call) -> tuple[Any, ...]:
    """The results of an operator as traced tensors, in their declared dtypes; half precision in float32.

    Raises:
        InputError: it cannot be said; names the node.
    """
    found = MEANINGS[str(call.node.attr(ONNX_OP))](call)
    results = tuple(found) if isinstance(found, list | tuple) else (found,)
    return tuple(
        _in_dtype(one, value.dtype) for one, value in zip(results, call.outputs, strict=False)
    )


def _in_dtype(found: Any, dtype: str) -> Any:
    wanted = np.dtype(np.float32) if dtype in ("float16", "bfloat16") else numpy_dtype(dtype)
    return found if found.dtype == wanted else found.astype(wanted)
