"""Replaces multi-head attention, softmax(q kᵀ · scale + mask) v, by ONNX Runtime's operators.

The mask is additive, or it is boolean and selects scores. The first pattern starts from tensors
(batch, tokens, heads · size). This pattern includes the operators that split the last axis into
heads, and the operators that merge the heads of the result. The second pattern starts from tensors
whose heads are already split. In the second pattern, keys and values may have fewer heads than
queries. Each head of keys and values is then repeated for several query heads (grouped-query
attention).
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any

import numpy as np

from ms_fusion.graph import Graph, Node
from ms_fusion.onnx.fuse.ort.equivalents import CONTRIB, Equivalent, Site
from ms_fusion.readers.onnx_graph import UNKNOWN_RANK
from ms_fusion.rewrite import OneOf, Op, Rule
from ms_fusion.rules.attention import attention

NAME, VERSION = "Attention", 23
"""ONNX's attention operator and the first opset that contains it."""
_SPLIT_HEADS_PERM, _TRANSPOSED_KEYS_PERM, _SWAP_LAST_PERM = (0, 2, 1, 3), (0, 2, 3, 1), (0, 1, 3, 2)
NEGLIGIBLE_SCORE = -1e9
"""Largest supported value by which masked float32 scores may be replaced.

A score at or below this value gets the weight 0 in a softmax. If the value is added to a score, the
sum is rounded to the value. Therefore all scores of a fully masked row are equal.
"""


def _layout_pattern(name: str) -> Op:
    return Op("Transpose", Op("Reshape", name))


_KEYS = OneOf(Op("Transpose", _layout_pattern("k")), _layout_pattern("k"))
_PATTERN_WITH_LAYOUTS = Op(
    "Reshape",
    Op(
        "Transpose",
        attention(
            OneOf(Op("Mul|Div", _layout_pattern("q"), "q_scale"), _layout_pattern("q")),
            OneOf(Op("Mul|Div", _KEYS, "k_scale"), *_KEYS.patterns),
            _layout_pattern("v"),
        ),
    ),
)


def _repeat_pattern(name: str) -> OneOf:
    return OneOf(Op("Reshape", Op("BroadcastTo", Op("ExpandDims", name))), name)


_TRANSPOSED_KEYS = Op("Transpose", _repeat_pattern("k"))
_PATTERN_OF_HEADS = attention(
    OneOf(Op("Mul|Div", "q", "q_scale"), "q"),
    OneOf(Op("Mul|Div", _TRANSPOSED_KEYS, "k_scale"), _TRANSPOSED_KEYS),
    _repeat_pattern("v"),
)


@dataclass(frozen=True)
class AttentionMatch:
    """The parameters of a matched attention, from which the replacing operators are built.

    Attributes:
        q, k, v: names of the tensors (batch, tokens, heads · size), or of tensors with separate
            heads.
        heads: number of heads; 0 if the heads are already separate.
        scale: factor of the scores.
        mask: name of the mask; empty if there is no mask. The mask is broadcast to the shape of the
            scores.
        fill: value by which a boolean mask replaces excluded scores; None for an additive mask.
        keeps: whether a boolean mask is true for the scores that are kept.
    """

    q: str
    k: str
    v: str
    heads: int
    scale: float
    mask: str
    fill: float | None = None
    keeps: bool = False


def match_attention(site: Site) -> AttentionMatch | str:
    """Returns the parameters of a match, or the reason why the attention is not supported."""
    graph, bound = site.match.graph, site.match.bound
    root = site.match.nodes[-1]
    scale = _scale(site)
    if scale is None:
        return "the scale is not known beforehand"
    is_whole = root.op == "Reshape"
    product = (
        _producer_of(graph, _producer_of(graph, root.inputs[0]).inputs[0]) if is_whole else root
    )
    softmax = _producer_of(graph, product.inputs[0])
    rows = graph.values[softmax.outputs[0]].shape[-2:-1]
    if softmax.attr("axis", -1) not in (-1, 3):
        return "the softmax goes over another axis"
    if any(len(graph.values[name].shape) != 4 for name in (product.outputs[0], *product.inputs)):
        return "the operands have no axes of batch and heads"
    mask = next((bound[name] for name in ("mask", "kept", "left") if name in bound), "")
    fill = None
    if "fill" in bound:
        fill = site.match.number("fill")
        if fill is None or fill > (
            NEGLIGIBLE_SCORE if site.value(bound["q"]).dtype == "float32" else -np.inf
        ):
            return "what the mask leaves out might weigh something"
    if mask and (
        graph.values[mask].shape == UNKNOWN_RANK
        or graph.values[mask].shape[-2:-1] not in ((), (1,), rows)
    ):
        return "the shapes of the mask and the scores differ"
    if not is_whole:
        if _unscaled_producer(graph, _scores(site).inputs[1]).attr("perm") != _SWAP_LAST_PERM:
            return "keys are not turned over"
        if not all(
            _is_repeat(graph, node) for node in site.match.nodes if node.op == "BroadcastTo"
        ):
            return "heads are not repeated one after the other"
        heads: int | str = 0
    else:
        heads = _count_of_heads(site, product)
    if isinstance(heads, str):
        return heads
    return AttentionMatch(
        bound["q"], bound["k"], bound["v"], heads, scale, mask, fill, "kept" in bound
    )


