"""Defines the ledger's frozen records: fused kernels ↔ operators, unfused edges, measurements.

`ms_fusion.capture.operator_join` fills them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ms_fusion.graph import Graph, Source, Value


@dataclass(frozen=True)
class Stages:
    """The four stages of running one kernel once, in µs: launch, read, compute, write (modelled)."""

    launch_us: float
    read_us: float
    compute_us: float
    write_us: float

    @property
    def total_us(self) -> float:
        """Launch + max(read + write, compute): memory traffic and computation overlap."""
        return self.launch_us + max(self.read_us + self.write_us, self.compute_us)


@dataclass(frozen=True)
class Work:
    """What running something once costs.

    Attributes:
        flops: floating-point operations (an exp counts as the number in `ms_fusion.cost`).
        bytes_read: bytes read from memory.
        bytes_written: bytes written to memory.
        launches: kernels launched.
    """

    flops: int = 0
    bytes_read: int = 0
    bytes_written: int = 0
    launches: int = 0

    def __add__(self, other: Work) -> Work:
        return Work(
            self.flops + other.flops,
            self.bytes_read + other.bytes_read,
            self.bytes_written + other.bytes_written,
            self.launches + other.launches,
        )

    @property
    def bytes(self) -> int:
        return self.bytes_read + self.bytes_written

    @property
    def arithmetic_intensity(self) -> float:
        """FLOP per byte moved; 0 when nothing moves."""
        return self.flops / self.bytes if self.bytes else 0.0


@dataclass(frozen=True)
class Accuracy:
    """One fused kernel against float64, beside its unfused operators against the same float64.

    `inputs` says what it was fed: ``captured`` (what it received in this run), ``seeded`` or ``edges`` (with NaN, ±inf, ±0).
    ULP are of the output's dtype; near 0 they say little. `fused_max_rel` and `unfused_max_rel` are relative to the largest
    magnitude of the output.
    """

    inputs: str
    fused_max_ulp: float
    fused_max_abs: float
    unfused_max_ulp: float | None = None
    unfused_max_abs: float | None = None
    note: str = ""
    fused_max_rel: float | None = None
    unfused_max_rel: float | None = None


@dataclass(frozen=True)
class BuildStep:
    """A part of a kernel that our generator built; they run one after the other.

    Attributes:
        by: ``c`` (loop nests of ours), ``onednn`` (one call of that library), or ``numpy`` (formulas: it could not be built).
        operators: the basic operators that it computes.
        nests: loop nests, of ``c``.
        second_pass_bytes: bytes of its result that it reads and writes once more: relu is a pass
            over the product, since oneDNN's own turns NaN into 0.
    """

    by: str
    operators: tuple[str, ...]
    nests: int = 0
    second_pass_bytes: int = 0


@dataclass(frozen=True)
class Build:
    """How our generator built a kernel.

    Attributes:
        steps: in the order in which they run.
        seconds: how long it took, s.
        cached: whether the code was in the cache of kernels, so that no compiler ran.
        why: what stood in the way, for a kernel that is computed by its formulas; else empty.
    """

    steps: tuple[BuildStep, ...]
    seconds: float = 0.0
    cached: bool = False
    why: str = ""

    @property
    def second_passes(self) -> Work:
        """Traffic of the steps beyond reading the kernel's inputs and writing its outputs."""
        moved = sum(step.second_pass_bytes for step in self.steps)
        return Work(bytes_read=moved, bytes_written=moved)


@dataclass(frozen=True)
class FusedKernel:
    """One kernel that the generator built out of two or more operators.

    Attributes:
        name: the kernel's own name (``Fused_Mul_Add_fusion_…``), else its full name.
        full_name: full name with scope in the compiled graph, as the profiler prints it.
        operators: types of the original operators, in order.
        nodes: their full names, in the same order.
        body: types of the basic operators that were compiled, in order; `body_graph` holds them whole.
        inputs, outputs: what it reads and writes.
        sources: places in the user's code, one for each distinct line.
        work: what it costs; `work_unfused`: what its operators cost apart.
        stages: its four stages; `stages_unfused`: those of each operator apart, in order.
        bound: ``memory`` or ``compute``: the roof that bounds it.
        launches: how often it ran in this capture (the receipt); None when nothing ran.
        time_us, unfused_time_us: measured, per call, medians; None when not measured.
        time_spread_us, unfused_time_spread_us: half the distance between their quartiles.
        predicted_saving_us: from the model; measured_saving_us: unfused − fused.
        accuracy: against float64, one entry for each kind of inputs.
        generator: who built it: ``mindspore``, ``ms_fusion``, or ``onnxruntime`` for operators of its own.
        build: how, where `generator` is ours.
    """

    name: str
    full_name: str
    operators: tuple[str, ...]
    nodes: tuple[str, ...]
    body: tuple[str, ...]
    body_graph: Graph = field(repr=False)
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    sources: tuple[Source, ...] = ()
    work: Work = Work()
    work_unfused: Work = Work()
    stages: Stages | None = None
    stages_unfused: tuple[Stages, ...] = ()
    bound: str = "memory"
    launches: int | None = None
    time_us: float | None = None
    unfused_time_us: float | None = None
    predicted_saving_us: float | None = None
    accuracy: tuple[Accuracy, ...] = ()
    generator: str = "mindspore"
    build: Build | None = None
    subgraph: str = ""
    time_spread_us: float | None = None
    unfused_time_spread_us: float | None = None

    @property
    def saving_spread_us(self) -> float | None:
        """Spread of `measured_saving_us`; a smaller saving is not significant."""
        if self.time_spread_us is None or self.unfused_time_spread_us is None:
            return None
        return math.hypot(self.time_spread_us, self.unfused_time_spread_us)

    @property
    def measured_saving_us(self) -> float | None:
        if self.time_us is None or self.unfused_time_us is None:
            return None
        return self.unfused_time_us - self.time_us


