"""Finds products with constant weights and the operators behind them that our kernel includes.

The kernel computes activation((x · weights + bias) · scale) + residual in float32. The scale is a
constant vector, by which the weights and the bias are multiplied beforehand.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace

import numpy as np

from ms_fusion.graph import Graph, Node
from ms_fusion.onnx.fuse.functions import DOMAIN
from ms_fusion.onnx.fuse.ort.equivalents import Site
from ms_fusion.onnx.kernels.subgraphs import order_of
from ms_fusion.onnx.ort_library.linear_text import PANEL, LinearKernel, pack_weights
from ms_fusion.onnx.ort_library.operator_text import AXES_MAX, OperatorText
from ms_fusion.readers.onnx_graph import UNKNOWN_RANK
from ms_fusion.rewrite import Match, OneOf, Op, Rule, find_matches
from ms_fusion.rules.activation import silu
from ms_fusion.rules.gelu import gelu

ACTIVATION = Rule(
    "Activation",
    "intra-operator",
    OneOf(Op("ReLU", "x"), *silu("x").patterns, *gelu("x").patterns),
)
WEIGHT_BYTES_MAX = 1 << 30
"""Largest total size of a model's weights for which products are replaced.

The packed weights are stored in the model file, whose size is limited.
"""


@dataclass(frozen=True)
class LinearChain:
    """A product with constant weights and its epilogue.

    Attributes:
        nodes: names of the operators.
        result: name of the result.
        x, weights: names of the operands of the product.
        is_transposed: whether the weights have the shape (columns, depth).
        bias, scale, residual: names of the further operands; empty without one.
        activation: the activation, a key of `ACTIVATIONS` of ``linear_text``.
    """

    nodes: tuple[str, ...]
    result: str
    x: str
    weights: str
    is_transposed: bool
    bias: str = ""
    scale: str = ""
    activation: str = ""
    residual: str = ""

    def write(self, site: Site) -> OperatorText | str:
        """Adds the call of our kernel to a site. Returns the kernel, or why it cannot be called."""
        constants = self.add_constants(site)
        if isinstance(constants, str):
            return constants
        kernel = LinearKernel(
            rank=len(site.value(self.x).shape),
            activation=self.activation,
            has_residual=bool(self.residual),
        )
        residual = [self.residual] if self.residual else []
        return call_linear(kernel, site, [self.x, *constants, *residual], self.result)

    def add_constants(self, site: Site) -> list[str] | str:
        """Adds the packed weights and the bias to a site; returns their names.

        Returns a sentence instead if the weights are not known.
        """
        weights = site.array(self.weights)
        if weights is None:
            return "the weights are not known"
        weights = weights.T if self.is_transposed else weights
        bias, scale = (site.array(name) if name else None for name in (self.bias, self.scale))
        if (bias is None) != (not self.bias) or (scale is None) != (not self.scale):
            return "the bias or the scale is not known"
        added = np.zeros(weights.shape[1], np.float32) if bias is None else bias
        if scale is not None:
            weights, added = weights * scale, added * scale
        return [site.constant(pack_weights(weights)), site.constant(added)]


@dataclass(frozen=True)
class LinearPair:
    """Two products with constant weights, where the second one reads the first one.

    Attributes:
        first: the first product with its activation.
        second: the second product with its epilogue, without an activation.
    """

    first: LinearChain
    second: LinearChain

    @property
    def nodes(self) -> tuple[str, ...]:
        """Names of the operators."""
        return (*self.first.nodes, *self.second.nodes)

    def write(self, site: Site) -> OperatorText | str:
        """Adds the call of our kernel to a site. Returns the kernel, or why it cannot be called."""
        constants: list[str] = []
        for chain in (self.first, self.second):
            added = chain.add_constants(site)
            if isinstance(added, str):
                return added
            constants += added
        kernel = LinearKernel(
            rank=len(site.value(self.first.x).shape),
            activation=self.first.activation,
            has_residual=bool(self.second.residual),
            is_pair=True,
        )
        residual = [self.second.residual] if self.second.residual else []
        given = [self.first.x, *constants, *residual]
        return call_linear(kernel, site, given, self.second.result)


def call_linear(
    kernel: LinearKernel, site: Site, inputs: Sequence[str], result: str
) -> OperatorText:
    """Adds the call of a kernel to a site; returns the operator."""
    operator = kernel.write()
    site.call(operator.name, *inputs, to=result, domain=DOMAIN)
    return operator


def find_linear_pairs(graph: Graph) -> Iterator[LinearPair]:
    """Yields each product with an activation together with the product that alone reads it."""
    chains = list(find_linear_chains(graph))
    first = {chain.result: chain for chain in chains if chain.activation and not chain.residual}
    for second in chains:
        before = first.get(second.x)
        if before is None or second.activation or _only_reader(before, graph) is None:
            continue
        columns = graph.values[before.weights].shape[0 if before.is_transposed else 1]
        if isinstance(columns, int) and columns % PANEL == 0:
            yield LinearPair(before, second)


def find_linear_chains(graph: Graph) -> Iterator[LinearChain]:
    """Yields each product with each beginning of its epilogue.

    Yields nothing if the weights of the model exceed `WEIGHT_BYTES_MAX`.
    """
    weights = [value for value in graph.values.values() if value.kind == "parameter"]
    if sum(value.bytes for value in weights if not value.is_dynamic) > WEIGHT_BYTES_MAX:
        return
    activations: dict[str, Match] = {}
    for match in find_matches(ACTIVATION, graph, order_of(graph)):
        activations.setdefault(match.bound["x"], match)
    for node in graph.nodes:
        chain = _product(node, graph)
        while chain is not None:
            yield chain
            chain = (
                _add_vector(chain, graph)
                or _add_activation(chain, graph, activations)
                or _add_residual(chain, graph)
            )


def _product(node: Node, graph: Graph) -> LinearChain | None:
    """Returns the chain of a product of float32 with weights of two axes; None for other nodes."""
    if node.op != "MatMul" or len(node.inputs) < 2:
        return None
    x, weights, *rest = node.inputs
    values = graph.values[x], graph.values[weights]
    is_plain = (
        not node.attr("transpose_a", default=False)
        and node.attr("alpha", 1.0) == 1.0
        and (not rest or node.attr("beta", 1.0) == 1.0)
    )
    if (
        not is_plain
        or any(value.dtype != "float32" for value in values)
        or not 2 <= len(values[0].shape) <= AXES_MAX
        or values[0].shape == UNKNOWN_RANK
        or not _is_weight(weights, graph)
        or len(values[1].shape) != 2
        or 0 in values[1].shape
    ):
        return None
    is_transposed = bool(node.attr("transpose_b", default=False))
    chain = LinearChain((node.name,), node.outputs[0], x, weights, is_transposed)
    if not rest:
        return chain
    (bias,) = rest
    return replace(chain, bias=bias) if _is_vector(bias, chain, graph) else None


def _is_weight(name: str, graph: Graph) -> bool:
    return graph.values[name].kind in ("parameter", "constant")


def _is_vector(name: str, chain: LinearChain, graph: Graph) -> bool:
    """Returns whether a value is a constant vector with an element for each column."""
    columns = graph.values[chain.weights].shape[0 if chain.is_transposed else 1]
    value = graph.values.get(name)
    return (
        value is not None
        and _is_weight(name, graph)
        and value.shape == (columns,)
        and value.dtype == "float32"
    )


def _only_reader(chain: LinearChain, graph: Graph) -> Node | None:
    readers = graph.consumers.get(chain.result, ())
    return readers[0] if len(readers) == 1 and chain.result not in graph.outputs else None


def _extend(chain: LinearChain, *nodes: Node) -> LinearChain:
    return replace(
        chain,
        nodes=(*chain.nodes, *(node.name for node in nodes)),
        result=nodes[-1].outputs[0],
    )


def _other_operand(node: Node, chain: LinearChain) -> str:
    """Returns the operand of a binary operator that is not the chain's result; "" if none is."""
    others = [name for name in node.inputs if name != chain.result]
    return others[0] if len(node.inputs) == 2 and len(others) == 1 else ""


