"""Arithmetic with shapes: tuples and whole numbers of Python, so that a graph is compiled with sizes that are known."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from ms_fusion.formats.onnx_graph import ONNX_OP
from ms_fusion.graph import Graph, Node

_ARITHMETIC = {
    "Add": "({} + {})", "Sub": "({} - {})", "Mul": "({} * {})", "Div": "functions.quotient({}, {})", "Neg": "(-{})", "Mod": "({} % {})",
    "Max": "({0} if {0} > {1} else {1})", "Min": "({0} if {0} < {1} else {1})", "Equal": "({} == {})", "Where": "({1} if {0} else {2})",
}  # fmt: skip
_INPUTS = {"Neg": 1, "Where": 3}
FAR = 1 << 31
_LISTED = 16
"""Sizes in a row, up to which each is written by itself."""
OF_SIZES = frozenset({"Gather", "Concat", "Slice", "Squeeze", "Unsqueeze", "Cast", "Identity", *_ARITHMETIC})  # fmt: skip


def is_size(node: Node, graph: Graph) -> bool:
    """Whether an operator computes with shapes alone."""
    seen, waiting = set[str](), [node]
    while waiting:
        one = waiting.pop()
        op = one.attr(ONNX_OP)
        if op in ("Shape", "Size"):
            continue
        dtype = graph.outputs_of(one)[0].dtype
        if op not in OF_SIZES or not (dtype.startswith("int") or (op == "Equal" and dtype == "bool")):  # fmt: skip
            return False
        made = {name for name in one.inputs if graph.values[name].kind != "constant"}
        if not made or not made <= graph.producers.keys():
            return False
        waiting += [graph.producers[name] for name in made - seen]
        seen |= made
    return True


def size_text(node: Node, graph: Graph, sizes: Mapping[str, str], texts: Mapping[str, str]) -> str | None:  # fmt: skip
    """What stands for the result of such an operator; None for one that has to be computed as a tensor.

    Args:
        node: the operator.
        graph: where it stands.
        sizes: of earlier ones.
        texts: of tensors.
    """
    op, first = node.attr(ONNX_OP), node.inputs[0]
    if op == "Mod" and node.attr("fmod", 0):
        return None
    if op == "Shape":
        begin, end = node.attr("start", 0), node.attr("end")
        cut = f"[{begin or ''}:{'' if end is None else end}]" if begin or end is not None else ""
        return f"{texts[first]}.shape{cut}" if first in texts else None
    if op == "Size":
        return f"{texts[first]}.size" if first in texts else None
    given = [sizes.get(name) or _literal(graph, name) for name in node.inputs]
    rank = len(graph.values[first].shape)
    shapes = [graph.values[name].shape for name in node.inputs]
    if op in _ARITHMETIC:
        return _computed(str(op), given, shapes)
    if op == "Concat" and None not in given:
        return " + ".join(str(one) for one in given)
    if given[0] is None:
        return None
    if op in ("Cast", "Identity"):
        return given[0]
    if op == "Unsqueeze":
        return f"({given[0]},)" if rank == 0 else None
    if op == "Squeeze":
        return f"{given[0]}[0]"
    data = [graph.values[name].data for name in node.inputs[1:]]
    if op == "Gather" and data[0] is not None:
        places = data[0]
        return f"{given[0]}[{places}]" if isinstance(places, int) else f"({''.join(f'{given[0]}[{place}], ' for place in places)})"  # fmt: skip
    if op == "Slice" and all(isinstance(one, tuple) and len(one) == 1 for one in data):
        # graph mode reads no −2⁶³, the minus of a number that is too large
        begin, end = (min(max(one[0], -FAR), FAR) for one in data[:2])
        step = data[3][0] if len(data) > 3 else 1
        return f"{given[0]}[{begin}:{end}:{step}]"
    return None


def _computed(op: str, given: Sequence[Any], shapes: Sequence[tuple[Any, ...]]) -> str | None:
    """Arithmetic with numbers, or with rows of them, element by element."""
    counts = {shape[0] for shape in shapes if len(shape) == 1}
    is_row = bool(counts)
    if None in given or len(given) != _INPUTS.get(op, 2) or max(map(len, shapes)) > 1:
        return None
    if len(counts - {1}) > 1 or not all(isinstance(one, int) and 0 < one <= _LISTED for one in counts):  # fmt: skip
        return None
    made = []
    for number in range(max(counts, default=1)):
        parts = (f"{text}[{min(number, shape[0] - 1)}]" if shape else text for text, shape in zip(given, shapes, strict=True))  # fmt: skip
        made.append(_ARITHMETIC[op].format(*parts))
    return f"({', '.join(made)},)" if is_row else made[0]


def _literal(graph: Graph, name: str) -> Any:
    value = graph.values[name]
    return repr(value.data) if value.kind == "constant" else None
