"""Builds the HTML page's data as JSON values: display texts, sort keys, drawing positions.

`printable_text` has escaped each text in the data. The page inserts the texts as text nodes, never
as markup.
"""

from __future__ import annotations

import math
from collections.abc import Iterable
from typing import Any

from ms_fusion.cost import is_matrix_product
from ms_fusion.graph import Graph, Node, Source, Value
from ms_fusion.ledger import Accuracy, FusedKernel, Ledger, Stages, Suggestion, UnfusedEdge, Work
from ms_fusion.report.overlay import Overlay, groups_of, lay_out
from ms_fusion.report.printable import printable_text, scope_of
from ms_fusion.report.units import bytes_text, flops_text, time_text, ulp_text
from ms_fusion.report.verdicts import accuracy_verdict, is_clear_saving
from ms_fusion.report.wording import (
    build_text,
    bytes_saved,
    error_texts,
    group_identical_rows,
    operators_text,
    relative_text,
    saving_spread_text,
    suggestions,
    worst_accuracy,
)

NAME_LIMIT = 300
LABEL_LIMIT = 26
LETTER_WIDTH = 8.0
"""Assumed width of a letter in a node's label, px, which suffices for browsers' fallback fonts."""


def show(text: object) -> str:
    """Returns a name or sentence from the model or framework as one line of visible characters."""
    return printable_text(str(text), limit=NAME_LIMIT)


class _Texts:
    """Stores each sentence of the page's data once.

    The data refer to a sentence by the index of the sentence.
    """

    def __init__(self) -> None:
        self._numbers: dict[str, int] = {}

    def number(self, text: str) -> int:
        return self._numbers.setdefault(text, len(self._numbers))

    def table(self) -> list[str]:
        return list(self._numbers)


class _Sources:
    """Stores each source location of the page's data once.

    The data refer to a location by the location's index. The index -1 means that a kernel or node
    has no location.
    """

    def __init__(self) -> None:
        self._numbers: dict[Source, int] = {}

    def number(self, source: Source | None) -> int:
        return -1 if source is None else self._numbers.setdefault(source, len(self._numbers))

    def numbers(self, sources: Iterable[Source]) -> list[int]:
        return list(dict.fromkeys(map(self.number, sources)))

    def table(self) -> list[list[Any]]:
        return [
            [show(source.display_file), source.line, show(source.code)] for source in self._numbers
        ]


def build_view(ledger: Ledger) -> dict[str, Any]:
    """Returns the data of the page as a dict of JSON values."""
    sources = _Sources()
    graph = ledger.before.graph
    place = {node.name: number for number, node in enumerate(graph.nodes)}
    inputs = [
        graph.values[name]
        for name in graph.inputs
        if name in graph.values and graph.values[name].kind == "input" and graph.consumers.get(name)
    ]
    members = [
        list(dict.fromkeys(place[name] for name in kernel.nodes if name in place))
        for kernel in ledger.kernels
    ]
    pairs = _pairs(graph, place, inputs)
    groups = groups_of(members)
    nodes = [_node(node, graph, sources) for node in graph.nodes]
    nodes += [_input(value) for value in inputs]
    overlay = lay_out(
        [node["w"] for node in nodes],
        list(pairs),
        [held for _, held in groups],
        [_header_width(ledger, numbers) for numbers, _ in groups],
    )
    for number, held in enumerate(members):
        for node in held:
            nodes[node]["k"].append(number)
    for single in ledger.single_operator_kernels:
        for name in single.nodes:
            if name in place:
                nodes[place[name]]["single"] = 1
    ranked = suggestions(ledger.unfused)
    numbers_of = {suggestion: number for number, (suggestion, _, _) in enumerate(ranked)}
    texts = _Texts()
    unfused = [_unfused_record(edge, place, sources, texts, numbers_of) for edge in ledger.unfused]
    return {
        "nodes": _place_nodes(nodes, overlay),
        "groups": [
            {"k": numbers, "b": [box.x, box.y, box.width, box.height]}
            for (numbers, _), box in zip(groups, overlay.groups, strict=True)
        ],
        "edges": _edges(pairs, overlay, members, unfused),
        "kernels": [
            _kernel(kernel, held, place, sources)
            for kernel, held in zip(ledger.kernels, members, strict=True)
        ],
        "alike": group_identical_rows(ledger.kernels),
        "unfused": unfused,
        "suggestions": [_suggestion(*row) for row in ranked],
        "sources": sources.table(),
        "texts": texts.table(),
        "size": [overlay.width, overlay.height],
    }


def _pairs(
    graph: Graph, place: dict[str, int], inputs: list[Value]
) -> dict[tuple[int, int], list[str]]:
    """Returns a dict from (producer index, consumer index) to the texts of the edges between them.

    The graph's `inputs` are producers, too. The indices of the inputs follow the indices of the
    nodes.
    """
    pairs: dict[tuple[int, int], list[str]] = {}
    for edge in graph.edges:
        tail, head = place[edge.producer], place[edge.consumer]
        if tail != head:
            pairs.setdefault((tail, head), []).append(edge.value)
    for number, value in enumerate(inputs, len(graph)):
        for reader in graph.consumers[value.name]:
            pairs.setdefault((number, place[reader.name]), []).append(value.name)
    return {
        pair: [value_text(graph.values.get(name), name) for name in names]
        for pair, names in pairs.items()
    }


