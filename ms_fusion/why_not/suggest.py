"""The smallest change that fuses an edge; only changes that were carried out and seen to work are in these tables.

Each entry was applied to a small net with real MindSpore 2.10 on CPU and its own generator behind our guard: not fused
before, fused after, and right within 1e-3 of float64. The tests carry all of them out again, alone and in pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from ms_fusion import operators
from ms_fusion.flags import is_list, merge_values
from ms_fusion.generator_limits import KEPT_OUT, node_refusal
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ledger import Suggestion
from ms_fusion.why_not.fusability import (
    EXPANDED_IN_FLOAT32_ONLY,
    LEFT_WHOLE,
    Refusal,
    Settings,
    read_flags,
)


@dataclass(frozen=True)
class Verified:
    """For which dtypes a flag was seen to work, and on which sides the operator then joins its neighbours."""

    dtypes: frozenset[str] = frozenset({"float32"})
    takes_producer: bool = True
    takes_consumer: bool = True
    caution: str = ""


F32 = frozenset({"float32"})
INTEGERS = frozenset({"int32"})
FLOATS = frozenset({"float32", "float16"})
ALL = frozenset({"float32", "float16", "int32"})
EXP = "its exponential is exact to 3e-4 only"

VERIFIED_CLUSTER_FLAGS: Mapping[str, Verified] = MappingProxyType(
    dict.fromkeys(
        "Greater GreaterEqual LogicalAnd LogicalOr IsNan IsFinite Sign Tile BroadcastTo".split(),
        Verified(ALL),
    )
    | dict.fromkeys("Div Sin Cos Floor FloorDiv IsInf".split(), Verified(FLOATS))
    | dict.fromkeys("Atan Erf FloorMod".split(), Verified(F32))
    | {"NotEqual": Verified(INTEGERS), "ReduceMin": Verified(ALL, takes_consumer=False)}
)
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
        **dict.fromkeys(
            ("LayerNormGrad", "AdamWeightDecay"),
            "was measured with our generator only, which has it by itself",
        ),
        "Squeeze": "is not expanded on CPU",
        "SiLU": "reaches the compiler as Sigmoid and Mul: enable Sigmoid",
        "Tanh": "is clustered by default",
    }
)
"""Operators that a flag of MindSpore names, and why it is not offered; beside them are the dtypes missing above:

Atan, Erf (cluster) and Sigmoid (expand) in float16 kill MindSpore's generator; FloorMod in float16 is off by up to 0.3;
Div of int32 divides integers where the unfused operator divides floats; FloorDiv and FloorMod of int32 kill the process
on a divisor of 0; NotEqual of floats is not built, since NaN would be equal to everything; FastGeLU in float16 is off by
3e-3; LayerNorm, Sinh and Cosh in float16 are not expanded.
"""

COMPOSITES: Mapping[str, tuple[str, tuple[str, ...]]] = MappingProxyType(
    {
        "ReLU6": ("ops.minimum(ops.maximum(x, 0.0), 6.0)", ("Maximum", "Minimum")),
        "AddExt": ("ops.add(x, y)", ("Add",)),
        "SubExt": ("ops.sub(x, y)", ("Sub",)),
        "Softsign": ("x / (ops.abs(x) + 1.0)", ("Abs", "Add", "Div")),
        "Addcmul": ("x + y * z * value", ("Mul", "Add")),
        "Lerp": ("x + (y - x) * weight", ("Sub", "Mul", "Add")),
        "Hypot": ("ops.sqrt(x * x + y * y)", ("Mul", "Add", "Sqrt")),
        "MaskedFill": ("ops.where(mask, value, x)", ("Select",)),
        "Ceil": ("-ops.floor(-x)", ("Neg", "Floor")),
    }
)
"""Operator that no flag fuses → the same from basic operators, and which these are."""

CAUTION: Mapping[str, str] = MappingProxyType(
    dict.fromkeys("Exp Tanh GeLU GeLUGrad Softplus SoftplusGrad".split(), EXP)
    | dict.fromkeys("Equal LogicalNot".split(), "a comparison with NaN may come out otherwise")
    | {"Log": "of 0, inf and NaN it is wrong"}
)
"""What fusing an operator costs although it works."""

ADVICE: Mapping[str, str] = MappingProxyType(
    {
        "control-flow": "compute both sides and choose: ops.where(ops.broadcast_to(condition, a.shape), a, b)",
        "dynamic-shape": "call the net through mf.specialize(net), which compiles it once for each shape, fused each time",
        "fence": "remove the attribute from the primitive",
    }
)
"""Code of a reason → the change to the user's code."""

