"""Which kernels a generator must not build: MindSpore's own on CPU dies on them, or builds them wrong; ours cannot.

The compile server asks with the composite JSON that MindSpore hands over before a kernel is built; presets and reasons ask
with an operator of a graph.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from types import MappingProxyType
from typing import TYPE_CHECKING, Any, NamedTuple

from ms_fusion import operators

if TYPE_CHECKING:
    from ms_fusion.graph import Graph, Node

GENERATOR = "AKG_V2"
"""What MindSpore calls a generator that it imports as the module `akg_v2`; here that is ours."""

KEPT_OUT: Mapping[str, str] = MappingProxyType(
    {
        "BatchNorm": "what it is told of epsilon and training is left out of the kernel's description, and in training "
        "MindSpore raises a type error",
        "Concat": "MindSpore raises an error when it is clustered",
        "CumSum": "a running sum is no loop nest, and nothing fuses with it",
        "ReduceProd": "its axes are an input of the kernel, and not known before it runs",
        "Gather": "MindSpore raises an error for an index beyond the table, which a kernel cannot",
        "UnsortedSegmentSum": "MindSpore raises an error for a segment that is none, which a kernel cannot",
        "ReduceAll": "MindSpore raises an error when it is clustered without axes",
        "Pad": "what it is told of the padding is left out of the kernel's description",
        **dict.fromkeys(
            "CeLU SoftShrink SoftShrinkGrad HShrink HShrinkGrad SmoothL1Loss SmoothL1LossGrad".split(),
            "the number that it is told is left out of the kernel's description",
        ),
        "PadV3": "the padding is no constant but an input of the kernel",
        **dict.fromkeys(
            ("Split", "MaxPoolWithArgmaxV2", "MaxPool3DWithArgmax", "AdaptiveMaxPool2D"),
            "it has several results, and MindSpore raises an error when it is clustered",
        ),
    }
)
"""Could be clustered for our generator, and is not, with the reason."""

FLOATS = frozenset({"float16", "float32", "float64"})
INTEGERS = frozenset({"int8", "int16", "int32", "int64", "uint8", "uint16", "uint32", "uint64"})
UNSIGNED = frozenset({"uint8", "uint16", "uint32", "uint64"})
CAST_FROM_FLOAT = frozenset({"float16", "float32", "float64", "int32", "int64"})
"""Casts of a float that agree with MindSpore's own also for NaN, inf and what does not fit."""

_WRONG: Mapping[str, Callable[[str, str], bool]] = {
    "Cast": lambda source, target: (
        (source == "float64" and target == "float16")
        or (source in FLOATS and target not in CAST_FROM_FLOAT)
    ),
    "Reciprocal": lambda source, _: source in INTEGERS,
    "ReduceSum": lambda source, _: source == "bool",
    "Neg": lambda source, _: source in UNSIGNED,
    "NotEqual": lambda source, _: source in FLOATS,
    "FloorMod": lambda source, _: source == "float16" or source in INTEGERS,
    **dict.fromkeys(("Div", "RealDiv", "FloorDiv", "Mod"), lambda source, _: source in INTEGERS),
}
_DIVISION = "a division of integers by 0 ends the process"
_WHY = {
    "Cast": "NaN, inf and what does not fit come out differently",
    "NotEqual": "NaN would be equal to everything",
    "FloorMod": f"0.29 off in float16; {_DIVISION}",
    **dict.fromkeys(("Div", "RealDiv", "FloorDiv", "Mod"), _DIVISION),
}


def refusal(op: str, source: str, target: str) -> str:
    """Why MindSpore's own CPU generator must not build `op` from dtype `source` to `target`; empty when it may."""
    if "bfloat16" in (source, target):
        return f"it cannot build bfloat16 ({op})"
    if op in operators.CRASHES:
        dtypes = operators.CRASHES[op]
        if dtypes is None or source in dtypes:
            return f"it cannot build {op} of {source}"
    wrong = _WRONG.get(op)
    if wrong is not None and wrong(source, target):
        to = f" to {target}" if op == "Cast" else ""
        return (
            f"it computes {op} of {source}{to} wrongly: {_WHY.get(op, operators.WRONG.get(op, ''))}"
        )
    return ""