def _is_repeat(graph: Graph, wide: Node) -> bool:
    """Returns whether a BroadcastTo copies each head to several adjacent heads.

    A reshape must change (batch, heads, tokens, size) to (batch, heads, 1, tokens, size). The
    BroadcastTo must change the 1 to the number of repetitions. A reshape must then merge the heads
    and the repetitions into one axis.
    """
    (reader,) = graph.consumers[wide.outputs[0]]
    before = graph.values[_producer_of(graph, wide.inputs[0]).inputs[0]].shape
    narrow, spread, after = (
        graph.values[name].shape for name in (wide.inputs[0], wide.outputs[0], reader.outputs[0])
    )
    if len(before) != 4 or len(spread) != 5 or -1 in (*before, *spread):
        return False
    times, heads = spread[2], before[1]
    as_heads = (
        isinstance(times, int)
        and isinstance(heads, int)
        and after == (before[0], heads * times, *before[2:])
    )
    return (
        as_heads
        and narrow == (*before[:2], 1, *before[2:])
        and spread == (*before[:2], times, *before[2:])
    )


def _scale(site: Site) -> float | None:
    """Returns the scale of the attention scores, or None if one of its factors is not constant."""
    found = 1.0
    for node in site.match.nodes:
        if node.op not in ("Mul", "Div"):
            continue
        for name in ("scale", "q_scale", "k_scale"):
            if site.match.bound.get(name) in node.inputs[node.op == "Div" :]:
                factor = site.match.number(name)
                if not factor or site.value(site.match.bound[name]).shape not in ((), (1,)):
                    return None
                found = found / factor if node.op == "Div" else found * factor
                break
    return found


def _producer_of(graph: Graph, value: str) -> Node:
    return graph.producers[value]


def _unscaled_producer(graph: Graph, value: str) -> Node:
    """Returns the producer of a value.

    If the producer is a Mul or Div, which scales an operand, returns the producer of the operand.
    """
    node = _producer_of(graph, value)
    if node.op not in ("Mul", "Div"):
        return node
    return next(
        graph.producers[name] for name in node.inputs if graph.producers.get(name) is not None
    )


def _scores(site: Site) -> Node:
    """Returns the matrix product that computes the scores."""
    return next(node for node in site.match.nodes if node.op == "MatMul")


def _count_of_heads(site: Site, product: Node) -> int | str:
    """Returns the number of attention heads, or the reason why a layout of q, k or v is refused."""
    graph = site.match.graph
    scores = _scores(site)
    keys = _unscaled_producer(graph, scores.inputs[1])
    if keys.attr("perm") == _SWAP_LAST_PERM:
        keys, turned = _producer_of(graph, keys.inputs[0]), _SPLIT_HEADS_PERM
    else:
        turned = _TRANSPOSED_KEYS_PERM
    out = _producer_of(graph, site.match.nodes[-1].inputs[0])
    layouts = (
        (_unscaled_producer(graph, scores.inputs[0]), _SPLIT_HEADS_PERM),
        (keys, turned),
        (_producer_of(graph, product.inputs[1]), _SPLIT_HEADS_PERM),
    )
    counts = set()
    for node, perm in layouts:
        flat, apart = (
            graph.values[name].shape
            for name in (_producer_of(graph, node.inputs[0]).inputs[0], node.inputs[0])
        )
        if node.attr("perm") != perm or not _is_head_split(flat, apart):
            return "a layout is not a layout of separate heads"
        counts.add(apart[2])
    joined = _with_batch(site.value(site.result).shape, graph.values[out.outputs[0]].shape)
    if (
        out.attr("perm") != _SPLIT_HEADS_PERM
        or not _is_head_split(joined, graph.values[out.outputs[0]].shape)
        or len(counts) > 1
    ):
        return "a layout is not a layout of separate heads"
    return int(counts.pop())


