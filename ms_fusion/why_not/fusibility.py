"""Decides whether MindSpore may cluster an operator under given flags, and gives the reason if not.

MindSpore does not log why an operator is in no cluster. This module derives the reason from
MindSpore's operator lists, the flags in force, and the operator's dtypes, shapes and attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.mindspore.flags.generator_limits import EXCLUDED_OPERATORS, GENERATOR
from ms_fusion.ops import operators_where, operators_with, selections, table
from ms_fusion.ops.op_info import Trait
from ms_fusion.why_not.reasons import sentence, shape_text

LIBRARY_OPERATORS = operators_with(Trait.HAS_LIBRARY_KERNEL)
"""Operators with a library kernel; MindSpore clusters them only if ``cluster_ops`` names them."""

IN_PLACE_OPERATORS = operators_with(Trait.IN_PLACE)
"""Operators that overwrite an input; MindSpore fuses them with no other operator."""

LEVEL_1_OPERATORS = operators_where(lambda operator: operator.mindspore.cluster_level == 1)
"""Operators that MindSpore does not cluster on CPU if `--fusion_ops_level` is 0."""

VALUE_DEPENDENT_INPUTS: Mapping[str, tuple[int, ...]] = table(
    lambda operator: operator.mindspore.constants
)
"""A dict from an operator type to the indices of its inputs that must be constants (as axes)."""

FLOAT32_ONLY_EXPANSIONS = operators_where(lambda operator: not operator.mindspore.expands_float16)
"""Operators expanded on CPU in float32 but not in float16 (measured on MindSpore 2.10)."""

UNEXPANDED_OPERATORS = operators_where(lambda operator: operator.mindspore.ignores_expand_flag)
"""Operators in MindSpore's expand lists that are not expanded on CPU (measured on 2.10)."""

SPLITTER = "split.graph_kernel_splitter"
"""MindSpore's pass that splits clusters."""

PLAIN_FORMATS = frozenset({"", "DefaultFormat", "NCHW", "ND"})
DEFAULT_OPT_LEVEL = 0
DEFAULT_FUSION_OPS_LEVEL = 2
COMPOSITE_LIMIT = 200


@dataclass(frozen=True)
class Settings:
    """The flags that decide clustering.

    Attributes:
        device: ``CPU``, ``GPU`` or ``Ascend``.
        given: a dict from the name of each flag in the flag string to its value as a string.
        clustered: types of the operators that MindSpore clusters under these flags.
        expanded: types of the operators that MindSpore expands under these flags.
        opt_level: optimization level of graph kernel fusion; 0 turns fusion off.
        limit: largest number of operators in a kernel.
    """

    device: str
    given: Mapping[str, str] = field(default_factory=dict)
    clustered: frozenset[str] = frozenset()
    expanded: frozenset[str] = frozenset()
    opt_level: int = 2
    limit: int = COMPOSITE_LIMIT

    @property
    def generator(self) -> str:
        """Generator of the kernels: ``mindspore`` or ``ms_fusion``."""
        ours = self.device == "CPU" and self.given.get("kernel_generator") == GENERATOR
        return "ms_fusion" if ours else "mindspore"

    @property
    def has_splitter(self) -> bool:
        """Whether MindSpore's splitter pass runs; otherwise each cluster becomes one kernel."""
        return SPLITTER not in self.names_in_flag("disable_pass")

    def names_in_flag(self, flag: str) -> tuple[str, ...]:
        """Returns the names in the flag `flag`, whose value is a comma-separated list."""
        return tuple(name for name in self.given.get(flag, "").split(",") if name)


@dataclass(frozen=True)
class Refusal:
    """An operator that is not clustered, with the reason as a code and as a sentence.

    `reasons.REASONS` defines the codes.
    """

    node: Node
    code: str
    detail: str


def read_flags(text: str) -> dict[str, str]:
    """Parses the ``--key=value`` pairs of a flag string.

    If a flag occurs several times, its last value is used.
    """
    return {match[1]: match[2] or "" for match in re.finditer(r"--(\w+)(?:=(\S*))?", text)}


def settings(flags: str, device: str = "CPU") -> Settings:
    """Returns the clustering settings that result from a flag string on `device`."""
    given = read_flags(flags)
    level = _level(given)
    if device == "Ascend":
        clustered = selections.ASCEND_CLUSTER_OPS | (
            selections.ASCEND_CLUSTER_OPS_LEVEL_1 if level >= 1 else frozenset()
        )
    else:
        clustered = selections.CPU_CLUSTER_OPS - (LEVEL_1_OPERATORS if level < 1 else frozenset())
        if device == "CPU" and given.get("kernel_generator") == GENERATOR:
            clustered -= selections.MINDSPORE_GENERATOR_ONLY_OPS
    return Settings(
        device=device,
        given=given,
        clustered=_operators_in_force(clustered, given, "cluster_ops"),
        expanded=_operators_in_force(selections.CPU_EXPAND_OPS, given, "expand_ops"),
        opt_level=_integer(given.get("opt_level"), DEFAULT_OPT_LEVEL),
        limit=_integer(given.get("composite_op_limit_size"), COMPOSITE_LIMIT),
    )


def _level(given: Mapping[str, str]) -> int:
    return _integer(given.get("fusion_ops_level"), DEFAULT_FUSION_OPS_LEVEL)


def _operators_in_force(
    default: frozenset[str], given: Mapping[str, str], name: str
) -> frozenset[str]:
    only = _names(given.get(f"enable_{name}_only", ""))
    if only:
        return only
    return (default | _names(given.get(f"enable_{name}", ""))) - _names(
        given.get(f"disable_{name}", "")
    )


