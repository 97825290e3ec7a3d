"""Certifies kernels: compares a compiled kernel with a float64 reference computed in NumPy.

One child process calls the kernel's shared library, since the kernel may crash. Another child
process runs the kernel's operators one by one in MindSpore. `ms_fusion.accuracy.replay` computes
the reference in NumPy. All three computations get the same inputs.
"""

from __future__ import annotations

import hashlib
import json
import tempfile
import time
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from math import nan
from pathlib import Path
from typing import Any

import numpy as np

from ms_fusion.accuracy.kernel_worker import load, save
from ms_fusion.accuracy.replay import replay, unknown_operators
from ms_fusion.accuracy.sample_inputs import edge_inputs, seeded_inputs
from ms_fusion.accuracy.ulp import UlpDifference, ulp_difference, worst_difference
from ms_fusion.accuracy.worker_process import Worker, WorkerError
from ms_fusion.graph import DTYPE_BYTES, Graph, Value
from ms_fusion.ledger import Accuracy, FusedKernel
from ms_fusion.ops.call import Array, numpy_dtype
from ms_fusion.readers.composite import parse_composite
from tbe_impl import environment
from tbe_impl.errors import FusionError, pluralize

MAX_BYTES = 64 << 20
"""Limit in bytes for the total of a kernel's inputs and outputs, and for each single tensor.

A kernel that exceeds the limit is not run.
"""

DTYPES = frozenset(DTYPE_BYTES) - {"int4", "complex64", "complex128"}

_UNFUSED_ENVIRONMENT = {"MS_DEV_GRAPH_KERNEL_FLAGS": "--opt_level=0", "GLOG_v": "4"}
WORKER = "ms_fusion.accuracy.kernel_worker"
"""The module of the child process that runs compiled kernels."""


@dataclass(frozen=True)
class CompiledKernel:
    """A fused kernel on disk.

    Attributes:
        graph: the kernel's operators as a graph, with exact constants.
        binary: path of the shared library.
        symbol: name of the entry function.
        convention: calling convention of the entry function: ``akg`` or ``akg_v2``.
    """

    graph: Graph
    binary: Path
    symbol: str
    convention: str

    @property
    def results(self) -> tuple[Value, ...]:
        """The tensors that the kernel writes.

        For an output of an ``Assign``, the tensor is the input that the ``Assign`` overwrites.
        """
        return tuple(
            self.graph.values[name]
            if target is None
            else self.graph.values[self.graph.inputs[target]]
            for name, target in zip(self.graph.outputs, self.targets, strict=True)
        )

    @property
    def targets(self) -> tuple[int | None, ...]:
        """For each output, the index of the input that the output overwrites, or None."""
        return tuple(_target(self.graph, name) for name in self.graph.outputs)


class _CertificationError(Exception):
    """A kernel cannot be certified; the message is the reason."""


def certify(
    kernels: Sequence[FusedKernel],
    *,
    kernel_directory: Path,
    flags: str,
    captured: Mapping[str, Sequence[Array]] | None,
    timeout_s: float,
    seed: int = 0,
    max_bytes: int = MAX_BYTES,
    compiled_worker: str = WORKER,
) -> dict[str, tuple[Accuracy, ...]]:
    """Measures the errors of kernels; returns the `Accuracy` records of each kernel.

    The result is a dict from the full name of a kernel to a tuple of records. The tuple has one
    record for each kind of test inputs. The kinds are captured inputs (if there are any), seeded
    random inputs, and edge cases.

    Args:
        kernels: fused kernels of one capture.
        kernel_directory: directory that contains the kernels' files (``….so``, ``….json``,
            ``….info``) at any depth.
        flags: graph kernel flags with which the kernels were compiled, as one string. The flags
            determine the calling convention.
        captured: a dict from the full name of a kernel to the input arrays that the kernel received
            in a run, in order; see `ms_fusion.accuracy.tensor_dump`.
        timeout_s: time limit for all kernels together, s. Kernels that are not finished at the
            limit are recorded as not run.
        seed: seed of the random inputs.
        max_bytes: size limit for the tensors of a kernel (see `MAX_BYTES`). A kernel that exceeds
            this limit is not run.
        compiled_worker: name of the module that the child process for compiled kernels runs.

    The reference is computed in NumPy in float64, from the operators that the kernel's ``.info``
    file describes. The ``.info`` file contains exact constants, whereas MindSpore's graph dumps
    round constants to six digits. The reference itself is float64, so the error of a float64 output
    is uncertain by about one ULP.

    If a kernel is missing, crashes, hangs, or has no reference, the function raises no error. Such
    a kernel gets one record whose errors are NaN. The attribute `note` of this record is the
    reason.
    """
    found: dict[str, tuple[Accuracy, ...]] = {}
    deadline = time.monotonic() + timeout_s
    with tempfile.TemporaryDirectory(
        prefix="ms_fusion_accuracy_", dir=environment.temporary_directory()
    ) as name:
        directory = Path(name)
        with (
            Worker(compiled_worker, "compiled", directory=directory) as compiled,
            Worker(
                WORKER, "unfused", directory=directory, environment=_UNFUSED_ENVIRONMENT
            ) as unfused,
        ):
            bench = _Bench(directory, compiled, unfused, deadline)
            for kernel in kernels:
                given = (captured or {}).get(kernel.full_name)
                try:
                    files = _find(kernel, kernel_directory, flags, max_bytes)
                    found[kernel.full_name] = tuple(_certify_kernel(files, given, bench, seed))
                except _CertificationError as reason:
                    found[kernel.full_name] = (
                        Accuracy("seeded", nan, nan, note=f"not run: {reason}"),
                    )
    return found


