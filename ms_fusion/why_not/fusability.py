"""May this operator be clustered under these flags, and if not, why not.

MindSpore prints no such line, so the rule is computed: from its lists, the flags in force, and the operator's own
dtypes, shapes and attributes.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field

from ms_fusion import operators
from ms_fusion.generator_limits import GENERATOR, KEPT_OUT
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.why_not.reasons import sentence, shape_text

LIBRARY = frozenset(
    """MatMul BatchMatMul MatMulExt BatchMatMulExt Dense GroupedMatmul Conv2D Conv2DBackpropInput Conv2DBackpropFilter
    Conv2DTranspose Conv3D BatchNorm BatchNormGrad MaxPool MaxPoolGrad AvgPool AvgPoolGrad LSTM GRUV2 Gather Concat
    EmbeddingLookup Dropout DropoutGrad SoftmaxCrossEntropyWithLogits SparseSoftmaxCrossEntropyWithLogits ArgMax ArgMin
    ArgMaxWithValue TopK Sort AllReduce AllGather ReduceScatter Broadcast""".split()
)
"""Operators computed by a library or a kernel that fusion cannot open."""

IN_PLACE = frozenset("Adam AdamWeightDecay AssignAdd Assign AssignSub".split())
"""Expanded or clustered, they still stay alone: they overwrite an input."""

LEVEL_1 = frozenset("ReduceSum ReduceMax Reshape Transpose".split())
"""Clustered on CPU only from `--fusion_ops_level=1` (the default is above it)."""

VALUE_DEPENDENT: Mapping[str, tuple[int, ...]] = {
    "ReduceSum": (1,),
    "ReduceMax": (1,),
    "ReduceMin": (1,),
    "ReduceMean": (1,),
    "ReduceProd": (1,),
    "ReduceAll": (1,),
    "ReduceAny": (1,),
    "Reshape": (1,),
    "Transpose": (1,),
    "Tile": (1,),
    "BroadcastTo": (1,),
    "ExpandDims": (1,),
    "OneHot": (1,),
    "CumSum": (1,),
    "Slice": (1, 2),
    "StridedSlice": (1, 2, 3),
    "Gather": (2,),
}
"""Inputs that have to be constants: axes, shapes, positions."""

EXPANDED_IN_FLOAT32_ONLY = frozenset("LayerNorm LayerNormGrad Sinh Cosh".split())
"""On CPU these are expanded in float32 and left whole in float16 (measured on 2.10)."""

LEFT_WHOLE = frozenset("Tile Squeeze".split())
"""In the lists of operators to expand, but left whole on CPU (measured on 2.10)."""

SPLITTER = "split.graph_kernel_splitter"
"""The pass that cuts clusters into pieces."""

PLAIN_FORMATS = frozenset({"", "DefaultFormat", "NCHW", "ND"})
OFF_BY_DEFAULT = 0
FUSED_OPS_LEVEL = 2
COMPOSITE_LIMIT = 200


@dataclass(frozen=True)
class Settings:
    """The flags as far as they decide what is clustered.

    Attributes:
        device: ``CPU``, ``GPU`` or ``Ascend``.
        given: every flag of the string.
        clustered, expanded: the lists in force.
        opt_level: 0 is off.
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
        """Who builds the kernels: ``mindspore`` or ``ms_fusion``."""
        ours = self.device == "CPU" and self.given.get("kernel_generator") == GENERATOR
        return "ms_fusion" if ours else "mindspore"

    @property
    def splits(self) -> bool:
        """Whether MindSpore cuts clusters into pieces; without that pass each is one kernel."""
        return SPLITTER not in self.listed("disable_pass")

    def listed(self, flag: str) -> tuple[str, ...]:
        """The names in a flag that holds a list."""
        return tuple(name for name in self.given.get(flag, "").split(",") if name)


@dataclass(frozen=True)
class Refusal:
    """Why one operator stays out: a code of `ms_fusion.why_not.reasons.REASONS` and its sentence."""

    node: Node
    code: str
    detail: str


def read_flags(text: str) -> dict[str, str]:
    """``--key=value`` pairs of a flag string; the last of a key wins."""
    return {match[1]: match[2] or "" for match in re.finditer(r"--(\w+)(?:=(\S*))?", text)}


def settings(flags: str, device: str = "CPU") -> Settings:
    """What the flag string means on `device`."""
    given = read_flags(flags)
    level = _level(given)
    if device == "Ascend":
        clustered = operators.ASCEND_CLUSTERED | (
            operators.ASCEND_CLUSTERED_LEVEL_1 if level >= 1 else frozenset()
        )
    else:
        clustered = operators.CPU_CLUSTERED - (LEVEL_1 if level < 1 else frozenset())
        if device == "CPU" and given.get("kernel_generator") == GENERATOR:
            clustered -= operators.NOT_FOR_ANOTHER_GENERATOR
    return Settings(
        device=device,
        given=given,
        clustered=_effective(clustered, given, "cluster_ops"),
        expanded=_effective(operators.CPU_EXPANDED, given, "expand_ops"),
        opt_level=_integer(given.get("opt_level"), OFF_BY_DEFAULT),
        limit=_integer(given.get("composite_op_limit_size"), COMPOSITE_LIMIT),
    )