@dataclass(frozen=True)
class CarriedKernel:
    """A kernel that the net brings along as a custom operator; whoever builds the others, it stays as it is.

    Attributes:
        name: of the operator, such as ``AddReLU``.
        full_name: full name with scope, as the profiler prints it.
        by: who fused it: ``custom_ops``, ``auto_fuse`` (a group of an ONNX model) or ``user``.
        inputs, outputs: what it reads and writes.
        sources: places in the user's code.
        launches: how often it ran in this capture (the receipt); None when nothing ran.
        time_us: measured, per run; None when not measured.
        operators: types of the operators that it was fused out of, in order, where it says so.
        kernel_source: where the function of a TBE operator is written; None for other kernels.
    """

    name: str
    full_name: str
    by: str
    inputs: tuple[Value, ...]
    outputs: tuple[Value, ...]
    sources: tuple[Source, ...] = ()
    launches: int | None = None
    time_us: float | None = None
    operators: tuple[str, ...] = ()
    kernel_source: Source | None = None


@dataclass(frozen=True)
class RejectedCandidate:
    """Operators that might have become one kernel and did not.

    Attributes:
        rule: what found them.
        kind: ``intra-operator``, ``cross-operator`` or ``pipeline``.
        operators: their types, in order.
        nodes: their names, in the same order.
        saving_us: what the model says the kernel would save; negative where it would be slower.
        reason: why it was not made, with the number that decided.
    """

    rule: str
    kind: str
    operators: tuple[str, ...]
    nodes: tuple[str, ...]
    saving_us: float
    reason: str


@dataclass(frozen=True)
class Suggestion:
    """The smallest change that would make an edge fuse.

    `kind` is ``flag`` (then `flags` holds what is to be merged into the flags in force, as ``flags=`` of `enable` does),
    ``composite`` or ``code``.
    """

    kind: str
    text: str
    flags: str = ""


@dataclass(frozen=True)
class UnfusedEdge:
    """An edge whose two ends did not land in one kernel, with the reason.

    Attributes:
        producer, consumer: full names of the original operators; an empty consumer means that the value leaves the
            sub-graph (control flow).
        producer_op, consumer_op: their types.
        value: what flows.
        reason: a code of `ms_fusion.why_not.REASONS`.
        detail: one sentence with this edge's own facts.
        bytes_at_stake: bytes that one kernel would not have moved.
        suggestion: the smallest change that would fuse it, when one is known to work.
    """

    producer: str
    consumer: str
    producer_op: str
    consumer_op: str
    value: Value
    reason: str
    detail: str
    bytes_at_stake: int
    suggestion: Suggestion | None = None
    producer_source: Source | None = None
    consumer_source: Source | None = None


@dataclass(frozen=True)
class HotSpot:
    """An operator or fused kernel that takes a large share of the time, with what bounds it and what helps.

    `time_us` is the median of its runs, for one call; `spread_us` half the distance between the quartiles.
    """

    node: str
    op: str
    time_us: float
    share: float
    detail: str
    remedy: str = ""
    source: Source | None = None
    spread_us: float | None = None


@dataclass(frozen=True)
class Summary:
    """A whole graph in numbers; `graph` is the graph itself.

    `time_us` is the median of whole calls, `time_spread_us` half the distance between their quartiles.
    """

    graph: Graph = field(repr=False)
    nodes: int
    edges: int
    launches: int
    bytes_moved: int
    peak_memory_bytes: int
    flops: int
    time_us: float | None = None
    time_spread_us: float | None = None