TURN_ON = "--opt_level=2"
"""What turns fusion on."""

NEVER_ENABLE = frozenset("Round Transpose Cast".split())
"""Clustered by default, but not worth asking for: every preset keeps them out on CPU (`ms_fusion.presets.table`)."""


def suggest(
    graph: Graph,
    producer: Node,
    consumer: Node | None,
    value: Value,
    reason: str,
    refused: Sequence[Refusal],
    given: Settings,
    *,
    blocked: bool = False,
    unsafe: frozenset[str] = frozenset(),
) -> Suggestion | None:
    """The smallest change that fuses `producer` with `consumer`, or None when none is known to work.

    Args:
        reason: why they are apart; `refused`: everything that keeps the two out of the clusters.
        blocked: they would be cut apart again even if both were clustered.
        unsafe: sub-graphs in which clustering more could kill the generator (`casting_down`).
    """
    if given.device != "CPU":
        return None
    if reason == "control-flow":
        return Suggestion("code", ADVICE[reason])
    if consumer is None or blocked:
        return None
    if given.generator != "mindspore":
        return _together_or_none([_for_ours(one, given) for one in refused])
    if producer.subgraph in unsafe:
        return None
    if any(node_refusal(node, graph) for node in (producer, consumer)):
        return None
    if reason == "fusion-off":
        safe = _harmless(producer, graph) and _harmless(consumer, graph)
        return Suggestion("flag", "turn fusion on", TURN_ON) if safe else None
    steps = [_steps(one, graph, producer, consumer, given) for one in refused]
    return _together_or_none(steps)


def with_flags(flags: str, added: str) -> str:
    """The flag string with the flags of a suggestion in it.

    They are merged as `ms_fusion.flags.merge_values` does it, names that MindSpore does not know, too.

    >>> with_flags("--opt_level=2 --enable_cluster_ops=Div", "--enable_cluster_ops=Sin")
    '--opt_level=2 --enable_cluster_ops=Sin,Div'
    >>> with_flags("--opt_level=2 --disable_cluster_ops=Sub", "--enable_cluster_ops=Sub")
    '--opt_level=2 --enable_cluster_ops=Sub'
    """
    merged = merge_values(_values(flags), _values(added))
    texts = (
        (name, ",".join(one) if isinstance(one, tuple) else one) for name, one in merged.items()
    )
    return " ".join(f"--{name}={text}" if text else f"--{name}" for name, text in texts)


def _values(flags: str) -> dict[str, str | tuple[str, ...]]:
    """The flags of a string, lists as tuples."""
    return {
        name: tuple(filter(None, text.split(","))) if is_list(name) else text
        for name, text in read_flags(flags).items()
    }


_BY_DEFAULT: Mapping[str, frozenset[str]] = MappingProxyType(
    {"cluster_ops": operators.CPU_CLUSTERED, "expand_ops": operators.CPU_EXPANDED - LEFT_WHOLE}
)


@dataclass(frozen=True)
class _Step:
    """A name put into a flag, or a change of code."""

    kind: str
    text: str
    flag: str = ""
    name: str = ""


def _steps(
    one: Refusal, graph: Graph, producer: Node, consumer: Node, given: Settings
) -> tuple[_Step, ...]:
    """What mends one refusal; empty when nothing is known to."""
    op, code = one.node.op, one.code
    if code in ADVICE:
        return (_Step("code", ADVICE[code]),)
    if code == "not-built":
        return () if op in (producer.op, consumer.op) else (_keep_out(op),)
    if code == "dtype":
        return _in_float32(one.node, graph, given)
    if code == "disabled-by-flag":
        return _by_default(one.node, graph, given)
    if code in ("not-in-cluster-list", "not-in-expand-list", "not-expanded"):
        for name, table in (
            ("cluster_ops", VERIFIED_CLUSTER_FLAGS),
            ("expand_ops", VERIFIED_EXPAND_FLAGS),
        ):
            verified = table.get(op)
            if verified is not None and _applies(verified, one.node, graph, producer, consumer):
                return _let_in(op, name, given, verified.caution)
    written_out = op in COMPOSITES and code in ("not-in-cluster-list", "unknown-operator")
    if written_out and _dtypes(one.node, graph) == F32:
        line, needed = COMPOSITES[op]
        missing = [name for name in needed if name not in given.clustered]
        flags = [step for name in missing for step in _let_in(name, "cluster_ops", given)]
        return (_Step("composite", f"write {one.node.name} as {line}"), *flags)
    return ()


