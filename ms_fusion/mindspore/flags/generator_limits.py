"""Finds operators and kernels on which a kernel generator crashes or produces wrong code.

The compile server refuses such kernels: it checks the composite JSON of each kernel before it
builds the kernel. Presets and reports use this module to check single operators of a graph.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, NamedTuple

from ms_fusion.mindspore.flags.graph_kernel_flags import effective_flags
from ms_fusion.ops import operator_info, selections, table

if TYPE_CHECKING:
    from ms_fusion.graph import Graph, Node

GENERATOR = "AKG_V2"
"""MindSpore's name for the generator in the module `akg_v2`, which our generator replaces."""

EXCLUDED_OPERATORS: Mapping[str, str] = table(lambda operator: operator.excluded)
"""Operators that MindSpore must not cluster for our generator, each mapped to the reason."""


def refusal(op: str, source: str, target: str) -> str:
    """Returns the reason why MindSpore's CPU generator must not build an operator.

    The reason is an empty string if the generator may build the operator.

    Args:
        op: type of the operator, such as ``Transpose``.
        source: dtype in which the operator computes, as `dtypes_of` defines it.
        target: dtype of the operator's first result.
    """
    if "bfloat16" in (source, target):
        return f"it cannot build bfloat16 ({op})"
    known = operator_info(op).mindspore_generator
    if known.crashes and (not known.crash_dtypes or source in known.crash_dtypes):
        return f"it cannot build {op} of {source}"
    if known.wrong_for is not None and known.wrong_for(source, target):
        to = f" to {target}" if op == "Cast" else ""
        return f"it computes {op} of {source}{to} wrongly: {known.refusal or known.wrong}"
    return ""


def node_refusal(node: Node, graph: Graph) -> str:
    """Returns the result of `refusal` for an operator of a graph.

    The result is empty if the operator has no inputs or no results.
    """
    dtypes = dtypes_of(node, graph)
    return refusal(node.op, *dtypes) if dtypes else ""


def dtypes_of(node: Node, graph: Graph) -> tuple[str, str] | None:
    """Returns (dtype in which an operator computes, dtype of its first result).

    If any input or result is bfloat16, the first item is bfloat16. Otherwise the first item is the
    dtype of the first data input. Returns None if the operator has no inputs or no results.
    """
    sources = [value.dtype for value in graph.inputs_of(node)]
    targets = [value.dtype for value in graph.outputs_of(node)]
    if not sources or not targets:
        return None
    if "bfloat16" in (*sources, *targets):
        return "bfloat16", targets[0]
    return _working_dtype(node.op, sources), targets[0]


def _working_dtype(op: str, sources: list[str]) -> str:
    """Returns the dtype of the first data input: input 1 of Select, input 0 of other operators."""
    return sources[1] if op == "Select" and len(sources) > 1 else sources[0]


def generator_of(flags: str) -> str:
    """Returns the kernel generator that a flag string selects: ``mindspore`` or ``ms_fusion``.

    >>> generator_of("--opt_level=2 --kernel_generator=AKG_V2"), generator_of("--opt_level=2")
    ('ms_fusion', 'mindspore')
    """
    named = effective_flags(flags).get("kernel_generator")
    return "ms_fusion" if named == GENERATOR else "mindspore"


class KernelRefusal(NamedTuple):
    """The refusal of a generator to build a kernel.

    Attributes:
        op: type of the operator that causes the refusal; empty if no single operator causes it.
        reason: why the kernel is not built.
        left: True if our generator could not even build a slow substitute for the kernel. MindSpore
            then runs the kernel's operators one by one. For MindSpore's generator, `left` is always
            False.
    """

    op: str
    reason: str
    left: bool = False


def kernel_refusal(text: str) -> KernelRefusal | None:
    """Returns the refusal of a kernel that MindSpore's CPU generator must not build, else None.

    A kernel with malformed JSON is refused, too.

    Args:
        text: the kernel as composite JSON.
    """
    try:
        description = json.loads(text)
        results = {item["tensor_name"] for item in _flatten([description.get("output_desc", [])])}
        for step in description["op_desc"]:
            reason = refusal(step["name"], *_dtypes(step)) or _layout_refusal(step, results)
            if reason:
                return KernelRefusal(step["name"], reason)
    except (ValueError, KeyError, TypeError, IndexError, AttributeError, RecursionError) as error:
        return KernelRefusal("", f"its description cannot be read: {error}")
    return None


def _dtypes(step: dict[str, Any]) -> tuple[str, str]:
    """Returns the same pair as `dtypes_of`, for an operator in MindSpore's composite JSON."""
    sources = [item["data_type"] for item in _flatten(step["input_desc"])]
    target = step["output_desc"][0]["data_type"]
    if "bfloat16" in sources:
        return "bfloat16", target
    return (_working_dtype(step["name"], sources) if sources else target), target


def _layout_refusal(step: dict[str, Any], results: set[str]) -> str:
    """Returns the reason why MindSpore's generator must not build an operator.

    The function checks the shapes of a Select, and the axes, dtype and result of a Transpose. The
    reason is an empty string if the generator may build the operator.

    Args:
        step: the operator in composite JSON.
        results: names of the kernel's output tensors.
    """
    inputs = _flatten(step["input_desc"])
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


def has_only_views(text: str) -> bool:
    """Returns whether a kernel in composite JSON only reshapes tensors.

    MindSpore moves no data for a kernel that only reshapes. The result is False for malformed JSON.
    """
    try:
        return all(step["name"] in selections.VIEWS for step in json.loads(text)["op_desc"])
    except (ValueError, KeyError, TypeError, RecursionError):
        return False


def _flatten(groups: list[list[dict[str, Any]]]) -> list[dict[str, Any]]:
    return [item for group in groups for item in group]
