"""Suggests the smallest change that fuses an edge, from tables of verified changes.

Each change was verified on a small net, with MindSpore 2.10 on CPU and MindSpore's own generator.
In these runs, ms_fusion refused the kernels that MindSpore's generator cannot build safely. With
each change, the edge became fused, and the results differed from a float64 reference by less than
1e-3. The tests repeat all changes, alone and in pairs.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from types import MappingProxyType

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ledger import Suggestion
from ms_fusion.mindspore.flags.generator_limits import EXCLUDED_OPERATORS, node_refusal
from ms_fusion.mindspore.flags.graph_kernel_flags import is_list, merge_values
from ms_fusion.ops import operator_info, operators_where, selections, table
from ms_fusion.ops.op_info import VerifiedFlag
from ms_fusion.why_not.fusibility import (
    FLOAT32_ONLY_EXPANSIONS,
    UNEXPANDED_OPERATORS,
    Refusal,
    Settings,
    read_flags,
)

F32 = frozenset({"float32"})
FLOATS = frozenset({"float32", "float16"})
ALL_DTYPES = frozenset({"float32", "float16", "int32"})

VERIFIED_CLUSTER_FLAGS: Mapping[str, VerifiedFlag] = table(
    lambda operator: operator.advice.cluster_flag
)
"""A dict from an operator type to the verified effect of adding it to `--enable_cluster_ops`."""

VERIFIED_EXPAND_FLAGS: Mapping[str, VerifiedFlag] = table(
    lambda operator: operator.advice.expand_flag
)
"""A dict from an operator type to the verified effect of adding it to `--enable_expand_ops`."""

EXCLUSION_REASONS: Mapping[str, str] = table(lambda operator: operator.advice.no_flag)
"""A dict from an operator type to the reason why no suggestion adds this type to a flag.

`VERIFIED_CLUSTER_FLAGS` and `VERIFIED_EXPAND_FLAGS` leave out some dtypes, for these reasons:

- clustered Atan and Erf and expanded Sigmoid crash MindSpore's generator in float16;
- the error of FloorMod in float16 is up to 0.3, the error of FastGeLU in float16 up to 3e-3;
- Div of int32 divides integers where the unfused operator divides floats;
- FloorDiv and FloorMod of int32 crash the process on a divisor of 0;
- ms_fusion refuses NotEqual of floats, since MindSpore's kernel finds NaN equal to every number;
- MindSpore does not expand LayerNorm, Sinh and Cosh in float16.
"""

ADVICE: Mapping[str, str] = MappingProxyType(
    {
        "control-flow": "compute both sides and choose: "
        "ops.where(ops.broadcast_to(condition, a.shape), a, b)",
        "dynamic-shape": "call the net through mf.specialize(net), which compiles it once "
        "for each shape, fused each time",
        "fence": "remove the attribute from the primitive",
    }
)
"""A dict from a reason code to advice on how to change the user's code."""

ENABLE_FUSION_FLAG = "--opt_level=2"
"""Flag that turns fusion on."""

NEVER_ENABLED_OPERATORS = operators_where(
    lambda operator: bool(operator.mindspore_generator.unsafe)
)
"""Operators that no suggestion clusters, since every preset disables their clustering on CPU.

See `ms_fusion.mindspore.flags.preset_table`.
"""


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
    """Returns the smallest change that fuses `producer` with `consumer`, or None if none is known.

    Args:
        graph: the graph of both operators.
        producer: the operator that computes `value`.
        consumer: the operator that reads `value`, or None if the value leaves its sub-graph.
        value: the value between the two operators.
        reason: code of the reason why the two operators are not fused.
        refused: all `Refusal` records of the two operators, with the reasons why they are in no
            cluster.
        given: the flags in force.
        blocked: whether the two operators would be in different kernels even if both were
            clustered.
        unsafe: sub-graphs in which more clustered operators could crash the generator; see
            `subgraphs_with_float16_casts`.
    """
    if given.device != "CPU":
        return None
    if reason == "control-flow":
        return Suggestion("code", ADVICE[reason])
    if consumer is None or blocked:
        return None
    if given.generator != "mindspore":
        return _combine_steps_or_none([_steps_for_own_generator(one, given) for one in refused])
    if producer.subgraph in unsafe:
        return None
    if any(node_refusal(node, graph) for node in (producer, consumer)):
        return None
    if reason == "fusion-off":
        safe = _is_harmless(producer, graph) and _is_harmless(consumer, graph)
        return Suggestion("flag", "turn fusion on", ENABLE_FUSION_FLAG) if safe else None
    steps = [_remedy_steps(one, graph, producer, consumer, given) for one in refused]
    return _combine_steps_or_none(steps)


