"""Creates the sentences, counts and table contents that all formats of the report share."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from math import isnan
from typing import Any

from ms_fusion.ledger import (
    Accuracy,
    CarriedKernel,
    FusedKernel,
    Ledger,
    RejectedCandidate,
    Suggestion,
    UnfusedEdge,
)
from ms_fusion.mindspore.flags.preset_table import shown_flags
from ms_fusion.report.units import (
    ABSENT_TEXT,
    bytes_text,
    count_text,
    percent_text,
    time_text,
    ulp_text,
)
from ms_fusion.report.verdicts import accuracy_verdict, has_clear_times, is_good, output_verdict
from tbe_impl.errors import pluralize

STEPS_SHOWN = 6
SECOND_PASS = " (relu in a second pass)"


def environment_text(ledger: Ledger) -> str:
    """Returns one line with the device, the processor, the MindSpore version and the preset.

    A preset is a named set of MindSpore's fusion flags.
    """
    environment = ledger.environment
    parts = [str(environment[key]) for key in ("device", "processor") if environment.get(key)]
    if environment.get("mindspore"):
        parts.append(f"MindSpore {environment['mindspore']}")
    if ledger.preset:
        parts.append(f"preset {ledger.preset}")
    return " · ".join(parts)


def flags_text(ledger: Ledger) -> str:
    """Returns the preset's name and the differences of the flags from the preset.

    A preset is a named set of fusion flags.
    """
    environment = ledger.environment
    return shown_flags(
        ledger.flags,
        ledger.preset,
        device=str(environment.get("device") or "CPU"),
        version=str(environment.get("mindspore") or "2.10.0"),
    )


def summary_numbers(ledger: Ledger) -> list[tuple[str, Any, Any, Any]]:
    """Returns (name, value without fusion, value with fusion, formatter) for each quantity.

    The quantities, such as time and launches, are in order of importance.
    """
    before, after = ledger.before, ledger.after
    return [
        ("time", before.time_us, after.time_us, time_text),
        ("launches", before.launches, after.launches, count_text),
        ("bytes moved", before.bytes_moved, after.bytes_moved, bytes_text),
        ("peak memory", before.peak_memory_bytes, after.peak_memory_bytes, bytes_text),
        ("nodes", before.nodes, after.nodes, count_text),
        ("edges", before.edges, after.edges, count_text),
    ]


def summary_rows(ledger: Ledger) -> list[tuple[str, str, str, str]]:
    """Returns the strings (name, value without fusion, value with fusion, change) to display."""
    clear = has_clear_times(ledger)
    return [
        (
            name,
            show(old),
            show(new),
            percent_text(new, old) if clear or name != "time" else ABSENT_TEXT,
        )
        for name, old, new, show in summary_numbers(ledger)
    ]


def spread_text(ledger: Ledger) -> str:
    """Returns a sentence on how whole calls were timed and how far their times spread.

    Returns an empty string if the spread is unknown.
    """
    spreads = ledger.before.time_spread_us, ledger.after.time_spread_us
    if None in spreads:
        return ""
    before, after = map(time_text, spreads)
    text = (
        f"Times are medians of calls in turns; half of the calls lie within ±{before} "
        f"before and ±{after} after"
    )
    return text + ("." if has_clear_times(ledger) else ": the two differ by no more than that.")


def difference_text(ledger: Ledger) -> str:
    """Returns a sentence about the difference between the outputs with and without fusion.

    Returns an empty string if no difference was measured.
    """
    ulp, absolute = ledger.output_max_ulp, ledger.output_max_abs
    if ulp is None and absolute is None:
        return ""
    if not ulp and not absolute:
        return "Outputs do not differ from the unfused run."
    if verdict := output_verdict(ledger):
        relative = f"{relative_text(ledger.output_max_rel)} of their largest value"
        return (
            f"Outputs differ from the unfused run by at most {relative} "
            f"({ulp_text(absolute)} absolute): {verdict}."
        )
    if ulp is None:
        return f"Outputs differ from the unfused run by at most {ulp_text(absolute)} (absolute)."
    rest = "" if absolute is None else f" ({ulp_text(absolute)} absolute)"
    return f"Outputs differ from the unfused run by at most {ulp_text(ulp)} ULP{rest}."


def fused_operators(ledger: Ledger) -> int:
    """Returns the number of original operators that run in fused kernels.

    An operator that is split over two kernels is counted once.
    """
    return len(
        {name for kernel in ledger.kernels for name in kernel.nodes if name in ledger.before.graph}
    )


def bytes_saved(kernel: FusedKernel) -> int | None:
    """Returns the bytes of memory traffic that a kernel saves compared to its separate operators.

    Returns None if the traffic of the separate operators was not counted.
    """
    return kernel.work_unfused.bytes - kernel.work.bytes if kernel.work_unfused.bytes else None


def worst_accuracy(accuracy: Iterable[Accuracy]) -> Accuracy | None:
    """Returns the `Accuracy` record with the largest error, or None if no record contains an error.

    Records for inputs with special values (``edges``) are considered only if there are no other
    records. The function compares relative errors if any is known, else errors in ULP.
    """
    entries = [entry for entry in accuracy if not isnan(entry.fused_max_ulp)]
    usual = [entry for entry in entries if entry.inputs != "edges"] or entries
    known = [entry for entry in usual if entry.fused_max_rel is not None]
    if known:
        return max(known, key=lambda entry: entry.fused_max_rel or 0.0)
    return max(usual, key=lambda entry: entry.fused_max_ulp, default=None)


def operators_text(operators: Sequence[str]) -> str:
    """Returns operator types in one line, such as ``Mul + 2×Add``.

    A sequence of equal types is written as one type with a count.
    """
    parts: list[tuple[str, int]] = []
    for operator in operators:
        if parts and parts[-1][0] == operator:
            parts[-1] = (operator, parts[-1][1] + 1)
        else:
            parts.append((operator, 1))
    return " + ".join(f"{count}×{name}" if count > 1 else name for name, count in parts)


def build_text(kernel: FusedKernel) -> str:
    """Returns a line that describes how ms_fusion's generator built the kernel.

    The line is empty for a kernel of another generator.
    """
    build = kernel.build
    if build is None:
        return ""
    if build.why:
        return f"by ms_fusion: not built, computed by its formulas in NumPy ({build.why})"
    steps = [
        f"{operators_text(step.operators)} by oneDNN{SECOND_PASS * bool(step.second_pass_bytes)}"
        if step.by == "onednn"
        else pluralize(step.nests, "loop nest")
        for step in build.steps[:STEPS_SHOWN]
    ]
    if len(build.steps) > STEPS_SHOWN:
        steps.append(f"{pluralize(len(build.steps) - STEPS_SHOWN, 'step')} more")
    took = "from the cache" if build.cached else f"built in {build.seconds:.2f} s"
    return f"by ms_fusion: {', '.join(steps)}; {took}"


def generators_text(ledger: Ledger) -> str:
    """Returns the names of the generators of all kernels, joined by "and".

    A name is ``ms_fusion``, ``MindSpore`` or ``ONNX Runtime``.
    """
    named = {"mindspore": "MindSpore", "onnxruntime": "ONNX Runtime"}
    found = sorted({kernel.generator for kernel in ledger.kernels})
    return " and ".join(named.get(one, one) for one in found)


def appearance(kernel: FusedKernel) -> tuple[object, ...]:
    """Returns a tuple of all properties of a kernel that its table row shows.

    Kernels with equal properties are shown in one row.
    """
    return (
        kernel.operators,
        kernel.name,
        build_text(kernel),
        kernel.sources,
        len(kernel.body),
        bytes_saved(kernel),
        kernel.unfused_time_us,
        kernel.time_us,
        kernel.predicted_saving_us,
        kernel.launches,
        error_texts(kernel),
    )


def group_identical_rows(kernels: Iterable[FusedKernel]) -> list[list[int]]:
    """Groups the kernels whose table rows are equal.

    Returns a list of groups, sorted by their first kernel. Each group is a list of indices into
    `kernels`.
    """
    found: dict[tuple[object, ...], list[int]] = {}
    for place, kernel in enumerate(kernels):
        found.setdefault(appearance(kernel), []).append(place)
    return list(found.values())


def error_texts(kernel: FusedKernel) -> tuple[str, str, bool]:
    """Returns (text of a kernel's largest error, remark, whether the error is harmless).

    The text contains the relative error, and the remark is a verdict on this error. If no relative
    error is known, the text contains the error in ULP. The remark then contains the error of the
    unfused operators in ULP.
    """
    entry = worst_accuracy(kernel.accuracy)
    if entry is None:
        return ABSENT_TEXT, "", True
    if entry.fused_max_rel is not None:
        verdict = accuracy_verdict(entry, kernel)
        return relative_text(entry.fused_max_rel), verdict, is_good(verdict)
    unfused = entry.unfused_max_ulp
    was = "" if unfused is None else f"was {ulp_text(unfused)}"
    return f"{ulp_text(entry.fused_max_ulp)} ULP", was, True


def relative_text(error: float | None) -> str:
    """Returns the text of a relative error, with two digits."""
    return ABSENT_TEXT if error is None else f"{error:.1e}" if error else "0"


def times_text(count: int) -> str:
    """Returns a count as text such as `` ×43``, or an empty string for a count of 1."""
    return f" ×{count:,}" if count > 1 else ""


def kernel_source_text(kernel: CarriedKernel) -> str:
    """Returns a text such as ``TBE function: swish_impl.py:26`` for a TBE operator, else ""."""
    return f"TBE function: {kernel.kernel_source}" if kernel.kernel_source else ""


def carried_text(ledger: Ledger) -> str:
    """Returns the net's custom operators by provider, as in ``2×AddReLU + Swish (custom_ops)``."""
    whose = dict.fromkeys(kernel.by for kernel in ledger.carried)
    return ", ".join(
        f"{operators_text([one.name for one in ledger.carried if one.by == by])} ({by})"
        for by in whose
    )


def saving_spread_text(kernel: FusedKernel) -> str:
    """Returns the spread of the measured saving as text, or "" if the spread is unknown."""
    spread = kernel.saving_spread_us
    return "" if spread is None else f"±{time_text(spread)}"


RejectionsByReason = list[tuple[str, list[list[RejectedCandidate]]]]


def rejection_sections(
    candidates: Sequence[RejectedCandidate],
) -> list[tuple[str, str, RejectionsByReason]]:
    """Returns the sections of the rejected fusion candidates: (title, count, groups by reason).

    Near misses are groups of operators that a rule nearly matches. They have a section of their
    own.
    """
    near = [one for one in candidates if one.saving_us is None]
    others = [one for one in candidates if one.saving_us is not None]
    return [
        (title, f"{len(some):,}", _group_rejections_by_reason(some))
        for title, some in (("Fusions not made", others), ("Near misses of rules", near))
        if some
    ]


def _group_rejections_by_reason(candidates: Iterable[RejectedCandidate]) -> RejectionsByReason:
    """Groups the rejected fusion candidates by the reason of their rejection.

    Returns (reason, groups of candidates) for each reason. The candidates of one group have the
    same operators and the same rule. Reasons, groups and candidates are ordered by predicted
    saving, largest first.
    """
    found: dict[str, dict[tuple[object, ...], list[RejectedCandidate]]] = {}
    for one in sorted(candidates, key=lambda one: -(one.saving_us or 0.0)):
        found.setdefault(one.reason, {}).setdefault((one.operators, one.rule), []).append(one)
    return [(reason, list(groups.values())) for reason, groups in found.items()]


def edges_at_stake(edges: Iterable[UnfusedEdge]) -> list[UnfusedEdge]:
    """Returns the unfused edges whose fusion would save memory traffic, by descending saving."""
    return sorted(
        (edge for edge in edges if edge.bytes_at_stake), key=lambda edge: -edge.bytes_at_stake
    )


def suggestions(edges: Iterable[UnfusedEdge]) -> list[tuple[Suggestion, int, int]]:
    """Returns a tuple for each suggestion: (suggestion, number of edges to fuse, bytes at stake).

    The bytes at stake are the memory traffic that the fusion of these edges would save. The
    suggestion with the most bytes comes first.
    """
    found: dict[Suggestion, list[int]] = {}
    for edge in edges:
        if edge.suggestion is not None:
            found.setdefault(edge.suggestion, []).append(edge.bytes_at_stake)
    rows = [(suggestion, len(stakes), sum(stakes)) for suggestion, stakes in found.items()]
    return sorted(rows, key=lambda row: -row[2])


def shorten(text: str, width: int) -> str:
    """Replaces the middle of `text` by … if `text` is longer than `width` characters.

    Names mostly differ at the end. So about two thirds of the remaining characters are from the end
    of `text`.
    """
    if len(text) <= width:
        return text
    head = max(0, (width - 1) // 3)
    return f"{text[:head]}…{text[len(text) - (width - 1 - head) :]}"