def _add_vector(chain: LinearChain, graph: Graph) -> LinearChain | None:
    """Adds the bias, or the multiplication by a scale behind it, to the chain."""
    node = _only_reader(chain, graph)
    if node is None or chain.activation or chain.residual or chain.scale:
        return None
    other = _other_operand(node, chain)
    if not _is_vector(other, chain, graph):
        return None
    if node.op == "Add" and not chain.bias:
        return replace(_extend(chain, node), bias=other)
    return replace(_extend(chain, node), scale=other) if node.op == "Mul" else None


def _add_activation(
    chain: LinearChain, graph: Graph, activations: Mapping[str, Match]
) -> LinearChain | None:
    match = activations.get(chain.result)
    if match is None or chain.activation or chain.residual or chain.result in graph.outputs:
        return None
    inside = {node.name for node in match.nodes}
    if any(node.name not in inside for node in graph.consumers.get(chain.result, ())):
        return None
    return replace(_extend(chain, *match.nodes), activation=_activation_name(match))


def _activation_name(match: Match) -> str:
    ops = {node.op for node in match.nodes}
    if ops & {"ReLU"}:
        return "relu"
    if ops & {"SiLU", "Sigmoid"}:
        return "silu"
    by_tanh = "Tanh" in ops or match.nodes[-1].attr("approximate", "none") == "tanh"
    return "gelu by tanh" if by_tanh else "gelu by erf"


def _add_residual(chain: LinearChain, graph: Graph) -> LinearChain | None:
    node = _only_reader(chain, graph)
    if node is None or chain.residual or node.op != "Add":
        return None
    other = graph.values.get(_other_operand(node, chain))
    own = graph.values[chain.result]
    if other is None or (other.shape, other.dtype) != (own.shape, own.dtype):
        return None
    return replace(_extend(chain, node), residual=other.name)
