"""A float16 transformer layer by the cost model: ``python -m benchmarks.onnx_layer``.

Prints the unfused and fused traffic, the chosen kernels, and the cost of a three-kernel version,
with the arithmetic. The weights have only shapes; no kernel runs. The table in docs/onnx_layer.md
is this output.
"""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from typing import Any

from ms_fusion import cost
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.onnx.fuse.decisions import choose_rules, estimate_group_benefit, find_candidates
from ms_fusion.onnx.fuse.selection import select
from ms_fusion.onnx.kernels.subgraphs import fused_node
from ms_fusion.ops import record_name
from ms_fusion.ops.call import ONNX_OP, ONNX_VERSION

TOKENS, SIZE, HEADS, INNER = 2048, 4096, 32, 16384
DEVICE = "ascend910b"


class _Shapes:
    """A graph of float16 ONNX operators; its tensors have shapes only."""

    def __init__(self) -> None:
        self.nodes: list[Node] = []
        self.values: dict[str, Value] = {"x": Value("x", (1, TOKENS, SIZE), "float16", "input")}

    def weight(self, *shape: int) -> str:
        name = f"w{len(self.values)}"
        self.values[name] = Value(name, shape, "float16", "parameter")
        return name

    def add(
        self, name: str, op: str, inputs: Sequence[str], *shapes: tuple[int, ...], **told: Any
    ) -> list[str]:
        made = [f"{name}{'' if len(shapes) == 1 else number}" for number in range(len(shapes))]
        self.values |= {
            one: Value(one, shape, "float16") for one, shape in zip(made, shapes, strict=True)
        }
        attributes = {**told, ONNX_OP: op, ONNX_VERSION: 18}
        self.nodes.append(
            Node(
                name,
                record_name(op),
                tuple(inputs),
                tuple(made),
                tuple(sorted(attributes.items())),
            )
        )
        return made

    def linear(self, name: str, x: str, m: int, k: int) -> str:
        shape = (1, TOKENS, k)
        (made,) = self.add(name, "MatMul", [x, self.weight(m, k)], shape)
        (made,) = self.add(f"{name} bias", "Add", [made, self.weight(k)], shape)
        return made

    def norm(self, name: str, x: str) -> str:
        given = [x, self.weight(SIZE), self.weight(SIZE)]
        return self.add(name, "LayerNormalization", given, (1, TOKENS, SIZE), axis=-1)[0]


def layer() -> Graph:
    """Pre-norm layer with SiLU and biases; one product computes q, k and v."""
    s = _Shapes()
    each = SIZE // HEADS
    whole, apart, turned = (1, TOKENS, SIZE), (1, TOKENS, HEADS, each), (1, HEADS, TOKENS, each)
    qkv = s.linear("QKV", s.norm("LN1", "x"), SIZE, 3 * SIZE)
    q, k, v = s.add("split", "Split", [qkv], whole, whole, whole, axis=-1)
    heads = []
    for name, one in (("q", q), ("k", k), ("v", v)):
        (one,) = s.add(f"{name} heads", "Reshape", [one], apart)
        perm, shape = (
            ((0, 2, 3, 1), (1, HEADS, each, TOKENS)) if name == "k" else ((0, 2, 1, 3), turned)
        )
        heads += s.add(f"{name} turned", "Transpose", [one], shape, perm=perm)
    scores = (1, HEADS, TOKENS, TOKENS)
    (found,) = s.add("QK", "MatMul", heads[:2], scores)
    s.values["scale"] = Value("scale", (), "float16", "constant", 0.0884)
    (found,) = s.add("scaled", "Mul", [found, "scale"], scores)
    (found,) = s.add("softmax", "Softmax", [found], scores, axis=-1)
    (found,) = s.add("PV", "MatMul", [found, heads[2]], turned)
    (found,) = s.add("mixed", "Transpose", [found], apart, perm=(0, 2, 1, 3))
    (found,) = s.add("flat", "Reshape", [found], whole)
    (first,) = s.add("sum 1", "Add", ["x", s.linear("O", found, SIZE, SIZE)], whole)
    inner = s.linear("FFN1", s.norm("LN2", first), SIZE, INNER)
    (gate,) = s.add("sigmoid", "Sigmoid", [inner], (1, TOKENS, INNER))
    (inner,) = s.add("SiLU", "Mul", [inner, gate], (1, TOKENS, INNER))
    (last,) = s.add("sum 2", "Add", [first, s.linear("FFN2", inner, INNER, SIZE)], whole)
    return Graph(
        "layer",
        tuple(s.nodes),
        s.values,
        tuple(n for n, one in s.values.items() if one.kind != "result"),
        (last,),
    )


def _names_between(graph: Graph, first: str, last: str) -> list[str]:
    names = [node.name for node in graph.nodes]
    return names[names.index(first) : names.index(last) + 1]


