"""Defines the ledger's frozen records of fused kernels, unfused edges and measurements.

The ledger is the record of fused and unfused operators of one net. `ms_fusion.capture.assemble`
creates these records.

This module exceeds 500 lines because the records make up one document, whose JSON schema follows
from them.
"""

from __future__ import annotations

import math
from collections.abc import Mapping
from dataclasses import dataclass, field
from importlib import import_module
from pathlib import Path
from typing import Any

from ms_fusion.graph import Graph, Source, Value
from tbe_impl.errors import pluralize


@dataclass(frozen=True)
class Stages:
    """The modelled stages of one run of one kernel.

    Attributes:
        launch_us: time of the launch, µs.
        read_us: time of reading from memory, µs.
        compute_us: time of the arithmetic, µs.
        write_us: time of writing to memory, µs.
    """

    launch_us: float
    read_us: float
    compute_us: float
    write_us: float

    @property
    def total_us(self) -> float:
        """Total time of a run, µs: launch + max(read + write, compute).

        The formula assumes that memory traffic and arithmetic overlap.
        """
        return self.launch_us + max(self.read_us + self.write_us, self.compute_us)


@dataclass(frozen=True)
class Work:
    """The cost of one run of a kernel, an operator or a graph.

    Attributes:
        flops: floating-point operations; `ms_fusion.ops` defines the number for each operator.
        bytes_read, bytes_written: bytes read from memory and written to memory.
        launches: number of launched kernels.
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
        """FLOP per moved byte, or 0 if the work moves no bytes."""
        return self.flops / self.bytes if self.bytes else 0.0


@dataclass(frozen=True)
class Accuracy:
    """Errors of a fused kernel and of its unfused operators, compared to the same float64 result.

    Attributes:
        inputs: kind of the inputs: ``captured`` (the inputs in this run), ``seeded`` (random), or
            ``edges`` (with NaN, ±inf, ±0).
        fused_max_ulp, unfused_max_ulp: largest error in ULP of the output's dtype. An error in ULP
            is not meaningful for results near 0.
        fused_max_abs, unfused_max_abs: largest absolute error.
        note: sentences about mismatches of NaN and infinity, unwritten outputs, and failures; empty
            if there are none.
        fused_max_rel, unfused_max_rel: largest error, relative to the largest magnitude of the
            output. The errors of the unfused operators are None if these operators were not run.
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
    """One step of a kernel that our generator built; the steps of a kernel run in sequence.

    Attributes:
        by: implementation of the step: ``c`` (our loop nests), ``onednn`` (one call of oneDNN), or
            ``numpy`` (NumPy formulas). ``numpy`` is used only if the kernel could not be built.
        operators: the basic operators of the step.
        nests: number of loop nests of a ``c`` step, or 0 for all other steps.
        second_pass_bytes: bytes of the result that the step reads and writes again, in a second
            pass. For example, our own relu after a oneDNN product is a second pass, because
            oneDNN's relu turns NaN into 0.
    """

    by: str
    operators: tuple[str, ...]
    nests: int = 0
    second_pass_bytes: int = 0


@dataclass(frozen=True)
class Build:
    """The build of a kernel by our generator.

    Attributes:
        steps: the steps of the kernel, in execution order.
        seconds: build time, s.
        cached: whether the kernel cache contained the code, so that no compiler ran.
        why: reason why the kernel could not be built; empty if the kernel was built. NumPy computes
            a kernel that could not be built.
    """

    steps: tuple[BuildStep, ...]
    seconds: float = 0.0
    cached: bool = False
    why: str = ""

    @property
    def second_passes(self) -> Work:
        """Memory traffic of all second passes, in addition to the kernel's own reads and writes."""
        moved = sum(step.second_pass_bytes for step in self.steps)
        return Work(bytes_read=moved, bytes_written=moved)