def _find(kernel: FusedKernel, directory: Path, flags: str, max_bytes: int) -> CompiledKernel:
    """Finds the compiled files of `kernel`, and checks that the kernel can be certified.

    Raises:
        _CertificationError: the kernel cannot be certified. Its files are missing, cannot be read,
            or describe another kernel. Its ``.so`` file does not have the recorded SHA-256 digest.
            One of its operators has no float64 formula, or one of its dtypes is not in `DTYPES`. A
            shape is dynamic, or the tensors have more than `max_bytes` bytes.
    """
    information = next(iter(sorted(directory.rglob(_escape_glob(f"{kernel.name}.info")))), None)
    if information is None:
        raise _CertificationError("its files are not in the kernel directory")
    binary = information.with_suffix(".so")
    try:
        graph = parse_composite(information.read_text("utf-8"), file=information.name)
        digest = json.loads(information.with_suffix(".json").read_text("utf-8")).get("sha256")
        if hashlib.sha256(binary.read_bytes()).hexdigest() != digest:
            raise _CertificationError("its library does not match its digest")
    except (OSError, ValueError, AttributeError, FusionError) as error:
        raise _CertificationError(f"its files cannot be read: {error}") from error
    if [value.elements for value in kernel.inputs] != [
        graph.values[name].elements for name in graph.inputs
    ]:
        raise _CertificationError("its files describe other inputs")
    if any(value.is_dynamic for value in graph.values.values()):
        raise _CertificationError("its shapes are dynamic")
    if strange := {value.dtype for value in graph.values.values()} - DTYPES:
        raise _CertificationError(f"it computes in {', '.join(sorted(strange))}")
    if unknown := unknown_operators(graph):
        raise _CertificationError(f"no float64 formula for {', '.join(unknown)}")
    moved = sum(graph.values[name].bytes for name in (*graph.inputs, *graph.outputs))
    largest = max(value.bytes for value in graph.values.values())
    if max(moved, largest) > max_bytes:
        raise _CertificationError(
            f"its tensors hold {max(moved, largest):,} bytes, more than {max_bytes:,}"
        )
    new = "AKG_V2" in flags
    return CompiledKernel(
        graph, binary, graph.name if new else f"{graph.name}_kernel", "akg_v2" if new else "akg"
    )


def _escape_glob(name: str) -> str:
    """Escapes the glob characters in a file name."""
    return "".join(f"[{letter}]" if letter in "*?[" else letter for letter in Path(name).name)


def _target(graph: Graph, name: str) -> int | None:
    maker = graph.producers.get(name)
    if maker is None or not maker.op.startswith("Assign") or maker.inputs[0] not in graph.inputs:
        return None
    return graph.inputs.index(maker.inputs[0])


@dataclass(frozen=True)
class _Bench:
    """Sends requests to two child processes: one runs kernels, one runs their operators.

    Attributes:
        directory: directory of the ``.npz`` files that exchange tensors with the child processes.
        compiled: child process that calls compiled kernels.
        unfused: child process that runs MindSpore's operators.
        deadline: end of the time limit, in s of `time.monotonic`.
    """

    directory: Path
    compiled: Worker
    unfused: Worker
    deadline: float

    def run(
        self, worker: Worker, request: Mapping[str, Any], results: Sequence[Value]
    ) -> tuple[tuple[Array, ...], dict[str, Any]]:
        """Sends a request to a child process; returns (arrays of the results, the child's answer).

        Raises:
            WorkerError: the child process failed, or the deadline has passed.
        """
        left = self.deadline - time.monotonic()
        if left <= 0:
            raise WorkerError("no time left")
        path = self.directory / "results.npz"
        path.unlink(missing_ok=True)
        answer = worker.ask(
            {**request, "inputs": str(self.inputs), "results": str(path)}, timeout_s=left
        )
        arrays = tuple(
            raw[: value.bytes].view(numpy_dtype(value.dtype))
            for raw, value in zip(load(path), results, strict=True)
        )
        return arrays, answer

    @property
    def inputs(self) -> Path:
        return self.directory / "inputs.npz"