def three(graph: Graph) -> list[list[str]]:
    """Three kernels: up to the attention output, up to the inner activation, the rest."""
    return [
        _names_between(graph, "LN1", "flat"),
        _names_between(graph, "O", "SiLU"),
        _names_between(graph, "FFN2", "sum 2"),
    ]


def lines() -> Iterator[str]:
    """The table in Markdown."""
    graph, device = layer(), cost.device(DEVICE)
    rules, searches = choose_rules("all")
    candidates = find_candidates(
        graph, rules, searches, ("intra-operator", "cross-operator", "pipeline")
    )
    worth = {
        one: estimate_group_benefit(fused_node(graph, one.nodes, one.rule), graph, device)
        for one in candidates
    }
    chosen = select(graph, {one: found.us for one, found in worth.items() if found.is_worth_it})
    groups = [list(one.nodes) for one in chosen.chosen]
    inside = {name for group in groups for name in group}
    alone = [
        [node.name]
        for node in graph.nodes
        if node.name not in inside and cost.work_of(node, graph).launches
    ]
    order = {node.name: place for place, node in enumerate(graph.nodes)}
    yield (
        f"Device: {device.name}, {device.bandwidth_bytes_per_s / 1e12:.2f} TB/s, "
        f"{device.launch_us:.0f} µs a launch, {device.on_chip_bytes // 1024} KiB on chip "
        f"({device.source})."
    )
    yield ""
    yield (
        "| kernels | read + written apart, MB | as one, MB | read again, MB | launches less | "
        "saved, µs |"
    )
    yield "|---|--:|--:|--:|--:|--:|"
    total = _table(graph, sorted([*groups, *alone], key=lambda group: order[group[-1]]))
    yield from total[0]
    unfused = sum(cost.work_of(node, graph).bytes for node in graph.nodes)
    yield ""
    yield (
        f"Traffic: {unfused / 1e6:.0f} MB unfused, {(unfused - total[1]) / 1e6:.0f} MB in "
        f"{len(groups) + len(alone)} kernels, {total[2]:.0f} µs saved ({len(candidates)} "
        f"candidates, {'exact' if chosen.is_exact else f'at most {chosen.gap:.1%} from the best'})."
    )
    yield ""
    yield "Three kernels:"
    yield ""
    yield (
        "| kernels | read + written apart, MB | as one, MB | read again, MB | launches less | "
        "saved, µs |"
    )
    yield "|---|--:|--:|--:|--:|--:|"
    fewer = _table(graph, three(graph))
    yield from fewer[0]
    yield ""
    yield (
        f"They would save {fewer[2]:.0f} µs, {total[2] - fewer[2]:.0f} µs less than the chosen "
        f"kernels, because {_loss_arithmetic(graph)}"
    )


def _table(graph: Graph, groups: Sequence[Sequence[str]]) -> tuple[list[str], int, float]:
    """Table lines, and the saved bytes and µs."""
    device = cost.device(DEVICE)
    rows, saved, us = [], 0, 0.0
    for group in groups:
        node = fused_node(graph, group, "Group")
        assert node.body is not None
        apart = sum(cost.work_of(one, node.body).bytes for one in node.body.nodes)
        found = estimate_group_benefit(node, graph, device)
        if len(group) > 1:
            saved, us = saved + found.saved_bytes - found.loss_bytes, us + found.us
        note = (
            f" (refused: {found.refusal_reason})" if found.refusal_reason and len(group) > 1 else ""
        )
        again = found.loss_bytes if len(group) > 1 else 0
        gain = found.us if len(group) > 1 else 0.0
        name = " + ".join(group)
        rows.append(
            f"| {name}{note} | {apart / 1e6:.0f} | {(apart - found.saved_bytes) / 1e6:.0f} | "
            f"{again / 1e6:.0f} | {max(found.saved_launches, 0)} | {gain:.0f} |"
        )
    return rows, saved, us


def _loss_arithmetic(graph: Graph) -> str:
    """The arithmetic of the largest loss among the three."""
    device = cost.device(DEVICE)
    losses = [
        (estimate_group_benefit(fused_node(graph, group, "Group"), graph, device), group)
        for group in three(graph)
    ]
    worst, group = max(losses, key=lambda one: one[0].loss_bytes)
    return (
        f"in {group[0]} … {group[-1]} a product waits for whole rows of another one, so its tiles "
        f"hold few rows and weights are read again: "
        f"{worst.loss_bytes / 1e6:.0f} MB ÷ {device.bandwidth_bytes_per_s / 1e12:.2f} TB/s = "
        f"{worst.loss_bytes / device.bandwidth_bytes_per_s * 1e6:.0f} µs. "
        f"This group saves only {worst.saved_bytes / 1e6:.0f} MB of traffic and "
        f"{worst.saved_launches} launches of {device.launch_us:.0f} µs."
    )


if __name__ == "__main__":
    sys.stdout.write("\n".join(lines()) + "\n")
