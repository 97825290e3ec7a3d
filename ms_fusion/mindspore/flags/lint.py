"""Finds mistakes in a graph kernel flag string, since MindSpore ignores most mistakes silently.

MindSpore reports an unknown flag only in its log, and a wrong pass name only at process exit. A
name that is not in `ms_fusion.vocabulary` causes a warning if it resembles a known name. Other
unknown names cause only a note. `lint` never suggests a flag with the opposite meaning.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator
from dataclasses import dataclass

from ms_fusion.mindspore.flags.generator_limits import generator_of
from ms_fusion.mindspore.flags.graph_kernel_flags import FLAGS, NO_OPERATOR, convert, split_flags
from ms_fusion.ops import operator_info, selections
from ms_fusion.ops.op_info import FOR_OTHER_GENERATORS, Cluster, Expand
from ms_fusion.spelling import advise, near_names
from ms_fusion.vocabulary import Vocabulary, vocabulary


@dataclass(frozen=True)
class Finding:
    """A mistake or remark that `lint` or another check reports.

    Attributes:
        severity: ``error``, ``warning`` or ``note``. An error marks a flag that MindSpore would
            ignore or misread, or a flag that ends the process.
        code: short name of the kind of finding.
        message: the mistake, as one sentence.
        column: column in the flag string, counted from 1, or 0 if the finding has no column.
        nearest: the most similar valid name; empty if no valid name is similar.
        remedy: the suggested change.
        place: the Cell, operator or source line, if the finding is not about a flag string.
    """

    severity: str
    code: str
    message: str
    column: int = 0
    nearest: str = ""
    remedy: str = ""
    place: str = ""

    def __str__(self) -> str:
        where = (
            f"column {self.column}: " if self.column else f"{self.place}: " if self.place else ""
        )
        return f"{self.severity}: {where}{self.message}" + (
            f" {self.remedy}" if self.remedy else ""
        )


STAGES: dict[str, tuple[str, ...]] = {
    "preprocess": tuple(
        """getitem_tuple convert_input_to_attr depend_elimination cse1 save_output_shape
        split_assign spread_update_state graph_kernel_cse""".split()
    ),
    "cluster": tuple(
        """transpose_matmul_fusion floatstatus_fusion floatstatus_addn_fusion graph_kernel_expander
        graph_kernel_cluster convert_mix_type eliminate_redundant_output""".split()
    ),
    "highlevelopt1": tuple(
        """reorder_ops axis_normalizer insert_pad_ops arithmetic_simplify convert_bfloat16
        raise_reduction_precision graph_kernel_cse transform_op_optimizer""".split()
    ),
    "split": tuple(
        """extend_output_for_update_state shape_ops_splitter symbol_engine_builder
        shrink_only_shape_needed graph_kernel_splitter getitem_tuple
        merge_output_for_update_state graph_kernel_cse depend_edge_elimination
        eliminate_redundant_output""".split()
    ),
    "highlevelopt2": tuple(
        """graph_kernel_recompute atomic_clean stitch_atomic_clean tensor_inplace
        csr_atomic_add_process optimize_assign extend_output_for_update_state
        merge_output_for_update_state eliminate_redundant_output""".split()
    ),
    "combine": tuple(
        "fold_updatestates spread_update_state parallel_fusion compact_tensor_liveness".split()
    ),
    "build": tuple(
        """extend_output_for_update_state reduce_fake_output_memory
        graph_kernel_cluster_for_dynshape symbol_engine_builder dyn_graph_kernel_splitter
        graph_kernel_build generated_depend_elimination getitem_tuple
        merge_output_for_update_state""".split()
    ),
    "postprocess": tuple(
        """shrink_update_state getitem_tuple rewrite_output_shape set_infershape_funtor
        convert_attr_to_input bind_value_to_graph deal_with_side_effect add_attr
        convert_call_to_prim""".split()
    ),
}
"""The stages of graph kernel fusion, each with its passes, in the order of execution.