def _certify_kernel(
    files: CompiledKernel, captured: Sequence[Array] | None, bench: _Bench, seed: int
) -> list[Accuracy]:
    entries = []
    try:
        kinds = {
            "seeded": seeded_inputs(files.graph, seed),
            "edges": edge_inputs(files.graph, seed),
        }
        if captured:  # It is empty for a kernel next to control flow or Python code.
            kinds = {"captured": _bind_captured_inputs(files.graph, captured), **kinds}
        for kind, inputs in kinds.items():
            entries.append(_compare(kind, files, inputs, bench))
    except FusionError as error:
        raise _CertificationError(str(error)) from error
    return entries


def _bind_captured_inputs(graph: Graph, arrays: Sequence[Array]) -> dict[str, Array]:
    if len(arrays) != len(graph.inputs):
        raise _CertificationError(f"{len(arrays)} captured inputs for {len(graph.inputs)}")
    named = {}
    for name, array in zip(graph.inputs, arrays, strict=True):
        value = graph.values[name]
        if array.size != value.elements:
            raise _CertificationError(
                f"captured input {name} holds {pluralize(array.size, 'element')}, "
                f"not {value.elements}"
            )
        named[name] = (
            np.asarray(array)
            .astype(numpy_dtype(value.dtype), copy=False)
            .reshape([int(size) for size in value.shape])
        )
    return named


def _compare(
    kind: str, files: CompiledKernel, inputs: Mapping[str, Array], bench: _Bench
) -> Accuracy:
    reference = tuple(replay(files.graph, inputs).values())
    results = files.results
    save(bench.inputs, [inputs[name] for name in files.graph.inputs])
    try:
        fused, answer = bench.run(bench.compiled, _compiled_request(files), results)
    except WorkerError as error:
        raise _CertificationError(f"on {kind} inputs: {error}") from error
    difference = _difference(fused, reference, results)
    notes = [_mismatch_note(difference)]
    notes += [f"output {number} is never written" for number in answer.get("unwritten", ())]
    apart = None
    try:
        unfused, _ = bench.run(bench.unfused, _unfused_request(files.graph), results)
        apart = _difference(unfused, reference, results)
        if apart.mismatched:
            notes.append(f"unfused: {_mismatch_note(apart)}")
    except WorkerError as error:
        notes.append(f"unfused operators not run: {error}")
    if kind == "captured" and any(target is not None for target in files.targets):
        notes.append("inputs written in place were captured after the launch")
    return Accuracy(
        inputs=kind,
        fused_max_ulp=difference.max_ulp,
        fused_max_abs=difference.max_abs,
        unfused_max_ulp=None if apart is None else apart.max_ulp,
        unfused_max_abs=None if apart is None else apart.max_abs,
        note="; ".join(filter(None, notes)),
        fused_max_rel=difference.max_rel,
        unfused_max_rel=None if apart is None else apart.max_rel,
    )


def _mismatch_note(difference: UlpDifference) -> str:
    if not difference.mismatched:
        return ""
    return (
        f"{difference.mismatched:,} of {difference.elements:,} results "
        "are NaN or inf on one side only"
    )


def _difference(
    got: Sequence[Array], reference: Sequence[Array], results: Sequence[Value]
) -> UlpDifference:
    return worst_difference(
        tuple(
            ulp_difference(array, wanted, value.dtype)
            for array, wanted, value in zip(got, reference, results, strict=True)
        )
    )


def _compiled_request(files: CompiledKernel) -> dict[str, Any]:
    return {
        "library": str(files.binary.absolute()),
        "symbol": files.symbol,
        "convention": files.convention,
        # An in-place output is declared with one element, but the kernel may write more elements.
        "outputs": [
            {"bytes": max(value.bytes, files.graph.values[name].bytes, 8), "target": target}
            for name, value, target in zip(
                files.graph.outputs, files.results, files.targets, strict=True
            )
        ],
    }


def _unfused_request(graph: Graph) -> dict[str, Any]:
    return {
        "nodes": [
            {
                "op": node.op,
                "inputs": node.inputs,
                "output": node.outputs[0],
                "attrs": dict(node.attrs),
            }
            for node in graph.nodes
        ],
        "values": {
            name: {"shape": value.shape, "dtype": value.dtype, "data": value.data}
            for name, value in graph.values.items()
        },
        "input_names": graph.inputs,
        "output_names": graph.outputs,
    }