def add_flags(flags: str, added: str) -> str:
    """Merge the flags of a suggestion into a flag string.

    The result is that of `ms_fusion.mindspore.flags.graph_kernel_flags.merge_values`, but names
    that MindSpore does not know are accepted, too.

    >>> add_flags("--opt_level=2 --enable_cluster_ops=Div", "--enable_cluster_ops=Sin")
    '--opt_level=2 --enable_cluster_ops=Sin,Div'
    >>> add_flags("--opt_level=2 --disable_cluster_ops=Sub", "--enable_cluster_ops=Sub")
    '--opt_level=2 --enable_cluster_ops=Sub'
    """
    merged = merge_values(_flag_values(flags), _flag_values(added))
    texts = (
        (name, ",".join(one) if isinstance(one, tuple) else one) for name, one in merged.items()
    )
    return " ".join(f"--{name}={text}" if text else f"--{name}" for name, text in texts)


def _flag_values(flags: str) -> dict[str, str | tuple[str, ...]]:
    """Returns a dict from each flag in a flag string to its value.

    The value of a flag that lists names is a tuple; any other value is a string.
    """
    return {
        name: tuple(filter(None, text.split(","))) if is_list(name) else text
        for name, text in read_flags(flags).items()
    }


_DEFAULT_OPERATORS: Mapping[str, frozenset[str]] = MappingProxyType(
    {
        "cluster_ops": selections.CPU_CLUSTER_OPS,
        "expand_ops": selections.CPU_EXPAND_OPS - UNEXPANDED_OPERATORS,
    }
)


@dataclass(frozen=True)
class _Step:
    """One step of a suggestion: a name to add to a flag, or a code change."""

    kind: str
    text: str
    flag: str = ""
    name: str = ""


def _remedy_steps(
    one: Refusal, graph: Graph, producer: Node, consumer: Node, given: Settings
) -> tuple[_Step, ...]:
    """Returns the steps that remove `one`, a reason why an operator is not clustered.

    A step is a name to add to a flag, or a code change. The result is empty if no steps are known.
    """
    op, code = one.node.op, one.code
    if code in ADVICE:
        return (_Step("code", ADVICE[code]),)
    if code == "not-built":
        return () if op in (producer.op, consumer.op) else (_disable_operator(op),)
    if code == "dtype":
        return _compute_in_float32(one.node, graph, given)
    if code == "disabled-by-flag":
        return _restore_default(one.node, graph, given)
    if code in ("not-in-cluster-list", "not-in-expand-list", "not-expanded"):
        for name, table in (
            ("cluster_ops", VERIFIED_CLUSTER_FLAGS),
            ("expand_ops", VERIFIED_EXPAND_FLAGS),
        ):
            verified = table.get(op)
            if verified is not None and _is_applicable(
                verified, one.node, graph, producer, consumer
            ):
                return _enable_operator(op, name, given, verified.caution)
    advice = operator_info(op).advice
    written_out = advice.rewriting and code in ("not-in-cluster-list", "unknown-operator")
    if written_out and _dtypes(one.node, graph) == F32:
        missing = [name for name in advice.rewriting_operators if name not in given.clustered]
        flags = [step for name in missing for step in _enable_operator(name, "cluster_ops", given)]
        return (_Step("composite", f"write {one.node.name} as {advice.rewriting}"), *flags)
    return ()


def _steps_for_own_generator(one: Refusal, given: Settings) -> tuple[_Step, ...]:
    """Returns the result of `_remedy_steps` for kernels that ms_fusion's generator builds.

    The steps only use flags from the presets of this generator. The tests build kernels with these
    flags. Returns an empty tuple if no steps are known.
    """
    op, code = one.node.op, one.code
    if code in ADVICE:
        return (_Step("code", ADVICE[code]),)
    if code in ("disabled-by-flag", "not-in-cluster-list", "not-in-expand-list"):
        clustered = (
            selections.CPU_CLUSTER_OPS
            | selections.CPU_CLUSTERABLE_OPS
            | selections.CPU_CLUSTERABLE_BY_OWN_GENERATOR_ONLY
        )
        for name, known in (
            ("cluster_ops", clustered - EXCLUDED_OPERATORS.keys()),
            ("expand_ops", selections.CPU_EXPAND_OPS | selections.CPU_EXPAND_OPS_OF_OWN_GENERATOR),
        ):
            if op in known:
                return _enable_operator(op, name, given, cautious=False)
    return ()