A flag names a pass by `stage.pass` or by the numbers of stage and pass, for example `3.7`.
"""

BACKEND_PASSES = frozenset(
    """replace_addn transpose_to_reshape FlashAttentionFusionV1 FlashAttentionFusionV2
    add_layer_norm_fusion add_layer_norm_v3_fusion add_layer_norm_ext_fusion
    inference_swiglu_fusion inference_matmul_split_fusion shape_reshape
    add_rms_norm_quant_fusion rms_norm_quant_fusion add_rms_norm_fusion
    add_cast_rms_norm_cast_fusion MatMulAllReduce split_concat_fusion matmul_elemwise_fusion
    inference_qbmm_add_fusion inference_qbmm_allreduce_add_fusion""".split()
)
"""Fusion passes of MindSpore's back end, which a flag names without a stage.

Of these passes, only `replace_addn` and `transpose_to_reshape` also exist on other devices than
Ascend.
"""

PATTERNS = {
    "elemwise_broadcast_fwd_depth": ("CPU", "GPU", "Ascend"),
    "elemwise_broadcast_fwd_width": ("CPU", "GPU", "Ascend"),
    "elemwise_broadcast_bwd_depth": ("CPU", "GPU", "Ascend"),
    "elemwise_broadcast_bwd_width": ("CPU", "GPU", "Ascend"),
    "reduce_fwd_depth": ("CPU", "GPU", "Ascend"),
    "reduce_fwd_width": ("CPU", "GPU", "Ascend"),
    "reshape": ("CPU", "GPU", "Ascend"),
    "isolate_reshape": ("CPU", "GPU"),
    "bind_virtual_node": ("CPU", "GPU", "Ascend"),
    "slice": ("Ascend",),
    "elemany_addn": ("Ascend",),
    "matmul_depth": ("Ascend",),
    "reduce_output_fuse": ("Ascend",),
    "transdata": ("Ascend",),
    "allreduce_fwd": ("Ascend",),
    "allreduce_bwd": ("Ascend",),
}
"""Patterns by which MindSpore joins operators in one kernel.

Each pattern is mapped to the devices that support it.
"""

REMOVED_FLAGS_NEGATED = {
    "enable_cse": "it never was a flag; it is the pass `graph_kernel_cse`: "
    "`--disable_pass=split.graph_kernel_cse`",
    "disable_cse": "it never was a flag; it is the pass `graph_kernel_cse`, which runs unless it "
    "is disabled: leave it out",
    "enable_low_precision": "it was removed, and nothing has less precision unless asked to: "
    "leave it out",
    "auto_tune": "it was removed, and nothing is tuned unless asked to: leave it out",
}
"""Maps a name in `REMOVED_FLAGS` to the remedy if the flag has a false value."""

REMOVED_FLAGS = {
    "auto_tune": "it was removed; online_tuning took its place, and kills the process on CPU",
    "cluster_limit": "it was removed; the size of a kernel is bounded by "
    "`--composite_op_limit_size=200`",
    "enable_low_precision": "it was removed; use automatic mixed precision (`mindspore.amp`) "
    "instead",
    "enable_cse": "it never was a flag; it is the pass `graph_kernel_cse`: "
    "`--enable_pass=split.graph_kernel_cse`",
    "disable_cse": "it never was a flag; it is the pass `graph_kernel_cse`: "
    "`--disable_pass=split.graph_kernel_cse`",
}
"""Flags of tutorials or older versions that MindSpore 2.10 does not know.