@dataclass(frozen=True)
class FusedKernel:
    """One kernel that a generator built from two or more operators.

    Attributes:
        name: short name of the kernel (``Fused_Mul_Add_fusion_…``), else its full name.
        full_name: full name with scope in the compiled graph, as the profiler prints it.
        operators: types of the original operators, in order.
        nodes: full names of the original operators, in the order of `operators`.
        body: types of the compiled basic operators, in order.
        body_graph: graph of the compiled basic operators.
        inputs, outputs: values that the kernel reads and writes.
        sources: places in the user's code, one for each distinct line.
        work: cost of one run of the kernel.
        work_unfused: cost of one run of the kernel's operators as separate kernels.
        stages: modelled stages of the kernel; None if no cost model was used.
        stages_unfused: modelled stages of each operator as a separate kernel, in order.
        bound: the limit of the kernel in the roofline model: ``memory`` or ``compute``.
        launches: number of launches in this capture, or None if nothing ran.
        time_us: median measured time per call of the kernel, µs, or None if it was not measured.
        unfused_time_us: median measured time per call of the kernel's operators as separate
            kernels, µs, or None if it was not measured.
        predicted_saving_us: saving per call that the cost model predicts, µs; None if no cost model
            was used.
        accuracy: errors against float64, one entry for each kind of inputs.
        generator: generator that built the kernel: ``mindspore``, ``ms_fusion`` or ``onnxruntime``.
        build: record of the build, or None unless `generator` is ``ms_fusion``.
        subgraph: name of the compiled sub-graph that contains the kernel.
        time_spread_us, unfused_time_spread_us: half the interquartile range of the times that
            `time_us` and `unfused_time_us` summarise, µs.
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
        """Spread of `measured_saving_us`, µs; a saving below the spread is not significant."""
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
    """A kernel of a custom operator of the net, which no generator changes.

    Attributes:
        name: name of the operator, such as ``AddReLU``.
        full_name: full name with scope, as the profiler prints it.
        by: provider of the kernel: ``custom_ops``, ``auto_fuse`` (kernel of a group of an ONNX
            model) or ``user``.
        inputs, outputs: values that the kernel reads and writes.
        sources: places in the user's code.
        launches: number of launches in this capture, or None if nothing ran.
        time_us: measured time per run, µs, or None if it was not measured.
        operators: types of the fused operators, in order; empty if they are not recorded.
        kernel_source: source location of a TBE operator's function, or None for other kernels.
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
    """A group of operators that was considered as one kernel and rejected.

    Attributes:
        rule, kind: name and kind of the rule that found the group.
        operators: types of the operators, in order.
        nodes: names of the operators, in the order of `operators`.
        saving_us: modelled saving, µs; negative if the kernel would be slower. None if the rule
            refused the match for another reason than the cost.
        reason: reason for the rejection, including the decisive number.
        source: place in the user's code, or None if unknown.
    """

    rule: str
    kind: str
    operators: tuple[str, ...]
    nodes: tuple[str, ...]
    saving_us: float | None
    reason: str
    source: Source | None = None


@dataclass(frozen=True)
class Suggestion:
    """The smallest change that would fuse an edge.

    Attributes:
        kind: kind of the change: ``flag`` (add flags), ``composite`` (use basic operators instead
            of a composite one) or ``code`` (another change of the user's code).
        text: the change, in words.
        flags: the flags to merge into the current flags. `enable` merges its argument ``flags=`` in
            the same way. Empty if `kind` is not ``flag``.
    """

    kind: str
    text: str
    flags: str = ""