def value_text(value: Value | None, name: str = "") -> str:
    """Returns dtype, shape and size of a value, such as ``float32[8, 512, 768], 12.0 MiB``.

    If `value` is None, the result is `name`.
    """
    if value is None:
        return show(name)
    shape = ", ".join(map(str, value.shape))
    size = f", {bytes_text(value.bytes)}" if value.bytes else ""
    return show(f"{value.dtype}[{shape}]{size}")


def _tensor(value: Value | None, name: str) -> list[str]:
    """Returns three texts: a value's name; its dtype, shape and size; and its kind."""
    return [show(name), value_text(value, ""), "" if value is None else show(value.kind)]


def _label(text: str) -> str:
    return printable_text(text, limit=LABEL_LIMIT)


def _family(node: Node) -> str:
    """Returns the colour class of a node: ``product``, ``reduction``, or empty for other nodes."""
    if is_matrix_product(node.op):
        return "product"
    return "reduction" if node.op.startswith(("Reduce", "ArgM", "CumSum")) else ""


def _node(node: Node, graph: Graph, sources: _Sources) -> dict[str, Any]:
    tail = scope_of(node.name).rpartition("/")[2]
    if tail == "Default":  # the root scope carries no information
        tail = ""
    label, under = _label(node.op), _label(tail)
    return {
        "op": show(node.op),
        "label": label,
        "under": under,
        "name": show(node.name),
        "w": round(
            max(72.0, LETTER_WIDTH * len(label) + 26, LETTER_WIDTH * 0.86 * len(under) + 26), 1
        ),
        "family": _family(node),
        "k": [],
        "src": sources.numbers(reversed(node.sources)),
        "in": [_tensor(graph.values.get(name), name) for name in node.inputs],
        "out": [_tensor(graph.values.get(name), name) for name in node.outputs],
        "from": show(node.expand_from) if node.expand_from else "",
        "attrs": [[show(key), show(value)] for key, value in node.attrs[:20]],
    }


def _input(value: Value) -> dict[str, Any]:
    label = _label(value.name)
    return {
        "op": "input",
        "label": label,
        "under": _label(
            value_text(value).partition(", ")[0]
            if not value.shape
            else f"{value.dtype}{list(value.shape)}"
        ),
        "name": show(value.name),
        "w": round(
            max(
                72.0,
                LETTER_WIDTH * len(label) + 26,
                LETTER_WIDTH * 0.86 * min(LABEL_LIMIT, len(value.dtype) + 4 * len(value.shape) + 4)
                + 26,
            ),
            1,
        ),
        "family": "input",
        "k": [],
        "src": [],
        "in": [],
        "out": [_tensor(value, value.name)],
        "from": "",
        "attrs": [],
    }


def _place_nodes(nodes: list[dict[str, Any]], overlay: Overlay) -> list[dict[str, Any]]:
    for node, box in zip(nodes, overlay.nodes, strict=True):
        node.update(x=box.x, y=box.y, h=box.height)
    return [{key: value for key, value in node.items() if value not in ("", [])} for node in nodes]


def _header_width(ledger: Ledger, numbers: list[int]) -> float:
    """Returns the width that the title of a box needs, px."""
    title = max(len(operators_text(ledger.kernels[number].operators)) for number in numbers)
    return (min(title, 40) * 7.4 + 24.0) * len(numbers)


def _edges(
    pairs: dict[tuple[int, int], list[str]],
    overlay: Overlay,
    members: list[list[int]],
    unfused: list[dict[str, Any]],
) -> list[dict[str, Any]]:
    kernels_of: dict[int, set[int]] = {}
    for number, held in enumerate(members):
        for node in held:
            kernels_of.setdefault(node, set()).add(number)
    reasons: dict[tuple[int, int], list[int]] = {}
    for number, record in enumerate(unfused):
        reasons.setdefault((record["a"], record["b"]), []).append(number)
    edges = []
    for ((tail, head), values), route in zip(pairs.items(), overlay.routes, strict=True):
        edge: dict[str, Any] = {
            "a": tail,
            "b": head,
            "v": values,
            "p": [part for point in route for part in point],
        }
        if kernels_of.get(tail, set()) & kernels_of.get(head, set()):
            edge["in"] = 1
        if reasons.get((tail, head)):
            edge["u"] = reasons[tail, head]
        edges.append(edge)
    return edges


def _stages(stages: Stages) -> list[float]:
    parts = (stages.launch_us, stages.read_us, stages.compute_us, stages.write_us)
    return [float(f"{part:.6g}") if math.isfinite(part) and part > 0 else 0.0 for part in parts]


