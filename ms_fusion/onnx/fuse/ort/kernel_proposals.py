"""Proposes groups that our kernels may compute as custom operators of ONNX Runtime.

Each of these is one kernel: attention, a product with constant weights and its epilogue, a
depthwise convolution with the layer norm of its channels. Other products and convolutions stay
outside of the groups, so that ONNX Runtime's own kernels compute them. If our product is not
faster, the addition of a bias to it is part of the group that reads the sum. ONNX Runtime then
multiplies without bias, and needs no Reshape before and after its Gemm.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import partial

import onnx_ir as ir

from ms_fusion.cost import VIEWS, constant_foldable_nodes, is_matrix_product, work_of
from ms_fusion.graph import Graph, Node
from ms_fusion.onnx.fuse.functions import DOMAIN
from ms_fusion.onnx.fuse.ort import attention
from ms_fusion.onnx.fuse.ort.depthwise_norms import DepthwiseNorm, find_depthwise_norms
from ms_fusion.onnx.fuse.ort.equivalents import Equivalent, Site
from ms_fusion.onnx.fuse.ort.linear_chains import (
    LinearChain,
    LinearPair,
    find_linear_chains,
    find_linear_pairs,
)
from ms_fusion.onnx.fuse.ort.mapping import find_sites, write_sites
from ms_fusion.onnx.kernels.clusters import CLUSTER, EPILOGUE, find_clusters
from ms_fusion.onnx.kernels.group_kernel import plan_kernel
from ms_fusion.onnx.kernels.operator_lowering import has_lowering_rule
from ms_fusion.onnx.kernels.subgraphs import fused_node, is_convex, order_of
from ms_fusion.onnx.ort_library.attention_text import HEAD_SIZE_MAX, AttentionKernel, HeadOperand
from ms_fusion.onnx.ort_library.gelu_text import write_gelu
from ms_fusion.onnx.ort_library.operator_text import OperatorText, write_operator
from ms_fusion.readers.onnx_graph import UNKNOWN_RANK
from ms_fusion.rewrite import LAYOUT_OPERATORS, Candidate, Kind, Match, Rule, find_matches
from ms_fusion.rules.gelu import GELU
from tbe_impl.errors import FusionError

OURS = "our kernel"
"""Name of the variant of a replacement that calls our kernel."""
SINGLE_OPERATORS = frozenset(
    {"LayerNorm", "RmsNorm", "Softmax", "LogSoftmax", "GeLU", "Mish", "Softplus"}
)
"""Operators for which a kernel is proposed even if the group contains no other operator."""
EPILOGUE_KIND: Kind = "cross-operator"
_BIAS_OPERATORS = frozenset({"Add"})


@dataclass(frozen=True)
class Proposal:
    """A group that may be replaced, and the data for the replacements.

    Attributes:
        candidate: the operators of the group.
        match: the match of a rule's pattern. If a search found the group, the match has no bound
            values.
        equivalents: ONNX Runtime's operators for the same pattern.
        bias: operator of the group that adds the bias of a product to the operand of a GELU.
        chain: the group as one or two products or a convolution with constant weights and the
            epilogue; None for any other group.
    """

    candidate: Candidate
    match: Match
    equivalents: tuple[Equivalent, ...] = ()
    bias: Node | None = None
    chain: LinearChain | LinearPair | DepthwiseNorm | None = None


@dataclass(frozen=True)
class Replacement:
    """A proposal together with its replacements, which can be tried in ONNX Runtime.

    Attributes:
        candidate: the operators of the group.
        group: the group as a fused operator.
        sites: maps the name of a variant to its operators. The variant ``OURS`` calls our kernel.
        operator: our kernel as a custom operator; None if our kernel cannot compute the group.
        reason: the reason why our kernel cannot compute the group.
    """

    candidate: Candidate
    group: Node
    sites: Mapping[str, Site]
    operator: OperatorText | None
    reason: str = ""


def propose(
    graph: Graph,
    equivalents: Sequence[Equivalent],
    rules: Sequence[Rule],
    searches: Sequence[str],
    kinds: Sequence[str],
) -> list[Proposal]:
    """Returns the groups that may be replaced: attention, then products, then larger groups first.

    Args:
        graph: the graph of the model.
        equivalents: patterns that ONNX Runtime has operators for.
        rules: further patterns.
        searches: names of searches; ``Epilogue`` finds products with constant weights, and
            ``Cluster`` finds groups without products.
        kinds: the kinds of fusion to try.
    """
    order = order_of(graph)
    beforehand = constant_foldable_nodes(graph)
    found: dict[tuple[str, ...], Proposal] = {}

    def add(candidate: Candidate, match: Match, own: tuple[Equivalent, ...] = ()) -> None:
        names = tuple(name for name in candidate.nodes if name not in beforehand)
        if candidate.kind in kinds and names and is_convex(graph, names, order):
            candidate = replace(candidate, nodes=names)
            known = found.setdefault(names, Proposal(candidate, match, own))
            if own and not known.equivalents:
                found[names] = Proposal(candidate, match, own)

    def add_with_bias(match: Match, names: tuple[str, ...]) -> None:
        bias = graph.producers.get(match.bound["x"])
        if bias is None or not _is_bias(bias, graph) or not _is_read_only_in(bias, names, graph):
            return
        both = (bias.name, *names)
        candidate = Candidate(GELU.name, GELU.kind, both)
        if candidate.kind in kinds and is_convex(graph, both, order):
            found[both] = Proposal(candidate, match, bias=bias)

    for one in equivalents:
        for _, match in find_sites(one, graph):
            names = tuple(node.name for node in match.nodes)
            add(Candidate(one.rule.name, one.rule.kind, names), match, (one,))
            if one.rule is GELU:
                add_with_bias(match, names)
    for rule in rules:
        for match in find_matches(rule, graph, order):
            if not any(is_matrix_product(node.op) for node in match.nodes):
                names = tuple(node.name for node in match.nodes)
                add(Candidate(rule.name, rule.kind, names), match)
    may = {
        node.name
        for node in graph.nodes
        if has_lowering_rule(node, graph)
        and node.name not in beforehand
        and not is_matrix_product(node.op)
    }
    bare = {name for name in may if not _is_bias(graph.node(name), graph)}
    if CLUSTER in searches:
        movable = {node.name for node in graph.nodes if node.op not in LAYOUT_OPERATORS}
        for allowed in (may, bare, bare & movable):
            for candidate in find_clusters(graph, partial(_is_named, allowed)):
                add(candidate, _bare_match(graph, candidate.nodes))
        for node in graph.nodes:
            if node.name in may and node.op in SINGLE_OPERATORS:
                candidate = Candidate(CLUSTER, "intra-operator", (node.name,))
                add(candidate, _bare_match(graph, (node.name,)))
    if EPILOGUE in searches and EPILOGUE_KIND in kinds:
        chains: list[LinearChain | LinearPair | DepthwiseNorm] = [
            *find_depthwise_norms(graph, order),
            *find_linear_chains(graph),
            *find_linear_pairs(graph),
        ]
        for chain in chains:
            if is_convex(graph, chain.nodes, order):
                candidate = Candidate(EPILOGUE, EPILOGUE_KIND, chain.nodes)
                match = _bare_match(graph, chain.nodes)
                found[chain.nodes] = Proposal(candidate, match, chain=chain)
    worth = [one for one in found.values() if _computes(one, graph)]
    return sorted(
        worth,
        key=lambda one: (not _is_attention(one), one.chain is None, -len(one.candidate.nodes)),
    )


def _is_named(names: Collection[str], node: Node) -> bool:
    return node.name in names


def _is_attention(one: Proposal) -> bool:
    return any(own in attention.EQUIVALENTS for own in one.equivalents)


def _computes(one: Proposal, graph: Graph) -> bool:
    """Returns whether a group has a launched operator that does more than move elements."""
    nodes = [graph.node(name) for name in one.candidate.nodes]
    return any(
        work_of(node, graph).launches and node.op not in (LAYOUT_OPERATORS | VIEWS)
        for node in nodes
    )


def _is_bias(node: Node, graph: Graph) -> bool:
    """Returns whether a node adds a vector of weights to a product, as ONNX Runtime's Gemm does."""
    if node.op not in _BIAS_OPERATORS:
        return False
    makers = [graph.producers.get(name) for name in node.inputs]
    weights = [
        graph.values[name].kind in ("parameter", "constant") and len(graph.values[name].shape) <= 1
        for name in node.inputs
    ]
    return any(weights) and any(one is not None and is_matrix_product(one.op) for one in makers)