def _names(text: str) -> frozenset[str]:
    return frozenset(name for name in text.split(",") if name)


def _integer(text: str | None, default: int) -> int:
    return int(text) if text and text.isascii() and text.isdigit() and len(text) < 10 else default


def refusals(node: Node, graph: Graph, given: Settings) -> Iterator[Refusal]:
    """Yields all reasons why `node` is in no cluster, in the order of MindSpore's checks."""
    for check in (
        _check_device,
        _check_library,
        _check_shapes,
        _check_dtypes,
        _check_formats,
        _check_fences,
        _check_lists,
        _check_constants,
    ):
        found = check(node, graph, given)
        if found is not None:
            yield found


def first_refusal(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    """Returns the first item of `refusals`, or None if MindSpore may cluster the operator."""
    return next(refusals(node, graph, given), None)


def _refuse(node: Node, code: str, **facts: object) -> Refusal:
    return Refusal(node, code, sentence(code, name=node.name, op=node.op, **facts))


def _tensors(node: Node, graph: Graph) -> tuple[Value, ...]:
    """Returns the input and output tensors of the node, without arguments such as axes."""
    arguments = VALUE_DEPENDENT_INPUTS.get(node.op, ())
    inputs = tuple(
        value for index, value in enumerate(graph.inputs_of(node)) if index not in arguments
    )
    return inputs + graph.outputs_of(node)


def _check_device(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    target = node.attr("primitive_target")
    if isinstance(target, str) and target and target != given.device:
        return _refuse(node, "other-device", target=target, device=given.device)
    return None


def _check_library(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    if node.kernel_provider:
        return _refuse(node, "carried", by=node.kernel_provider)
    if (
        given.generator == "ms_fusion"
        and node.op in EXCLUDED_OPERATORS
        and node.op not in given.clustered
    ):
        return _refuse(node, "kept-out", why=EXCLUDED_OPERATORS[node.op])
    if node.op in LIBRARY_OPERATORS and node.op not in given.clustered:
        return _refuse(node, "not-clusterable")
    return None


def _check_shapes(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    for value in _tensors(node, graph):
        if value.is_dynamic:
            return _refuse(node, "dynamic-shape", value=value.name, shape=shape_text(value))
        if 0 in value.shape:
            return _refuse(node, "zero-size", value=value.name, shape=shape_text(value))
    return None


def _check_dtypes(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    for value in _tensors(node, graph):
        if value.dtype.startswith("complex"):
            return _refuse(node, "dtype", dtype=value.dtype, limit="no fused kernel can hold")
        if value.dtype == "bfloat16" and given.device == "CPU" and given.generator == "mindspore":
            return _refuse(
                node, "dtype", dtype=value.dtype, limit="MindSpore's CPU generator cannot build"
            )
        if (
            value.dtype == "float16"
            and given.device == "CPU"
            and node.op in FLOAT32_ONLY_EXPANSIONS & given.expanded
        ):
            return _refuse(node, "dtype", dtype=value.dtype, limit="is not expanded on CPU")
    return None


def _check_formats(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    for value in _tensors(node, graph):
        if value.format not in PLAIN_FORMATS:
            return _refuse(node, "format", value=value.name, format=value.format)
    return None


def _check_fences(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    for name, setting in node.attrs:
        if (name == "aggregate" or name.startswith("inplace_")) and setting not in (False, None, 0):
            return _refuse(node, "fence", attribute=name)
    return None


def _check_lists(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    op = node.op
    if op in given.clustered:
        return None
    if op in given.expanded:
        if op in UNEXPANDED_OPERATORS and given.device == "CPU":
            return _refuse(node, "not-expanded", device=given.device)
        return None
    for name, default in (
        ("cluster_ops", selections.CPU_CLUSTER_OPS),
        ("expand_ops", selections.CPU_EXPAND_OPS),
    ):
        only, disabled = f"enable_{name}_only", f"disable_{name}"
        # If the ``_only`` list is given, MindSpore ignores the disable list.
        flag = only if given.names_in_flag(only) else disabled
        if op in (default if flag == only else given.names_in_flag(disabled)):
            return _refuse(node, "disabled-by-flag", flag=f"{flag}={given.given[flag]}")
    if op in LEVEL_1_OPERATORS and _level(given.given) < 1:
        return _refuse(
            node,
            "disabled-by-flag",
            flag=f"fusion_ops_level={given.given.get('fusion_ops_level', '')}",
        )
    if op in IN_PLACE_OPERATORS:
        return _refuse(node, "in-place")
    if op in selections.CPU_EXPANDABLE_OPS:
        return _refuse(node, "not-in-expand-list")
    known = (
        selections.CPU_CLUSTERABLE_OPS
        | selections.CPU_CLUSTERABLE_BY_OWN_GENERATOR_ONLY
        | selections.MINDSPORE_GENERATOR_ONLY_OPS
    )
    if op in (selections.ASCEND_CLUSTER_OPS if given.device == "Ascend" else known):
        return _refuse(node, "not-in-cluster-list")
    return _refuse(node, "unknown-operator", device=given.device)


def _check_constants(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    values = graph.inputs_of(node)
    for index in VALUE_DEPENDENT_INPUTS.get(node.op, ()):
        if index < len(values) and values[index].kind != "constant":
            return _refuse(node, "value-dependent", index=index, value=values[index].name)
    return None
