"""The smallest change that fuses an edge; only changes that were carried out and seen to work are in these tables.

Each entry was applied to a small net with real MindSpore 2.10 on CPU and its own generator: not fused before, fused
after, and right within 1e-3 of float64. The tests carry all of them out again.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType

from ms_fusion import operators
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ledger import Suggestion
from ms_fusion.why_not.fusability import (
    EXPANDED_IN_FLOAT32_ONLY,
    Refusal,
    Settings,
    read_flags,
    refusal,
    settings,
)


@dataclass(frozen=True)
class Verified:
    """For which dtypes a flag was seen to work, and on which sides the operator then joins its neighbours."""

    dtypes: frozenset[str] = frozenset({"float32"})
    takes_producer: bool = True
    takes_consumer: bool = True
    caution: str = ""


F32 = frozenset({"float32"})
FLOATS = frozenset({"float32", "float16"})
ALL = frozenset({"float32", "float16", "int32"})
EXP = "its exponential is exact to 3e-4 only"

VERIFIED_CLUSTER_FLAGS: Mapping[str, Verified] = MappingProxyType(
    dict.fromkeys("NotEqual Greater GreaterEqual LogicalAnd LogicalOr IsNan IsFinite Sign Tile BroadcastTo".split(), Verified(ALL))
    | dict.fromkeys("Div Sin Cos Floor FloorDiv IsInf".split(), Verified(FLOATS))
    | dict.fromkeys("Atan Erf FloorMod".split(), Verified(F32))
    | {"ReduceMin": Verified(ALL, takes_consumer=False)}
)  # fmt: skip
"""Operator → with `--enable_cluster_ops` it joins its neighbours."""

VERIFIED_EXPAND_FLAGS: Mapping[str, Verified] = MappingProxyType(
    dict.fromkeys("ReluGrad SquaredDifference".split(), Verified(ALL))
    | dict.fromkeys(
        "SigmoidGrad ReduceMean LogSoftmax Erfc HSigmoid HSwish".split(), Verified(FLOATS)
    )
    | {"Softmax": Verified(FLOATS, caution=EXP)}
    | {"LayerNorm": Verified(F32)}
    | dict.fromkeys("Sigmoid Sinh Cosh FastGeLU".split(), Verified(F32, caution=EXP))
    | {"Erf": Verified(FLOATS)}
    | {"SquareSumAll": Verified(FLOATS, takes_consumer=False)}
)
"""Operator → with `--enable_expand_ops` it joins its neighbours."""

NOT_OFFERED: Mapping[str, str] = MappingProxyType(
    {
        "StridedSlice": "becomes a kernel of its own",
        "Slice": "becomes a StridedSlice in a kernel of its own",
        "OneHot": "becomes a kernel of its own",
        "CumSum": "becomes a kernel of its own",
        "Squeeze": "is not expanded on CPU",
        "SiLU": "reaches the compiler as Sigmoid and Mul: enable Sigmoid",
        "Tanh": "is clustered by default",
    }
)
"""Operators that a flag of MindSpore names, and why it is not offered; beside them are the dtypes missing above:

Atan, Erf (cluster) and Sigmoid (expand) in float16 kill MindSpore's generator; FloorMod in float16 is off by up to 0.3;
Div of int32 divides integers where the unfused operator divides floats; FloorDiv and FloorMod of int32 kill the process
on a divisor of 0; FastGeLU in float16 is off by 3e-3; LayerNorm, Sinh and Cosh in float16 are not expanded.
"""

COMPOSITES: Mapping[str, tuple[str, str]] = MappingProxyType(
    {
        "ReLU6": ("ops.minimum(ops.maximum(x, 0.0), 6.0)", ""),
        "AddExt": ("ops.add(x, y)", ""),
        "SubExt": ("ops.sub(x, y)", ""),
        "Softsign": ("x * ops.reciprocal(ops.abs(x) + 1.0)", ""),
        "Addcmul": ("x + y * z * value", ""),
        "Lerp": ("x + (y - x) * weight", ""),
        "Hypot": ("ops.sqrt(x * x + y * y)", ""),
        "MaskedFill": ("ops.where(mask, value, x)", ""),
        "Ceil": ("-ops.floor(-x)", "--enable_cluster_ops=Floor"),
    }
)
"""Operator that no flag fuses → the same from basic operators, and a flag that these need."""

CAUTION: Mapping[str, str] = MappingProxyType(
    dict.fromkeys("Exp Tanh GeLU GeLUGrad Softplus SoftplusGrad".split(), EXP)
    | dict.fromkeys(
        "Equal NotEqual LogicalNot".split(), "a comparison with NaN may come out otherwise"
    )
    | {"Log": "of 0, inf and NaN it is wrong"}
)
"""What fusing an operator costs although it works."""

ADVICE: Mapping[str, str] = MappingProxyType(
    {
        "control-flow": "compute both sides and choose: ops.where(ops.broadcast_to(condition, a.shape), a, b)",
        "dynamic-shape": "leave set_inputs with None out: MindSpore then compiles once for each shape, fused each time",
        "fence": "remove the attribute from the primitive",
    }
)
"""Code of a reason → the change to the user's code."""