def _is_read_only_in(node: Node, names: Collection[str], graph: Graph) -> bool:
    """Returns whether only the given operators read the result of a node."""
    (result,) = node.outputs
    readers = graph.consumers.get(result, ())
    return result not in graph.outputs and all(reader.name in names for reader in readers)


def _bias_operands(node: Node | None, graph: Graph) -> tuple[str, str] | None:
    """Returns the names of the product and of the bias vector that a node adds.

    Returns None if the node adds no float32 vector along the last axis.
    """
    if node is None or not _is_bias(node, graph):
        return None
    product, bias = sorted(node.inputs, key=lambda name: -len(graph.values[name].shape))
    shapes = graph.values[product].shape, graph.values[bias].shape
    is_vector = len(shapes[1]) == 1 and shapes[1] == shapes[0][-1:]
    return (product, bias) if is_vector and graph.values[bias].dtype == "float32" else None


def _bare_match(graph: Graph, names: Sequence[str]) -> Match:
    return Match(graph, tuple(graph.node(name) for name in names), {})


def write_replacement(
    proposal: Proposal, version: int, sources: Mapping[str, ir.Value]
) -> Replacement:
    """Writes the variants of a group's replacement, and the kernel of our variant.

    Args:
        proposal: the group.
        version: opset version of the model.
        sources: name of a value in the model's `Graph` → value of the model.
    """
    graph, candidate = proposal.match.graph, proposal.candidate
    if _is_attention(proposal):
        return _write_attention(proposal, version, sources)
    group = fused_node(graph, candidate.nodes, candidate.rule)
    sites: dict[str, Site] = {}
    for one in proposal.equivalents:
        written, _ = write_sites(one, Site(proposal.match, version, sources), group)
        sites |= written
    if proposal.chain is not None:
        ours = Site(proposal.match, version, sources)
        kernel = proposal.chain.write(ours)
        if isinstance(kernel, str):
            return Replacement(candidate, group, {}, None, kernel)
        return Replacement(candidate, group, {OURS: ours}, kernel)
    try:
        gelu = _write_gelu(proposal, group)
        operator, inputs = gelu or (write_operator(plan_kernel(group)), group.inputs)
    except FusionError as error:
        return Replacement(candidate, group, sites, None, error.what)
    ours = Site(proposal.match, version, sources)
    ours.call(operator.name, *inputs, to=group.outputs[0], domain=DOMAIN, more=group.outputs[1:])
    return Replacement(candidate, group, {**sites, OURS: ours}, operator)