def node_refusal(node: Node, graph: Graph) -> str:
    """The same for an operator of a graph."""
    dtypes = dtypes_of(node, graph)
    return refusal(node.op, *dtypes) if dtypes else ""


def dtypes_of(node: Node, graph: Graph) -> tuple[str, str] | None:
    """dtype that an operator works on, and that of its first result."""
    sources = [value.dtype for value in graph.inputs_of(node)]
    targets = [value.dtype for value in graph.outputs_of(node)]
    if not sources or not targets:
        return None
    if "bfloat16" in (*sources, *targets):
        return "bfloat16", targets[0]
    return _working(node.op, sources), targets[0]


def _working(op: str, sources: list[str]) -> str:
    """The first input of Select is its condition, not what it works on."""
    return sources[1] if op == "Select" and len(sources) > 1 else sources[0]


def generator_of(flags: str) -> str:
    """Who builds the kernels under a flag string on CPU: ``mindspore`` or ``ms_fusion``.

    >>> generator_of("--opt_level=2 --kernel_generator=AKG_V2"), generator_of("--opt_level=2")
    ('ms_fusion', 'mindspore')
    """
    return "ms_fusion" if f"--kernel_generator={GENERATOR}" in flags.split() else "mindspore"


class Refusal(NamedTuple):
    """The operator for which a whole kernel is not built, empty when it is not one operator, and why.

    `left`: nothing of ours is in its place either; MindSpore runs its operators one by one.
    """

    op: str
    reason: str
    left: bool = False


def kernel_refusal(text: str) -> Refusal | None:
    """The same for a whole kernel, as composite JSON; also for JSON that cannot be read."""
    try:
        description = json.loads(text)
        results = {item["tensor_name"] for item in _flat([description.get("output_desc", [])])}
        for step in description["op_desc"]:
            reason = refusal(step["name"], *_dtypes(step)) or _layout_refusal(step, results)
            if reason:
                return Refusal(step["name"], reason)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        return Refusal("", f"its description cannot be read: {error}")
    return None


def _dtypes(step: dict[str, Any]) -> tuple[str, str]:
    """dtype that an operator works on, and that of its result."""
    sources = [item["data_type"] for item in _flat(step["input_desc"])]
    target = step["output_desc"][0]["data_type"]
    if "bfloat16" in sources:
        return "bfloat16", target
    return (_working(step["name"], sources) if sources else target), target


def _layout_refusal(step: dict[str, Any], results: set[str]) -> str:
    """Why an operator must not be built in this shape; `results` are the tensors that the kernel hands out."""
    inputs = _flat(step["input_desc"])
    if (
        step["name"] == "Select"
        and inputs[0].get("shape") in ([], [1])
        and step["output_desc"][0].get("shape") not in ([], [1])
    ):
        return "it cannot build Select with a condition of one element"
    if step["name"] == "Transpose":
        order = inputs[1].get("value") if len(inputs) > 1 else None
        keeps_last = isinstance(order, list) and order[-1] in (len(order) - 1, -1)
        if not keeps_last and inputs[0]["data_type"] not in ("float32", "int32", "uint32"):
            return "it computes a Transpose of the last axis wrongly for this dtype"
        if step["output_desc"][0].get("tensor_name") in results and len(results) > 1:
            return "it may leave a Transpose unwritten that is one of several results"
    return ""


def only_views(text: str) -> bool:
    """Whether a kernel, as composite JSON, only gives tensors another shape.

    MindSpore itself moves nothing for that.
    """
    try:
        return all(step["name"] in operators.VIEWS for step in json.loads(text)["op_desc"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _flat(groups: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [item for group in groups for item in group]
