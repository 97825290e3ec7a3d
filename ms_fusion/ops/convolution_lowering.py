"""Lowers convolutions and transposed convolutions to the DSL."""

from __future__ import annotations

from typing import Any

from ms_fusion.ops.call import Call, static_result_shape
from ms_fusion.ops.convolution_formulas import spatial_attributes
from tbe_impl import dsl
from tbe_impl.tracing.arrays import TracedArray, tensor_of


def convolution(call: Call) -> Any:
    """Lowers the convolution of (x, weight), plus an optional bias, over one to three axes."""
    x, weight, bias = call.inputs[0], call.inputs[1], call.optional_input(2)
    shape = weight.shape
    parameters = _parameters(call, "pads", len(shape) - 2)
    if len(shape) == 3:
        x, weight = _insert_axis(x), _insert_axis(weight)
    if len(shape) == 5:
        found = dsl.conv3d(tensor_of(x), tensor_of(weight), list(shape), parameters)
    else:
        found = dsl.conv(tensor_of(x), tensor_of(weight), parameters)
    made: Any = TracedArray(found)
    if len(shape) == 3:
        made = made.reshape((made.shape[0], made.shape[1], made.shape[3]))
    return _add_bias(made, bias)


def transposed_convolution(call: Call) -> Any:
    """Lowers a 2-D transposed convolution of (x, weight, size of the result, bias).

    A transposed convolution is the gradient of a convolution with respect to its input. The size of
    the result is taken from the `Call`. The bias is optional.
    """
    x, weight, bias = call.inputs[0], call.inputs[1], call.optional_input(3)
    image, sizes = tensor_of(x), [*tensor_of(x).shape[:1], *static_result_shape(call)[1:]]
    found = dsl.conv2d_backprop_input(
        tensor_of(weight), image, list(weight.shape), sizes, _parameters(call, "padding", 2)
    )
    return _add_bias(TracedArray(found), bias)


def _parameters(call: Call, padding: str, rank: int) -> dict[str, Any]:
    """Returns the parameters of a DSL convolution.

    If there is only one spatial axis, a second axis of size 1 is added.
    """
    own = spatial_attributes(call.node)
    more = max(2 - rank, 0)
    return {
        "strides": [1] * more + list(own["stride"]),
        padding: [0, 0] * more + list(own["padding"]),
        "dilations": [1] * more + list(own["dilation"]),
        "groups": own["groups"],
        "res_dtype": str(call.inputs[0].dtype),
    }


def _insert_axis(array: Any) -> Any:
    """Inserts an axis of size 1 before the only spatial axis of an array."""
    return array.reshape((*array.shape[:2], 1, *array.shape[2:]))


def _add_bias(made: Any, bias: Any) -> Any:
    return made if bias is None else made + bias.reshape((-1,) + (1,) * (made.ndim - 2))