def _write_gelu(proposal: Proposal, group: Node) -> tuple[OperatorText, tuple[str, ...]] | None:
    """Generates our kernel for a float32 GELU; returns the pair (kernel, names of its inputs).

    Returns None for any other group.
    """
    graph, nodes = proposal.match.graph, proposal.match.nodes
    is_single = len(nodes) == 1 and nodes[0].op == "GeLU"
    if len(group.outputs) != 1 or not (is_single or proposal.candidate.rule == GELU.name):
        return None
    inputs = _bias_operands(proposal.bias, graph) or (
        proposal.match.bound.get("x", group.inputs[0]),
    )
    if proposal.bias is not None and len(inputs) == 1:
        return None
    value = graph.values[inputs[0]]
    if value.dtype != "float32" or value.shape == UNKNOWN_RANK:
        return None
    by_tanh = any(node.op == "Tanh" or node.attr("approximate", "none") == "tanh" for node in nodes)
    operator = write_gelu(len(value.shape), by_tanh=by_tanh, has_bias=len(inputs) > 1)
    return operator, inputs


def _write_attention(
    proposal: Proposal, version: int, sources: Mapping[str, ir.Value]
) -> Replacement:
    """Generates our attention kernel for a matched attention; returns the replacement.

    The kernel includes the Split that computes q, k and v. If our kernel does not support the
    attention, the result contains the reason instead.
    """
    graph, candidate = proposal.match.graph, proposal.candidate
    site = Site(proposal.match, version, sources)
    bound, inside = proposal.match.bound, set(candidate.nodes)
    group = fused_node(graph, candidate.nodes, candidate.rule)
    found = attention.match_attention(site)
    values = [site.value(bound[name]) for name in "qkv"]
    if isinstance(found, str):
        return Replacement(candidate, group, {}, None, found)
    if any(value.dtype != "float32" for value in values):
        return Replacement(candidate, group, {}, None, "our attention computes in float32 only")
    if group.outputs != (site.result,):
        return Replacement(
            candidate, group, {}, None, "what is computed on the way is read elsewhere"
        )
    sizes = _head_sizes(found.heads, [value.shape for value in values])
    if sizes is None:
        return Replacement(candidate, group, {}, None, "the number or size of heads is not known")
    heads, groups, size, value_size = sizes
    split = graph.producers.get(bound["q"])
    packed = split is not None and _is_packed(split, [bound[name] for name in "qkv"], graph, inside)
    if packed and split is not None:
        names = tuple(one.name for one in graph.nodes if one.name in inside | {split.name})
        candidate = replace(candidate, nodes=names)
        group = fused_node(graph, names, candidate.rule)
        width = heads * size
        operands = [HeadOperand(0, is_split=False, offset=number * width) for number in range(3)]
        inputs = [split.inputs[0]]
        ranks: tuple[int, ...] = (3,)
        adds = graph.producers.get(split.inputs[0])
        added = _bias_operands(adds, graph)
        if adds is not None and added and _is_read_only_in(adds, [split.name], graph):
            candidate = replace(candidate, nodes=(adds.name, *names))
            group = fused_node(graph, candidate.nodes, candidate.rule)
            inputs = list(added)
    else:
        inputs = list(dict.fromkeys(bound[name] for name in "qkv"))
        operands = [
            HeadOperand(inputs.index(bound[name]), is_split=not found.heads) for name in "qkv"
        ]
        ranks = tuple(len(site.value(name).shape) for name in inputs)
    ours = Site(
        Match(graph, tuple(graph.node(name) for name in candidate.nodes), bound), version, sources
    )
    mask = attention.write_additive_mask(ours, found)
    kernel = AttentionKernel(
        q=operands[0],
        k=operands[1],
        v=operands[2],
        ranks=ranks,
        heads=heads,
        groups=groups,
        size=size,
        value_size=value_size,
        scale=found.scale,
        mask_rank=len(site.value(found.mask).shape) if mask else None,
        is_result_split=not found.heads,
        has_bias=len(inputs) > len(ranks),
    )
    operator = kernel.write()
    given = [*inputs, *([mask] if mask else [])]
    attention.call_attention(ours, found, operator.name, *given, domain=DOMAIN)
    return Replacement(candidate, group, {OURS: ours}, operator)


