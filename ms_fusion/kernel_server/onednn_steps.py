"""Operators that oneDNN computes, with the epilogues that it can fuse."""

from __future__ import annotations

from collections.abc import Callable, Container, Mapping
from dataclasses import dataclass
from types import MappingProxyType

from custom_ops.onednn import why_missing
from ms_fusion.accuracy.convolutions import spatial
from ms_fusion.accuracy.windows import windows
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.kernel_server.broadcast_operands import flattened, shape_of
from ms_fusion.kernel_server.epilogues import following
from ms_fusion.kernel_server.onednn_call import OnednnCall, Plain


@dataclass(frozen=True)
class LibraryStep:
    """A call of the library.

    Attributes:
        covered: names of the nodes that it computes, the library's own first.
        reads: names of the values that it reads, in the order of the call.
        writes: name of the value that it makes.
        call: what the library is asked for.
    """

    covered: tuple[str, ...]
    reads: tuple[str, ...]
    writes: str
    call: OnednnCall


def is_called(node: Node, graph: Graph) -> bool:
    """Whether a node is computed by the library."""
    if node.op == "MaxPoolGrad":
        # the language can say it too, ten times as slowly
        return graph.outputs_of(node)[0].dtype != "float64" and not why_missing()
    return node.op in LIBRARY


def library_step(node: Node, graph: Graph, taken: Container[str] = ()) -> LibraryStep:
    """The call for a node that `is_called`, with what follows it where nobody else reads what lies between.

    Args:
        taken: names of nodes that are computed with another call.
    """
    reads, joins, call = LIBRARY[node.op](node, graph)
    result = node.outputs[0]
    if not joins:
        return LibraryStep((node.name,), reads, result, call())
    image = node.op == "Conv2D"
    axis = 1 if image and "y" not in node.attr("channels_last", ()) else -1
    biased = len(reads) == 3
    found = following(result, graph, axis=axis, taken=taken, scaled=image, biased=biased)
    more: dict[str, Plain] = dict.fromkeys(found.reads, True)
    more |= {"bias": True} if biased else {}
    more |= {"activation": "relu"} if found.relu else {}
    operands = [found.reads[name] for name in ("bias", "residual", "scale") if name in found.reads]
    return LibraryStep((node.name, *found.covered), (*reads, *operands), found.result, call(**more))


_Found = tuple[tuple[str, ...], bool, Callable[..., OnednnCall]]


def _product(node: Node, graph: Graph) -> _Found:
    given = graph.inputs_of(node)
    ways = {name: node.attr(name) for name in ("transpose_y", "heads_third") if node.attr(name)}
    plain = not ways and not node.attr("transpose_a", False)
    shapes = flattened(*given[:2]) if plain else tuple(map(shape_of, given[:2]))
    told: dict[str, Plain] = {
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
    """Batch, channels, height, width of a value, whichever way it lies."""
    shape = shape_of(value)
    return (shape[0], shape[3], *shape[1:3]) if last else shape


def _convolution(node: Node, graph: Graph) -> _Found:
    x, weight = (graph.values[name] for name in node.inputs[:2])
    last = node.attr("channels_last", ())
    told = _images(x, weight, node, last="x" in last)

    def call(**more: Plain) -> OnednnCall:
        ways = (*last, "residual") if "y" in last and more.get("residual") else last
        return OnednnCall("prepare_conv2d", told | {"channels_last": ways} | more)

    return tuple(node.inputs), True, call


def _images(x: Value, weight: Value, node: Node, *, last: bool) -> dict[str, Plain]:
    """What a convolution and its gradients are told."""
    shapes = {"x_shape": _image_shape(x, last), "weight_shape": shape_of(weight)}
    return {**shapes, "dtype": x.dtype, "operator": node.op, **spatial(node)}


def _convolution_gradient(node: Node, graph: Graph) -> _Found:
    """Of x: (gradient, weight, shape); of the weight: (gradient, x, shape)."""
    of_x = node.op == "Conv2DBackpropInput"
    last = node.attr("channels_last", ())
    result, other = graph.outputs_of(node)[0], graph.values[node.inputs[1]]
    x, weight = (result, other) if of_x else (other, result)
    told = _images(x, weight, node, last=("grad_x" if of_x else "x") in last)
    told |= {"wanted": ("x" if of_x else "weight",), "channels_last": last}
    return tuple(node.inputs[:2]), False, lambda: OnednnCall("prepare_conv2d_backward", told)


def _pooling_gradient(node: Node, graph: Graph) -> _Found:
    """(x, y, gradient)."""
    x, y, gradient = graph.inputs_of(node)
    where, last = windows(node, x.shape, y.shape), node.attr("format", "NCHW") == "NHWC"
    told: dict[str, Plain] = {
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


LIBRARY: Mapping[str, Callable[[Node, Graph], _Found]] = MappingProxyType(
    {
        "MatMul": _product,
        "BatchMatMul": _product,
        "Conv2D": _convolution,
        "Conv2DBackpropInput": _convolution_gradient,
        "Conv2DBackpropFilter": _convolution_gradient,
        "MaxPoolGrad": _pooling_gradient,
    }
)
"""Operator type → what it reads, whether something can be joined to it, and the call."""