NEVER_ENABLE = frozenset("Round Transpose Cast".split())
"""Clustered by default, but not worth asking for: every preset keeps them out on CPU (`ms_fusion.presets.table`)."""

FLOAT_ONLY = frozenset("Pow Sqrt Rsqrt Reciprocal RealDiv Mod".split())
"""Clustered by default, but killing or wrong for integers."""


def suggest(
    graph: Graph,
    producer: Node,
    consumer: Node | None,
    value: Value,
    reason: str,
    refused: Sequence[Refusal],
    given: Settings,
    generator: str,
    *,
    blocked: bool = False,
    unsafe: frozenset[str] = frozenset(),
) -> Suggestion | None:
    """The smallest change that fuses `producer` with `consumer`, or None when none is known to work.

    Args:
        reason: why they are apart; `refused`: what keeps each of the two out of the clusters.
        blocked: they would be cut apart again even if both were clustered.
        unsafe: sub-graphs in which clustering more could kill the generator (`casting_down`).
    """
    if given.device != "CPU" or generator != "mindspore":
        return None
    if reason == "control-flow":
        return Suggestion("code", ADVICE[reason])
    if consumer is None or blocked or producer.subgraph in unsafe:
        return None
    if reason == "fusion-off":
        return _turn_on(graph, producer, consumer)
    if not refused:
        return None
    changes = [_change(one, graph, producer, consumer, given) for one in refused]
    found = [change for change in changes if change is not None]
    return _together(found, given) if len(found) == len(changes) else None


def with_flags(flags: str, added: str) -> str:
    """The flag string with the flags of a suggestion in it.

    A flag that stands there already is replaced; one whose list ends up empty is left out.

    >>> with_flags("--opt_level=2 --enable_cluster_ops=Div", "--enable_cluster_ops=Div,Sin")
    '--opt_level=2 --enable_cluster_ops=Div,Sin'
    >>> with_flags("--opt_level=2 --disable_cluster_ops=Sub", "--disable_cluster_ops=")
    '--opt_level=2'
    """
    merged = read_flags(flags) | read_flags(added)
    for word in added.split():
        if word.endswith("="):
            del merged[word.strip("-=")]
    return " ".join(f"--{name}={value}" if value else f"--{name}" for name, value in merged.items())


@dataclass(frozen=True)
class _Change:
    """One step: a name put into or taken from a flag, or a change of code."""

    kind: str
    text: str
    flag: str = ""
    name: str = ""
    remove: bool = False


def _turn_on(graph: Graph, producer: Node, consumer: Node) -> Suggestion | None:
    on = settings("--opt_level=2", "CPU")
    if any(refusal(node, graph, on) is not None for node in (producer, consumer)):
        return None
    if any(not _harmless(node, graph) for node in (producer, consumer)):
        return None
    return Suggestion("flag", "turn fusion on", "--opt_level=2")