def _head_sizes(
    heads: int, shapes: Sequence[tuple[int | str, ...]]
) -> tuple[int, int, int, int] | None:
    """Returns (query heads, key heads, elements of a key head, elements of a value head).

    Returns None if one of these numbers is unknown, or if our kernel does not support it.
    """
    q, k, v = shapes
    if heads:
        widths = [shape[-1] for shape in shapes]
        if not all(isinstance(width, int) and width > 0 for width in widths):
            return None
        size, key_size, value_size = (int(width) // heads for width in widths)
        found = (heads, heads, size, value_size)
    else:
        numbers = [*(shape[1] for shape in shapes), q[3], k[3], v[3]]
        if not all(isinstance(number, int) and number > 0 for number in numbers):
            return None
        own, groups, others, size, key_size, value_size = map(int, numbers)
        if groups != others or own % groups:
            return None
        found = (own, groups, size, value_size)
    return found if size == key_size and max(size, value_size) <= HEAD_SIZE_MAX else None


def _is_packed(split: Node, parts: Sequence[str], graph: Graph, inside: set[str]) -> bool:
    """Returns whether q, k and v are the results of one Split that only this attention reads.

    The Split divides a tensor of three axes into three equal parts along the last axis.
    """
    shape = graph.values[split.inputs[0]].shape if split.op == "Split" else ()
    sizes = {graph.values[name].shape[-1:] for name in parts}
    return (
        len(shape) == 3
        and split.attr("axis", 0) in (-1, 2)
        and split.outputs == tuple(parts)
        and len(sizes) == 1
        and not set(parts) & set(graph.outputs)
        and all(reader.name in inside for name in parts for reader in graph.consumers.get(name, ()))
    )