@dataclass(frozen=True)
class SeenShape:
    """One set of shapes that a specialised net was called with.

    Attributes:
        shapes: of its inputs (``8x128:float32``).
        padded_to: the batch size it was padded to; 0 when it was not.
        reason: why it was not padded though there are buckets.
        calls: how often.
        compilations: how often MindSpore compiled for it; 0 when its bucket was there already.
        seconds: what those took, each with one call.
        kept: whether its compilation is still there.
    """

    shapes: str
    padded_to: int = 0
    reason: str = ""
    calls: int = 0
    compilations: int = 0
    seconds: float = 0.0
    kept: bool = True

    def __str__(self) -> str:
        parts = [f"{self.shapes}: {self.calls} call{'s' * (self.calls != 1)}"]
        if self.padded_to:
            parts.append(f"padded to {self.padded_to}")
        if self.reason:
            parts.append(f"not padded: {self.reason}")
        if self.compilations:
            times = f"{self.compilations} × " if self.compilations > 1 else ""
            parts.append(f"compiled {times}in {self.seconds:.1f} s")
        if not self.kept:
            parts.append("dropped")
        return ", ".join(parts)


@dataclass(frozen=True)
class Ledger:
    """Everything that is known of one net's fusion.

    `warnings` is what must be known before the numbers are read: each form of the report begins with it.
    `output_max_abs`, `output_max_ulp` and `output_max_rel` (of the largest magnitude) say how far outputs are from the unfused
    run's.

    `kernels` holds fusions only: two or more operators in the body. A generated kernel with one operator stands in
    `single_operator_kernels`, and what the net brought along in `carried`.
    """

    title: str
    kernels: tuple[FusedKernel, ...]
    unfused: tuple[UnfusedEdge, ...]
    before: Summary
    after: Summary
    single_operator_kernels: tuple[FusedKernel, ...] = ()
    carried: tuple[CarriedKernel, ...] = ()
    hot_spots: tuple[HotSpot, ...] = ()
    environment: Mapping[str, Any] = field(default_factory=dict)
    flags: str = ""
    preset: str = ""
    notes: tuple[str, ...] = ()
    output_max_ulp: float | None = None
    output_max_abs: float | None = None
    shapes: tuple[SeenShape, ...] = ()
    rejected: tuple[RejectedCandidate, ...] = ()
    output_max_rel: float | None = None
    warnings: tuple[str, ...] = ()

    def __post_init__(self) -> None:
        object.__setattr__(self, "environment", _freeze(self.environment))

    def __repr__(self) -> str:
        """Returns a summary of the ledger in one line; `str` returns the whole ledger."""
        return (
            f"Ledger({self.title!r}, {len(self.kernels)} fused kernels, "
            f"{len(self.unfused)} edges not fused, "
            f"{self.before.launches} launches unfused, {self.after.launches} fused)"
        )

    def __str__(self) -> str:
        """Returns the ledger as plain text of 100 columns."""
        return str(_report_module("text").to_text(self))

    def to_html(self, path: str | Path | None = None) -> str | Path:
        """Returns the text of one self-contained page; with `path`, writes it and returns the path.

        Raises:
            InputError: the directory does not exist or is not writable.
        """
        page: str = _report_module("html").to_html(self)
        if path is None:
            return page
        written: Path = _report_module("write").write_text(path, page)
        return written

    def to_json(self, path: str | Path | None = None) -> str:
        """Returns the ledger as JSON (docs/ledger.schema.json); with `path`, also writes it there.

        Raises:
            InputError: the directory does not exist or is not writable.
        """
        text: str = _report_module("document").to_json(self)
        if path is not None:
            _report_module("write").write_text(path, text)
        return text

    @classmethod
    def from_json(cls, text: str | bytes, *, file: str = "<ledger>") -> Ledger:
        """Parse the output of `to_json`; `file` is named in errors.

        Raises:
            ParseError: the text is damaged, or of another schema version.
        """
        ledger: Ledger = _report_module("document").from_json(text, file=file)
        return ledger

    def _repr_html_(self) -> str:
        """Returns static HTML without scripts, for a notebook."""
        return str(_report_module("notebook").to_static_html(self))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Returns the notebook output: HTML, and plain text for front ends without HTML."""
        return {"text/plain": str(self), "text/html": self._repr_html_()}


def _report_module(module: str) -> Any:
    """Imports a report module on first use, because the report modules import this one."""
    return import_module(f"ms_fusion.report.{module}")


def _freeze(value: Any) -> Any:
    """Recursively copy mappings and convert lists to tuples."""
    if isinstance(value, Mapping):
        return {str(key): _freeze(item) for key, item in value.items()}
    return tuple(map(_freeze, value)) if isinstance(value, list | tuple) else value