def _enable_operator(
    op: str, name: str, given: Settings, caution: str = "", *, cautious: bool = True
) -> tuple[_Step, ...]:
    """Returns the steps that put `op` on the list `name`, ``cluster_ops`` or ``expand_ops``.

    Args:
        op: type of the operator that the suggestion enables.
        name: name of the list.
        given: the flags in force.
        caution: description of a known fault of `op`. This description is used if the operator
            table has none.
        cautious: whether the suggestion mentions the known faults of `op` in MindSpore's own
            generator.
    """
    words = (operator_info(op).advice.caution or caution) if cautious else ""
    words = f" ({words})" if words else ""
    disabled, enabled = f"disable_{name}", f"enable_{name}"
    let_in = _Step("flag", f"let {op} in{words}", enabled, op)
    if given.names_in_flag(f"enable_{name}_only"):
        return (let_in,)
    steps = []
    if op in given.names_in_flag(disabled):
        steps.append(replace(let_in, text=f"take {op} out of --{disabled}{words}"))
    by_default = _DEFAULT_OPERATORS[name]
    if given.generator == "ms_fusion":
        by_default -= selections.MINDSPORE_GENERATOR_ONLY_OPS
    if op not in by_default and op not in given.names_in_flag(enabled):
        steps.append(let_in)
    return tuple(steps)


def _disable_operator(op: str) -> _Step:
    return _Step("flag", f"keep {op} out, so that the rest is built", "disable_cluster_ops", op)


def _is_applicable(
    verified: VerifiedFlag, node: Node, graph: Graph, producer: Node, consumer: Node
) -> bool:
    dtypes = _dtypes(node, graph)
    if not dtypes <= verified.dtypes:
        return False
    if node.name == consumer.name and not verified.takes_producer:
        return False
    return node.name != producer.name or verified.takes_consumer


def subgraphs_with_float16_casts(graph: Graph) -> frozenset[str]:
    """Returns the names of the sub-graphs in which the user's code casts to float16.

    MindSpore's CPU generator crashes if such a cast and a cast that MindSpore inserted are in one
    kernel. Therefore nothing is suggested for these sub-graphs.
    """
    return frozenset(
        node.subgraph
        for node in graph
        if node.op == "Cast"
        and node.attr("is_backend_cast") is not True
        and any(value.dtype == "float16" for value in graph.outputs_of(node))
    )


def _dtypes(node: Node, graph: Graph) -> frozenset[str]:
    """Returns the dtypes of the node's tensors, except bool and except constants such as axes."""
    values = [value for value in graph.inputs_of(node) if value.kind != "constant"]
    return frozenset(value.dtype for value in (*values, *graph.outputs_of(node))) - {"bool"}


def _compute_in_float32(node: Node, graph: Graph, given: Settings) -> tuple[_Step, ...]:
    dtypes = _dtypes(node, graph)
    if (
        node.op not in FLOAT32_ONLY_EXPANSIONS
        or not dtypes <= FLOATS
        or "Cast" not in given.clustered
    ):
        return ()
    return (_Step("code", f"compute {node.name} in float32: .astype(mindspore.float32)"),)


def _restore_default(node: Node, graph: Graph, given: Settings) -> tuple[_Step, ...]:
    """Returns the steps that make MindSpore fuse (cluster or expand) a node, as it does by default.

    The steps undo the flag that disables the node's operator type. Returns an empty tuple if
    MindSpore's default is not known to be safe for the node.
    """
    for name, default in _DEFAULT_OPERATORS.items():
        if node.op in default and _is_harmless(node, graph):
            return _enable_operator(node.op, name, given)
    return ()


def _is_harmless(node: Node, graph: Graph) -> bool:
    """Whether MindSpore's default fusion was verified to be correct for this node."""
    return node.op not in NEVER_ENABLED_OPERATORS and _dtypes(node, graph) <= ALL_DTYPES


def _combine_steps_or_none(steps: Sequence[tuple[_Step, ...]]) -> Suggestion | None:
    """Combines the steps for several refusals into one suggestion.

    Each element of `steps` has the steps that remove one refusal. Returns None if `steps` is empty,
    or if an element is empty because no steps are known.
    """
    if not steps or not all(steps):
        return None
    return _combine_steps([step for some in steps for step in some])


def _combine_steps(steps: Sequence[_Step]) -> Suggestion:
    """Combines steps (names to add to flags, or code changes) into one suggestion."""
    lists: dict[str, dict[str, None]] = {}
    for step in steps:
        if step.flag:
            lists.setdefault(step.flag, {})[step.name] = None
    return Suggestion(
        min((step.kind for step in steps), key=("code", "composite", "flag").index),
        "; ".join(dict.fromkeys(step.text for step in steps)),
        " ".join(f"--{flag}={','.join(names)}" for flag, names in lists.items()),
    )