Each flag is mapped to a remedy.
"""

FATAL_FLAGS = {
    "kernel_generator": "MindSpore's own generator for this value does not exist on CPU",
    "online_tuning": "tuning does not run on CPU",
    "enable_dynamic_shape_fusion": "MindSpore 2.10 aborts in its shape inference on CPU",
}
"""Maps each flag with fatal values on CPU (metadata `killed_by`) to the reason."""


TRUE_TEXTS = ("true", "1", "yes", "on", "y", "t")
FALSE_TEXTS = ("false", "0", "no", "off", "n", "f", "none")


def lint(
    text: str,
    *,
    device: str = "CPU",
    generator: str | None = None,
    version: str | None = None,
    base: str = "",
) -> tuple[Finding, ...]:
    """Returns all findings in a flag string, sorted by column.

    Args:
        text: the flag string, as in `MS_DEV_GRAPH_KERNEL_FLAGS` or
            `JitConfig(graph_kernel_flags=…)`.
        device: ``CPU``, ``GPU`` or ``Ascend``.
        generator: generator of the kernels on CPU, ``mindspore`` or ``ms_fusion``. The default is
            the generator that `base` and `text` select.
        version: MindSpore version that defines the valid names of operators and passes. The default
            is the installed version, or the newest known version if MindSpore is not installed.
        base: flags into which the user will merge `text`, as with `enable`.
    """
    builds = generator or generator_of(f"{base} {text}")
    where = _LintContext(device, builds, vocabulary(version), _expanded_operators(f"{base} {text}"))
    return tuple(sorted(_findings(text, where), key=lambda item: item.column))


@dataclass(frozen=True)
class _LintContext:
    """The device, generator and operators for which a flag string is checked.

    Attributes:
        device: ``CPU``, ``GPU`` or ``Ascend``.
        generator: generator of the kernels on CPU.
        known: names of the operators and passes of the MindSpore version in use.
        expanded: operators that MindSpore, under the flag string, expands into basic operators on
            CPU.
    """

    device: str
    generator: str
    known: Vocabulary
    expanded: frozenset[str]


def _expanded_operators(text: str) -> frozenset[str]:
    """Returns the operators that MindSpore expands into basic ones on CPU with flags `text`."""
    lists: dict[str, set[str]] = {}
    for _, key, value in split_flags(text):
        lists.setdefault(key or "", set()).update(filter(None, (value or "").split(",")))
    asked, out = lists.get("enable_expand_ops", set()), lists.get("disable_expand_ops", set())
    return frozenset(
        lists.get("enable_expand_ops_only") or (selections.CPU_EXPAND_OPS | asked) - out
    )


def _findings(text: str, where: _LintContext) -> Iterator[Finding]:
    seen: dict[str, int] = {}
    for column, key, value in split_flags(text):
        if key is None:
            yield _unknown_flag_finding(column, value or "")
            continue
        if key in seen:
            yield Finding(
                "error",
                "repeated",
                f"`--{key}` is given twice (first in column {seen[key]}).",
                column,
                remedy="Write it once, names joined by commas."
                if key in FLAGS and FLAGS[key].metadata["kind"] == "list"
                else "Write it once.",
            )
        seen.setdefault(key, column)
        if key in REMOVED_FLAGS:
            instead = REMOVED_FLAGS[key]
            if (value or "").lower() in FALSE_TEXTS and key in REMOVED_FLAGS_NEGATED:
                instead = REMOVED_FLAGS_NEGATED[key]
            yield Finding(
                "error", "gone", f"MindSpore 2.10 has no flag `--{key}`: {instead}.", column
            )
            continue
        if key not in FLAGS:
            near = near_names(key, FLAGS)
            remedy = advise(f"--{name}" for name in near)
            message = f"MindSpore has no flag `{_shorten(key)}`."
            yield Finding("error", "unknown", message, column, near[0] if near else "", remedy)
            continue
        yield from _value_findings(key, value, column, where)
    if seen and "opt_level" not in seen and "path" not in seen:
        yield Finding(
            "warning",
            "off",
            "without `--opt_level` nothing is fused when these flags come from the environment.",
            1,
            remedy="Write `--opt_level=2`.",
        )
    for only, others in (
        ("enable_expand_ops_only", ("enable_expand_ops", "disable_expand_ops")),
        ("enable_cluster_ops_only", ("enable_cluster_ops", "disable_cluster_ops")),
        ("enable_fusion_pattern_only", ("disable_fusion_pattern",)),
        ("enable_simplify_exprs_only", ("disable_simplify_exprs",)),
    ):
        for other in others:
            if only in seen and other in seen:
                yield Finding(
                    "warning",
                    "ignored",
                    f"`--{other}` has no effect beside `--{only}`.",
                    seen[other],
                    nearest=only,
                )


def _unknown_flag_finding(column: int, word: str) -> Finding:
    name = word.lstrip("-").partition("=")[0]
    if "," in word and "=" not in word:
        remedy = "A list holds no spaces: `--enable_cluster_ops=Div,Erf`."
    elif name in FLAGS:
        remedy = f"Write `--{word.lstrip('-')}`."
    else:
        remedy = "Write `--key=value`."
    return Finding("error", "no-flag", f"`{_shorten(word)}` is not a flag.", column, remedy=remedy)


def _value_findings(
    key: str, value: str | None, column: int, where: _LintContext
) -> Iterator[Finding]:
    data = FLAGS[key].metadata
    try:
        parsed = convert(key, value)
    except ValueError as problem:
        got = "nothing" if value is None else f"`{_shorten(value)}`"
        meant = _suggested_values(key, value or "")
        if where.device == "CPU" and any(str(one) in meant for one in data["killed_by"]):
            remedy = "Leave it out."
        else:
            remedy = advise(f"--{key}={one}" for one in meant)
        near = meant[0] if data["kind"] == "str" and meant else ""
        yield Finding(
            "error",
            "value",
            f"`--{key}` takes {problem}, not {got}.",
            column,
            near,
            remedy or "Write one of these values, or leave it out.",
        )
        return
    if where.device == "CPU" and parsed in data["killed_by"]:
        yield Finding(
            "error",
            "fatal",
            f"`--{key}={value}` kills the process: {FATAL_FLAGS[key]}.",
            column,
            remedy="Leave it out.",
        )
    if not data["names"]:
        return
    position = column + len(key) + 3
    for name in parsed:
        yield from _name_findings(key, name, position, where)
        position += len(name) + 1


def _suggested_values(key: str, value: str) -> tuple[str, ...]:
    """Returns a tuple of the valid values that resemble the wrong `value`.

    >>> _suggested_values("opt_level", "9"), _suggested_values("enable_stitch_fusion", "True")
    (('3',), ('true',))
    >>> _suggested_values("opt_level", "off"), _suggested_values("opt_level", "high")
    (('0',), ())
    """
    data = FLAGS[key].metadata
    text = value.lower()
    if data["kind"] == "bool":
        return ("true",) if text in TRUE_TEXTS else ("false",) if text in FALSE_TEXTS else ()
    if data["kind"] == "str":
        return near_names(value, [str(one) for one in data["choices"]])
    if data["kind"] != "int":
        return ()
    written = re.search(r"-?\d{1,18}", value)
    if written is None:
        if key == "opt_level" and (not value or text in TRUE_TEXTS):
            return ("2",)
        return ("0",) if text in FALSE_TEXTS and 0 in data["choices"] else ()
    number = int(written[0])
    if data["choices"]:
        return (str(min(data["choices"], key=lambda one: abs(one - number))),)
    return (str(number if data["minimum"] is None else max(number, data["minimum"])),)


def _name_findings(key: str, name: str, column: int, where: _LintContext) -> Iterator[Finding]:
    kind = FLAGS[key].metadata["names"]
    if kind == "operator":
        if name != NO_OPERATOR and name not in where.known.operators:
            yield _unknown_name_finding("operator", name, where.known.operators, column, where)
        elif where.device == "CPU" and key in ("enable_cluster_ops", "enable_cluster_ops_only"):
            yield from _cluster_findings(name, column, where)
    elif kind == "pattern":
        if name not in PATTERNS:
            yield _unknown_name_finding("fusion pattern", name, PATTERNS, column, where)
        elif where.device not in PATTERNS[name]:
            devices = ", ".join(PATTERNS[name])
            yield Finding(
                "warning", "device", f"the pattern `{name}` exists on {devices} only.", column
            )
    elif kind == "pass":
        yield from _pass_findings(name, column, where)
    elif kind == "number" and not re.fullmatch(r"[1-9]\d{0,3}", name):
        yield Finding(
            "error",
            "value",
            f"`--{key}` takes numbers of rewritings, not `{_shorten(name)}`.",
            column,
            remedy="MindSpore's `arithmetic_simplify.cc` numbers them from 1.",
        )


def _cluster_findings(name: str, column: int, where: _LintContext) -> Iterator[Finding]:
    by_mindspore = where.generator == "mindspore"
    # MindSpore's generator cannot build an expandable operator unless MindSpore expands it. Our
    # generator can build the operators that these flags do not expand.
    known = operator_info(name)
    faults, cluster = known.mindspore_generator, known.mindspore.cluster
    can_expand = known.mindspore.expand is not Expand.NEVER
    if not by_mindspore and known.excluded:
        yield Finding(
            "warning",
            "kept-out",
            f"`{name}` stays out of the groups: {known.excluded}.",
            column,
        )
    elif by_mindspore and faults.crashes and not faults.crash_dtypes:
        yield Finding(
            "error",
            "fatal",
            f"clustering `{name}` kills MindSpore's own CPU generator.",
            column,
            remedy="Leave it out.",
        )
    elif by_mindspore and faults.wrong:
        yield Finding(
            "warning",
            "wrong",
            f"`{name}` is wrong when fused: {faults.wrong}.",
            column,
        )
    elif by_mindspore and cluster in FOR_OTHER_GENERATORS:
        yield Finding(
            "warning",
            "generator",
            f"MindSpore's own CPU generator cannot build `{name}`.",
            column,
            remedy="Leave it out.",
        )
    elif (can_expand if by_mindspore else name in where.expanded) and cluster is Cluster.NEVER:
        yield Finding(
            "warning",
            "expand",
            f"`{name}` is expanded, not clustered.",
            column,
            remedy=f"Write `--enable_expand_ops={name}`.",
        )


def _pass_findings(name: str, column: int, where: _LintContext) -> Iterator[Finding]:
    passes = where.known.passes
    if name in BACKEND_PASSES or name in passes[where.device]:
        return
    devices = [device for device, names in passes.items() if name in names]
    if devices:
        message = f"the pass `{name}` exists on {', '.join(devices)} only."
        yield Finding("warning", "device", message, column)
        return
    numbers = re.fullmatch(r"(\d+)\.(\d+)", name)
    if numbers:
        stage, number = int(numbers[1]), int(numbers[2])
        stages = list(STAGES.items())
        if stage >= len(stages):
            message = f"there is no stage {stage}; stages go from 0 to {len(stages) - 1}."
            yield Finding("error", "unknown", message, column)
        elif number >= len(stages[stage][1]):
            message = (
                f"stage {stage} (`{stages[stage][0]}`) has passes 0 to "
                f"{len(stages[stage][1]) - 1}, not {number}."
            )
            yield Finding("error", "unknown", message, column)
        return
    stage_name, dot, pass_name = name.partition(".")
    if not dot:
        every = [
            f"{stage}.{item}" for stage, items in STAGES.items() for item in items if item == name
        ]
        if every:
            yield Finding(
                "error",
                "unknown",
                f"a pass is named with its stage, `{name}` alone has no effect.",
                column,
                every[0],
                f"Write `{'` or `'.join(every)}`.",
            )
        else:
            every = [*BACKEND_PASSES, *passes[where.device], *_pass_names()]
            yield _unknown_name_finding("pass", name, every, column, where)
    elif stage_name not in STAGES or pass_name not in STAGES[stage_name]:
        yield _unknown_name_finding("pass", name, _pass_names(), column, where)


def _pass_names() -> list[str]:
    return [f"{stage}.{name}" for stage, names in STAGES.items() for name in names]


def _unknown_name_finding(
    kind: str, name: str, valid: Iterable[str], column: int, where: _LintContext
) -> Finding:
    near = near_names(name, valid)
    message = f"`{_shorten(name)}` is no {kind} that is known of MindSpore {where.known.version}."
    severity = "warning" if near else "note"
    return Finding(severity, "unknown", message, column, near[0] if near else "", advise(near))


def _shorten(text: str) -> str:
    cut = text if len(text) <= 60 else text[:57] + "…"
    return cut if cut.isprintable() else repr(cut)[1:-1]
