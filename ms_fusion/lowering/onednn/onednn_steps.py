"""Lowers operators to oneDNN calls with the epilogues that oneDNN can fuse."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from custom_ops.onednn import why_missing
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.lowering.onednn.broadcast_operands import flatten_batch_shapes, shape_of
from ms_fusion.lowering.onednn.epilogues import match_epilogue
from ms_fusion.lowering.onednn.onednn_call import ArgumentValue, OnednnCall
from ms_fusion.ops.convolution_formulas import spatial_attributes
from ms_fusion.ops.pooling_windows import windows
from tbe_impl.runtime.sequence import Step


@dataclass(frozen=True)
class LibraryCall:
    """A library call in a planned sequence.

    The `PlannedStep` of the call lists the operands of the call in order.

    Attributes:
        covered: names of the nodes that the call computes, the library operator first.
        call: description of the oneDNN call: a function and its arguments.
    """

    covered: tuple[str, ...]
    call: OnednnCall


def is_library_operator(node: Node, graph: Graph) -> bool:
    """Returns whether a library call computes the node."""
    if node.op == "MaxPoolGrad":
        # The DSL can express this operator too, but the generated kernel is ten times slower.
        return graph.outputs_of(node)[0].dtype != "float64" and not why_missing()
    return node.op in LIBRARY


def library_step(node: Node, graph: Graph, taken: Container[str] = ()) -> Step[LibraryCall]:
    """Returns the library call for a node, with the epilogue that the call can fuse.

    Args:
        node: a node that satisfies `is_library_operator`.
        graph: the graph of the node.
        taken: names of the nodes that other library calls cover.
    """
    reads, joins, call = LIBRARY[node.op](node, graph)
    result = node.outputs[0]
    if not joins:
        return _step(LibraryCall((node.name,), call()), reads, result, graph)
    image = node.op == "Conv2D"
    axis = 1 if image and "y" not in node.attr("channels_last", ()) else -1
    biased = len(reads) == 3
    found = match_epilogue(result, graph, axis=axis, taken=taken, scaled=image, biased=biased)
    more: dict[str, ArgumentValue] = dict.fromkeys(found.reads, True)
    more |= {"bias": True} if biased else {}
    more |= {"activation": "relu"} if found.relu else {}
    operands = [found.reads[name] for name in ("bias", "residual", "scale") if name in found.reads]
    covered = LibraryCall((node.name, *found.covered), call(**more))
    return _step(covered, (*reads, *operands), found.result, graph)


def _step(
    call: LibraryCall, reads: tuple[str, ...], result: str, graph: Graph
) -> Step[LibraryCall]:
    return Step(call, reads, (result,), (graph.values[result].bytes,))


_LibraryMatch = tuple[tuple[str, ...], bool, Callable[..., OnednnCall]]


def _product(node: Node, graph: Graph) -> _LibraryMatch:
    given = graph.inputs_of(node)
    ways = {name: node.attr(name) for name in ("transpose_y", "heads_third") if node.attr(name)}
    plain = not ways and not node.attr("transpose_a", False)
    shapes = flatten_batch_shapes(*given[:2]) if plain else tuple(map(shape_of, given[:2]))
    told: dict[str, ArgumentValue] = {
        "a_shape": shapes[0],
        "b_shape": shapes[1],
        "dtype": given[0].dtype,
        "operator": node.op,
        "transpose_a": bool(node.attr("transpose_a", False)),
        "transpose_b": bool(node.attr("transpose_b", False)),
    }
    return (
        tuple(node.inputs),
        not ways,
        lambda **more: OnednnCall("prepare_matmul", told | ways | more),
    )


def _image_shape(value: Value, last: bool) -> tuple[int, ...]:
    """Returns (batch, channels, height, width) of an image.

    If `last` is True, the layout of the image is NHWC, else NCHW.
    """
    shape = shape_of(value)
    return (shape[0], shape[3], *shape[1:3]) if last else shape


def _convolution(node: Node, graph: Graph) -> _LibraryMatch:
    x, weight = (graph.values[name] for name in node.inputs[:2])
    last = node.attr("channels_last", ())
    told = _convolution_arguments(x, weight, node, last="x" in last)

    def call(**more: ArgumentValue) -> OnednnCall:
        ways = (*last, "residual") if "y" in last and more.get("residual") else last
        return OnednnCall("prepare_conv2d", told | {"channels_last": ways} | more)

    return tuple(node.inputs), True, call


def _convolution_arguments(
    x: Value, weight: Value, node: Node, *, last: bool
) -> dict[str, ArgumentValue]:
    """Returns the arguments that the calls of a convolution and of its gradients share."""
    shapes = {"x_shape": _image_shape(x, last), "weight_shape": shape_of(weight)}
    return {**shapes, "dtype": x.dtype, "operator": node.op, **spatial_attributes(node)}


def _convolution_gradient(node: Node, graph: Graph) -> _LibraryMatch:
    """Describes a gradient of a convolution as a oneDNN call.

    For the gradient of x, the node's inputs are (gradient, weight, shape). For the gradient of the
    weight, the node's inputs are (gradient, x, shape).
    """
    of_x = node.op == "Conv2DBackpropInput"
    last = node.attr("channels_last", ())
    result, other = graph.outputs_of(node)[0], graph.values[node.inputs[1]]
    x, weight = (result, other) if of_x else (other, result)
    told = _convolution_arguments(x, weight, node, last=("grad_x" if of_x else "x") in last)
    told |= {"wanted": ("x" if of_x else "weight",), "channels_last": last}
    return tuple(node.inputs[:2]), False, lambda: OnednnCall("prepare_conv2d_backward", told)


def _pooling_gradient(node: Node, graph: Graph) -> _LibraryMatch:
    """Describes the gradient of a max-pooling y of x as a oneDNN call.

    The inputs of this operator are (x, y, gradient of y).
    """
    x, y, gradient = graph.inputs_of(node)
    where, last = windows(node, x.shape, y.shape), node.attr("format", "NCHW") == "NHWC"
    told: dict[str, ArgumentValue] = {
        "x_shape": _image_shape(x, last),
        "y_shape": _image_shape(gradient, last),
        "window": where.spans,
        "stride": where.strides,
        "before": where.starts,
        "dtype": x.dtype,
        "channels_last": last,
    }
    return (
        (node.inputs[0], node.inputs[2]),
        False,
        lambda: OnednnCall("prepare_max_pool_gradient", told),
    )


LIBRARY: Mapping[str, Callable[[Node, Graph], _LibraryMatch]] = MappingProxyType(
    {
        "MatMul": _product,
        "BatchMatMul": _product,
        "Conv2D": _convolution,
        "Conv2DBackpropInput": _convolution_gradient,
        "Conv2DBackpropFilter": _convolution_gradient,
        "MaxPoolGrad": _pooling_gradient,
    }
)
"""A dict from an operator type to a function that matches a node of this type.

This function returns a tuple of three items: the names of the oneDNN call's operands, whether the
call can fuse an epilogue, and a function that creates the description of the call (`OnednnCall`).
"""