@dataclass(frozen=True)
class UnfusedEdge:
    """An edge between two kernels, with the reason why the edge was not fused.

    Attributes:
        producer: full name of the original operator that produces the value.
        consumer: full name of the original operator that reads the value; empty if the value leaves
            the sub-graph (control flow).
        producer_op, consumer_op: types of producer and consumer.
        value: the value that flows along the edge.
        reason: a code of `ms_fusion.why_not.REASONS`.
        detail: one sentence with the facts of this edge.
        bytes_at_stake: bytes of memory traffic that would be saved if the edge were fused.
        suggestion: the smallest change that would fuse the edge, or None if no effective change is
            known.
        producer_source, consumer_source: places in the user's code, or None if unknown.
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
    """An operator or fused kernel with a large share of the time.

    Attributes:
        node: name of the node.
        op: type of the operator, or the types of the operators of a fused kernel.
        time_us: median time per call, µs.
        share: fraction of the total time.
        detail: the facts that limit the speed of the operator or kernel, in words.
        remedy: a change that would make the operator or kernel faster; empty if none is known.
        source: place in the user's code, or None if unknown.
        spread_us: half the interquartile range of the times per call, µs, or None if it was not
            measured.
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
    """A graph and its totals.

    Attributes:
        graph: the graph.
        nodes: number of operators that compute something.
        edges: number of values that flow between these operators.
        launches: kernels launched per call.
        bytes_moved: bytes that all kernels read and write per call.
        peak_memory_bytes: largest total size of values that are alive at once, including weights,
            in bytes.
        flops: floating-point operations per call.
        time_us: median time of whole calls, µs, or None if it was not measured.
        time_spread_us: half the interquartile range of the times of whole calls, µs, or None if it
            was not measured.
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
    """One set of input shapes in the calls of a specialised net.

    Attributes:
        shapes: shapes and dtypes of the inputs (``8x128:float32``).
        padded_to: batch size after padding, or 0 if the inputs were not padded.
        reason: reason why the inputs were not padded to a given batch size; empty if there is none.
        calls: number of calls.
        compilations: number of compilations for these shapes, or 0 if the net was compiled for the
            padded shapes instead.
        seconds: total time of these compilations, s. The time of a compilation includes one call.
        kept: whether the compiled net is still cached.
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
    """The record of one net's fusion.

    Attributes:
        title: title of the report.
        kernels: fused kernels, which have two or more operators in the body.
        unfused: edges that were not fused.
        before: totals of the unfused graph.
        after: totals of the fused graph.
        single_operator_kernels: generated kernels with one operator in the body.
        carried: kernels of custom operators of the net.
        hot_spots: operators and kernels with a large share of the time.
        environment: versions and machine properties.
        flags: graph-kernel flags of the run.
        preset: name of the preset.
        notes: remarks on the capture.
        output_max_ulp: largest difference between the outputs of the fused and the unfused run, in
            ULP, or None if the outputs were not compared.
        output_max_abs: largest absolute difference of the outputs; None if the outputs were not
            compared.
        output_max_rel: largest difference of the outputs, relative to the largest magnitude of the
            output; None if the outputs were not compared.
        shapes: input shapes in the calls of a specialised net.
        rejected: groups of operators that were considered as one kernel and rejected.
        warnings: facts that affect the meaning of the numbers; each report begins with the
            warnings.
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
            f"Ledger({self.title!r}, {pluralize(len(self.kernels), 'fused kernel')}, "
            f"{pluralize(len(self.unfused), 'edge')} not fused, "
            f"{pluralize(self.before.launches, 'launch', 'launches')} unfused, "
            f"{self.after.launches} fused)"
        )

    def __str__(self) -> str:
        """Returns the ledger as plain text of 100 columns."""
        return str(_report_module("text").to_text(self))

    def to_html(self, path: str | Path | None = None) -> str | Path:
        """Returns the ledger as one self-contained HTML page.

        If `path` is given, the function instead writes the page to `path` and returns the path.

        Raises:
            InputError: the directory does not exist or is not writable.
        """
        page: str = _report_module("html").to_html(self)
        if path is None:
            return page
        return _report_module("write").write_text(path, page)

    def to_json(self, path: str | Path | None = None) -> str:
        """Returns the ledger as JSON (docs/ledger.schema.json); if `path` is given, also writes it.

        Raises:
            InputError: the directory does not exist or is not writable.
        """
        text: str = _report_module("document").to_json(self)
        if path is not None:
            _report_module("write").write_text(path, text)
        return text

    @classmethod
    def from_json(cls, text: str | bytes, *, file: str = "<ledger>") -> Ledger:
        """Parses the output of `to_json`; error messages contain the file name `file`.

        Raises:
            ParseError: the text is damaged, or has another schema version.
        """
        return _report_module("document").from_json(text, file=file)

    def _repr_html_(self) -> str:
        """Returns static HTML without scripts, for a notebook."""
        return str(_report_module("notebook").to_static_html(self))

    def _repr_mimebundle_(self, include: Any = None, exclude: Any = None) -> dict[str, str]:
        """Returns the notebook output: HTML, and plain text for front ends without HTML."""
        return {"text/plain": str(self), "text/html": self._repr_html_()}


def _report_module(module: str) -> Any:
    """Imports a report module on first use, because the report modules import this module."""
    return import_module(f"ms_fusion.report.{module}")


def _freeze(value: Any) -> Any:
    """Copies mappings recursively and converts lists to tuples."""
    if isinstance(value, Mapping):
        return {str(key): _freeze(item) for key, item in value.items()}
    return tuple(map(_freeze, value)) if isinstance(value, list | tuple) else value