def _level(given: Mapping[str, str]) -> int:
    return _integer(given.get("fusion_ops_level"), FUSED_OPS_LEVEL)


def _effective(default: frozenset[str], given: Mapping[str, str], name: str) -> frozenset[str]:
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
    """Everything that keeps `node` from being clustered, in the order in which MindSpore asks."""
    for check in (_device, _library, _shapes, _dtypes, _formats, _fences, _lists, _constants):
        found = check(node, graph, given)
        if found is not None:
            yield found


def refusal(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    """The first of `refusals`, or None when nothing speaks against the operator."""
    return next(refusals(node, graph, given), None)


def _refuse(node: Node, code: str, **facts: object) -> Refusal:
    return Refusal(node, code, sentence(code, name=node.name, op=node.op, **facts))


def _tensors(node: Node, graph: Graph) -> tuple[Value, ...]:
    """What the node handles, arguments such as axes left out."""
    arguments = VALUE_DEPENDENT.get(node.op, ())
    inputs = tuple(
        value for index, value in enumerate(graph.inputs_of(node)) if index not in arguments
    )
    return inputs + graph.outputs_of(node)


def _device(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    target = node.attr("primitive_target")
    if isinstance(target, str) and target and target != given.device:
        return _refuse(node, "other-device", target=target, device=given.device)
    return None


def _library(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    if node.brought_by:
        return _refuse(node, "carried", by=node.brought_by)
    if given.generator == "ms_fusion" and node.op in KEPT_OUT and node.op not in given.clustered:
        return _refuse(node, "kept-out", why=KEPT_OUT[node.op])
    if node.op in LIBRARY and node.op not in given.clustered:
        return _refuse(node, "not-clusterable")
    return None


def _shapes(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    for value in _tensors(node, graph):
        if value.is_dynamic:
            return _refuse(node, "dynamic-shape", value=value.name, shape=shape_text(value))
        if 0 in value.shape:
            return _refuse(node, "zero-size", value=value.name, shape=shape_text(value))
    return None


def _dtypes(node: Node, graph: Graph, given: Settings) -> Refusal | None:
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
            and node.op in EXPANDED_IN_FLOAT32_ONLY & given.expanded
        ):
            return _refuse(node, "dtype", dtype=value.dtype, limit="is not expanded on CPU")
    return None


def _formats(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    for value in _tensors(node, graph):
        if value.format not in PLAIN_FORMATS:
            return _refuse(node, "format", value=value.name, format=value.format)
    return None


def _fences(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    for name, setting in node.attrs:
        if (name == "aggregate" or name.startswith("inplace_")) and setting not in (False, None, 0):
            return _refuse(node, "fence", attribute=name)
    return None


def _lists(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    op = node.op
    if op in given.clustered:
        return None
    if op in given.expanded:
        if op in LEFT_WHOLE and given.device == "CPU":
            return _refuse(node, "not-expanded", device=given.device)
        return None
    for name, default in (
        ("cluster_ops", operators.CPU_CLUSTERED),
        ("expand_ops", operators.CPU_EXPANDED),
    ):
        only, disabled = f"enable_{name}_only", f"disable_{name}"
        # beside a list of the only ones, MindSpore does not look at the list of those kept out
        flag = only if given.listed(only) else disabled
        if op in (default if flag == only else given.listed(disabled)):
            return _refuse(node, "disabled-by-flag", flag=f"{flag}={given.given[flag]}")
    if op in LEVEL_1 and _level(given.given) < 1:
        return _refuse(
            node,
            "disabled-by-flag",
            flag=f"fusion_ops_level={given.given.get('fusion_ops_level', '')}",
        )
    if op in IN_PLACE:
        return _refuse(node, "in-place")
    if op in operators.CPU_EXPANDABLE:
        return _refuse(node, "not-in-expand-list")
    known = (
        operators.CPU_CLUSTERABLE
        | operators.CPU_CLUSTERABLE_ELSEWHERE
        | operators.NOT_FOR_ANOTHER_GENERATOR
    )
    if op in (operators.ASCEND_CLUSTERED if given.device == "Ascend" else known):
        return _refuse(node, "not-in-cluster-list")
    return _refuse(node, "unknown-operator", device=given.device)


def _constants(node: Node, graph: Graph, given: Settings) -> Refusal | None:
    values = graph.inputs_of(node)
    for index in VALUE_DEPENDENT.get(node.op, ()):
        if index < len(values) and values[index].kind != "constant":
            return _refuse(node, "value-dependent", index=index, value=values[index].name)
    return None