def _with_batch(
    joined: tuple[int | str, ...], apart: tuple[int | str, ...]
) -> tuple[int | str, ...]:
    """Returns the result shape `joined`; adds a batch axis of size 1 if `joined` has none.

    `apart` is the shape of the same tensor before its heads are joined.
    """
    return (1, *joined) if len(joined) == 2 and apart[:1] == (1,) else joined


def call_attention(
    site: Site, found: AttentionMatch, op: str, *inputs: str, **attributes: Any
) -> None:
    """Adds the operator that computes an attention; adds a Reshape if the result lacks an axis."""
    shape = site.value(site.result).shape
    if not found.heads or len(shape) != 2:
        site.call(op, *inputs, to=site.result, **attributes)
        return
    sizes = site.constant(np.array([-1, shape[-1]], np.int64))
    site.call("Reshape", site.call(op, *inputs, **attributes), sizes, to=site.result)


def _is_head_split(flat: tuple[int | str, ...], apart: tuple[int | str, ...]) -> bool:
    """Returns whether the shape `apart` is the shape `flat` with its last axis split into heads.

    In this case `flat` is (batch, tokens, heads · size), and `apart` is (batch, tokens, heads,
    size).
    """
    if len(flat) != 3 or len(apart) != 4 or flat[:2] != apart[:2] or -1 in flat:
        return False
    heads, size = apart[2:]
    return isinstance(heads, int) and isinstance(size, int) and flat[2] == heads * size


def write_additive_mask(site: Site, found: AttentionMatch) -> str:
    """Adds the operator that converts a boolean mask to an additive mask.

    Returns the name of the mask, or an empty string if the attention has no mask.
    """
    if not found.mask or found.fill is None:
        return found.mask
    dtype = site.value(found.q).dtype
    kept, left = (site.constant(np.asarray(number, dtype)) for number in (0.0, found.fill))
    return site.call("Where", found.mask, *((kept, left) if found.keeps else (left, kept)))


def _write_mask(site: Site, found: AttentionMatch) -> str:
    """Adds operators that compute an additive mask with a row for each query token.

    Returns the name of the mask, or an empty string if the attention has no mask.
    """
    if not found.mask:
        return ""
    axis = 1 if found.heads else 2
    shape, tokens = site.value(found.mask).shape, site.value(found.q).shape[axis]
    mask = write_additive_mask(site, found)
    if len(shape) > 1 and shape[-2] == tokens:
        return mask
    if isinstance(tokens, int) and tokens > 0:
        size = site.constant(np.array([1, 1, tokens, 1], np.int64))
    else:
        ones = (site.constant(np.ones(count, np.int64)) for count in (2, 1))
        size = site.call(
            "Concat",
            next(ones),
            site.call("Shape", found.q, start=axis, end=axis + 1),
            next(ones),
            axis=0,
        )
    return site.call("Expand", mask, size)


def _write_attention(site: Site) -> str:
    if site.version < VERSION:
        return f"ONNX has it from version {VERSION} on"
    found = match_attention(site)
    if isinstance(found, str):
        return found
    mask = _write_mask(site, found)
    given = [found.q, found.k, found.v, *([mask] if mask else [])]
    told: dict[str, Any] = (
        {"q_num_heads": found.heads, "kv_num_heads": found.heads} if found.heads else {}
    )
    call_attention(site, found, NAME, *given, scale=found.scale, **told)
    return ""


def _write_multi_head_attention(site: Site) -> str:
    found = match_attention(site)
    if isinstance(found, str):
        return found
    if not found.heads:
        return "heads are apart already"
    if site.value(found.q).dtype != "float32":
        return "there is no such kernel for its dtype"
    mask = _write_mask(site, found)
    given = [found.q, found.k, found.v, *(["", "", mask] if mask else [])]
    call_attention(
        site,
        found,
        "MultiHeadAttention",
        *given,
        domain=CONTRIB,
        num_heads=found.heads,
        scale=found.scale,
    )
    return ""


EQUIVALENTS = (
    Equivalent(
        Rule("Attention", "pipeline", OneOf(_PATTERN_WITH_LAYOUTS, _PATTERN_OF_HEADS)),
        ((NAME, _write_attention), ("MultiHeadAttention", _write_multi_head_attention)),
        ("float32", "float16"),
        f"Attention exists from opset {VERSION} on, so a model with attention is raised to it",
    ),
)