def _for_ours(one: Refusal, given: Settings) -> tuple[_Step, ...]:
    """The same where our own generator builds the kernels.

    What its presets ask for, which the tests build.
    """
    op, code = one.node.op, one.code
    if code in ADVICE:
        return (_Step("code", ADVICE[code]),)
    if code in ("disabled-by-flag", "not-in-cluster-list", "not-in-expand-list"):
        clustered = (
            operators.CPU_CLUSTERED
            | operators.CPU_CLUSTERABLE
            | operators.CPU_CLUSTERABLE_ELSEWHERE
        )
        for name, known in (
            ("cluster_ops", clustered - KEPT_OUT.keys()),
            ("expand_ops", operators.CPU_EXPANDED | operators.CPU_EXPANDED_FOR_OURS),
        ):
            if op in known:
                return _let_in(op, name, given, cautious=False)
    return ()


def _let_in(
    op: str, name: str, given: Settings, caution: str = "", *, cautious: bool = True
) -> tuple[_Step, ...]:
    """What puts `op` on the list in force, `name` being ``cluster_ops`` or ``expand_ops``.

    Args:
        cautious: say what is wrong with it in MindSpore's own generator.
    """
    words = CAUTION.get(op, caution) if cautious else ""
    words = f" ({words})" if words else ""
    disabled, enabled = f"disable_{name}", f"enable_{name}"
    let_in = _Step("flag", f"let {op} in{words}", enabled, op)
    if given.listed(f"enable_{name}_only"):
        return (let_in,)
    steps = []
    if op in given.listed(disabled):
        steps.append(replace(let_in, text=f"take {op} out of --{disabled}{words}"))
    by_default = _BY_DEFAULT[name]
    if given.generator == "ms_fusion":
        by_default -= operators.NOT_FOR_ANOTHER_GENERATOR
    if op not in by_default and op not in given.listed(enabled):
        steps.append(let_in)
    return tuple(steps)


def _keep_out(op: str) -> _Step:
    return _Step("flag", f"keep {op} out, so that the rest is built", "disable_cluster_ops", op)


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


def _in_float32(node: Node, graph: Graph, given: Settings) -> tuple[_Step, ...]:
    dtypes = _dtypes(node, graph)
    if (
        node.op not in EXPANDED_IN_FLOAT32_ONLY
        or not dtypes <= FLOATS
        or "Cast" not in given.clustered
    ):
        return ()
    return (_Step("code", f"compute {node.name} in float32: .astype(mindspore.float32)"),)


def _by_default(node: Node, graph: Graph, given: Settings) -> tuple[_Step, ...]:
    """Back to what MindSpore does by itself, where that is right."""
    for name, default in _BY_DEFAULT.items():
        if node.op in default and _harmless(node, graph):
            return _let_in(node.op, name, given)
    return ()


def _harmless(node: Node, graph: Graph) -> bool:
    """Whether what MindSpore fuses by default was seen to be right for this node."""
    return node.op not in NEVER_ENABLE and _dtypes(node, graph) <= ALL


def _together_or_none(steps: Sequence[tuple[_Step, ...]]) -> Suggestion | None:
    """All steps as one suggestion; None when there are none, or nothing is known for one of the refusals."""
    if not steps or not all(steps):
        return None
    return _together([step for some in steps for step in some])


def _together(steps: Sequence[_Step]) -> Suggestion:
    """One suggestion of all steps, with what is to be merged into the flags."""
    lists: dict[str, dict[str, None]] = {}
    for step in steps:
        if step.flag:
            lists.setdefault(step.flag, {})[step.name] = None
    return Suggestion(
        min((step.kind for step in steps), key=("code", "composite", "flag").index),
        "; ".join(dict.fromkeys(step.text for step in steps)),
        " ".join(f"--{flag}={','.join(names)}" for flag, names in lists.items()),
    )