def _change(
    one: Refusal, graph: Graph, producer: Node, consumer: Node, given: Settings
) -> _Change | None:
    op, code = one.node.op, one.code
    if code in ADVICE:
        return _Change("code", ADVICE[code])
    if code == "not-built":
        if op in (producer.op, consumer.op):
            return None
        return _Change(
            "flag", f"keep {op} out, so that the rest is built", "disable_cluster_ops", op
        )
    if code == "dtype":
        return _cast(one.node, graph)
    if code == "disabled-by-flag":
        return _allow(one.node, graph, given)
    if code in ("not-in-cluster-list", "not-in-expand-list", "not-expanded"):
        for flag, table in (
            ("cluster_ops", VERIFIED_CLUSTER_FLAGS),
            ("expand_ops", VERIFIED_EXPAND_FLAGS),
        ):
            verified = table.get(op)
            if verified is not None and _applies(verified, one.node, graph, producer, consumer):
                caution = _caution(op, verified.caution)
                return _Change("flag", f"let {op} in{caution}", _list_in_force(flag, given), op)
    if op in COMPOSITES and _dtypes(one.node, graph) == F32:
        line, flag = COMPOSITES[op]
        name = flag.partition("=")[2]
        needed = name and name not in given.clustered
        return _Change(
            "composite",
            f"write {one.node.name} as {line}",
            _list_in_force("cluster_ops", given) if needed else "",
            name,
        )
    return None


def _caution(op: str, more: str = "") -> str:
    words = CAUTION.get(op) or more
    return f" ({words})" if words else ""


def _list_in_force(name: str, given: Settings) -> str:
    only = f"enable_{name}_only"
    return only if given.listed(only) else f"enable_{name}"


def _applies(verified: Verified, node: Node, graph: Graph, producer: Node, consumer: Node) -> bool:
    dtypes = _dtypes(node, graph)
    if not dtypes <= verified.dtypes:
        return False
    if node.name == consumer.name and not verified.takes_producer:
        return False
    return node.name != producer.name or verified.takes_consumer


def casting_down(graph: Graph) -> frozenset[str]:
    """The sub-graphs in which the user casts to float16.

    In one kernel with casts of MindSpore's own that kills MindSpore's generator on CPU, so nothing is offered there.
    """
    return frozenset(
        node.subgraph
        for node in graph
        if node.op == "Cast"
        and node.attr("is_backend_cast") is not True
        and any(value.dtype == "float16" for value in graph.outputs_of(node))
    )


def _dtypes(node: Node, graph: Graph) -> frozenset[str]:
    """Dtypes of the tensors it handles; truth values and arguments such as axes aside."""
    values = [value for value in graph.inputs_of(node) if value.kind != "constant"]
    return frozenset(value.dtype for value in (*values, *graph.outputs_of(node))) - {"bool"}


def _cast(node: Node, graph: Graph) -> _Change | None:
    dtypes = _dtypes(node, graph)
    if node.op not in EXPANDED_IN_FLOAT32_ONLY or not dtypes <= FLOATS:
        return None
    return _Change("code", f"compute {node.name} in float32: .astype(mindspore.float32)")


def _allow(node: Node, graph: Graph, given: Settings) -> _Change | None:
    if not _harmless(node, graph):
        return None
    for flag in ("disable_cluster_ops", "disable_expand_ops"):
        if node.op in given.listed(flag):
            text = f"take {node.op} out of --{flag}{_caution(node.op)}"
            return _Change("flag", text, flag, node.op, remove=True)
    for name, default in (
        ("cluster_ops", operators.CPU_CLUSTERED),
        ("expand_ops", operators.CPU_EXPANDED),
    ):
        if node.op in default and given.listed(f"enable_{name}_only"):
            text = f"let {node.op} in{_caution(node.op)}"
            return _Change("flag", text, f"enable_{name}_only", node.op)
    return None


def _harmless(node: Node, graph: Graph) -> bool:
    """Whether what is clustered by default is right, and does not kill the process, for this node."""
    if node.op in NEVER_ENABLE or node.op not in operators.CPU_CLUSTERED | operators.CPU_EXPANDED:
        return False
    dtypes = _dtypes(node, graph)
    if not dtypes <= ALL:
        return False
    return node.op not in FLOAT_ONLY or "int32" not in dtypes


def _together(changes: Sequence[_Change], given: Settings) -> Suggestion:
    """One suggestion of all changes; each flag with its whole new value."""
    lists: dict[str, list[str]] = {}
    for change in changes:
        if change.flag:
            names = lists.setdefault(change.flag, list(given.listed(change.flag)))
            if change.remove:
                names.remove(change.name)
            elif change.name not in names:
                names.append(change.name)
    kinds = [
        kind
        for kind in ("code", "composite", "flag")
        if any(change.kind == kind for change in changes)
    ]
    return Suggestion(
        kinds[0],
        "; ".join(dict.fromkeys(change.text for change in changes)),
        " ".join(f"--{flag}={','.join(names)}" for flag, names in lists.items()),
    )