def _number(value: float | None) -> float | None:
    """Returns a sort key: the number rounded to six digits, or None if the number is not finite."""
    return None if value is None or not math.isfinite(value) else float(f"{value:.6g}")


def _work(work: Work) -> list[str]:
    """Returns the texts that show a kernel's work.

    The texts show bytes read, bytes written, FLOPs, arithmetic intensity and launches.
    """
    intensity = f"{work.arithmetic_intensity:.3g} FLOP/B" if work.bytes else ""
    return [
        bytes_text(work.bytes_read),
        bytes_text(work.bytes_written),
        flops_text(work.flops),
        intensity,
        f"{work.launches:,}",
    ]


def _accuracy(entry: Accuracy, kernel: FusedKernel) -> list[str]:
    return [
        show(entry.inputs),
        relative_text(entry.unfused_max_rel),
        relative_text(entry.fused_max_rel),
        accuracy_verdict(entry, kernel),
        ulp_text(entry.unfused_max_ulp),
        ulp_text(entry.fused_max_ulp),
        ulp_text(entry.unfused_max_abs),
        ulp_text(entry.fused_max_abs),
        show(entry.note),
    ]


def _kernel(
    kernel: FusedKernel, held: list[int], place: dict[str, int], sources: _Sources
) -> dict[str, Any]:
    # Operators that an expansion created; the graph before fusion does not contain them.
    elsewhere = [
        [show(op), show(name)]
        for op, name in zip(kernel.operators, kernel.nodes, strict=False)
        if name not in place
    ]
    saved, entry = bytes_saved(kernel), worst_accuracy(kernel.accuracy)
    error, remark, good = error_texts(kernel)
    counted = kernel.work.bytes or kernel.work.flops
    return {
        "name": show(kernel.name),
        "full": show(kernel.full_name),
        "ops": show(operators_text(kernel.operators)),
        "elsewhere": elsewhere,
        "nodes": held,
        "body": show(operators_text(kernel.body)),
        "count": len(kernel.body),
        "src": sources.numbers(kernel.sources),
        "in": [_tensor(value, value.name) for value in kernel.inputs],
        "out": [_tensor(value, value.name) for value in kernel.outputs],
        "work": _work(kernel.work) if counted else None,
        "workBefore": _work(kernel.work_unfused) if kernel.work_unfused.bytes else None,
        "bound": show(kernel.bound),
        "stages": _stages(kernel.stages) if kernel.stages else None,
        "stagesBefore": [_stages(each) for each in kernel.stages_unfused],
        "runs": kernel.launches,
        "saved": saved,
        "savedText": bytes_text(saved),
        "time": _number(kernel.time_us),
        "timeText": time_text(kernel.time_us),
        "timeBefore": _number(kernel.unfused_time_us),
        "timeBeforeText": time_text(kernel.unfused_time_us),
        "predicted": _number(kernel.predicted_saving_us),
        "predictedText": time_text(kernel.predicted_saving_us),
        "measured": _number(kernel.measured_saving_us),
        "measuredText": time_text(kernel.measured_saving_us),
        "spreadText": saving_spread_text(kernel),
        "clear": is_clear_saving(kernel),
        "error": _error_sort_key(entry),
        "errorText": error,
        "errorRemark": remark,
        "errorGood": good,
        "accuracy": [_accuracy(one, kernel) for one in kernel.accuracy],
        "generator": show(kernel.generator),
        "build": show(build_text(kernel)),
        "subgraph": show(kernel.subgraph),
    }


def _error_sort_key(entry: Accuracy | None) -> float | None:
    """Returns the sort key of an error: the relative error, or else the error in ULP."""
    if entry is None:
        return None
    return _number(entry.fused_max_ulp if entry.fused_max_rel is None else entry.fused_max_rel)


def _unfused_record(
    edge: UnfusedEdge,
    place: dict[str, int],
    sources: _Sources,
    texts: _Texts,
    numbers_of: dict[Suggestion, int],
) -> dict[str, Any]:
    tail, head = place.get(edge.producer, -1), place.get(edge.consumer, -1)
    record = {
        "a": tail,
        "b": head,
        "ops": show(f"{edge.producer_op} → {edge.consumer_op or 'out of the sub-graph'}"),
        "value": value_text(edge.value),
        "reason": show(edge.reason),
        "detail": texts.number(show(edge.detail)),
        "stake": edge.bytes_at_stake,
        "stakeText": bytes_text(edge.bytes_at_stake),
        "src": [sources.number(edge.producer_source), sources.number(edge.consumer_source)],
    }
    # Do not repeat a name that the graph already holds.
    if tail < 0:
        record["from"] = show(edge.producer)
    if head < 0 and edge.consumer:
        record["to"] = show(edge.consumer)
    if edge.suggestion:
        record["s"] = numbers_of[edge.suggestion]
    return record


def _suggestion(suggestion: Suggestion, count: int, stake: int) -> dict[str, Any]:
    return {
        "kind": show(suggestion.kind),
        "text": show(suggestion.text),
        "flags": printable_text(suggestion.flags),
        "count": count,
        "stake": bytes_text(stake),
    }
