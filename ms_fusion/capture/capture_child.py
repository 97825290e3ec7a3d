"""Runs a capture in a child process: `run_child` in the parent, `main` in the child.

The child is ``python -m ms_fusion.capture.capture_child REQUEST.json``. Parent and child share a
private directory. The parent writes the request into this directory. The child writes the dumps and
measurements there, or ``failure.json`` after an error.
"""

from __future__ import annotations

import os
import re
import subprocess
import sys
from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Any

import msgspec

from ms_fusion.accuracy import tensor_dump
from ms_fusion.capture.capture_run import CaptureOrder, run_capture, title_of
from ms_fusion.capture.net_serialization import unpack
from tbe_impl.errors import CaptureError, FusionError
from tbe_impl.reachability import reachable
from tbe_impl.runtime.process_group import child_environment, child_group

TIME_LIMIT_S = 1800.0
RECEIVED_FOLDER = "received"
"""Subdirectory of the private directory for the dumped input tensors of each kernel."""


class CaptureRequest(msgspec.Struct, frozen=True, kw_only=True):
    """The parent's request to its child.

    Attributes:
        order: options of the capture.
        directory: the shared private directory.
        target: the net as ``FILE.py:NAME``, or an empty string if the file ``net.parcel`` in the
            directory contains the serialized net.
        inputs: a string such as ``64x128:float32`` for each input of `target`.
        search_path: module search path of the parent.
    """

    order: CaptureOrder
    directory: str
    target: str = ""
    inputs: tuple[str, ...] = ()
    search_path: tuple[str, ...] = ()


class CaptureFailure(msgspec.Struct, frozen=True, kw_only=True):
    """A `FusionError` in the child, as the child serializes it for the parent."""

    code: str
    what: str
    place: str | None = None
    expected: str | None = None
    got: str | None = None
    remedy: str | None = None


def run_child(request: CaptureRequest) -> None:
    """Runs the capture in a child process, which writes its kernels to a directory of its own.

    Raises:
        FusionError: the child raised this error. The parent raises an error with the same type and
            text.
        CaptureError: the child died or took longer than `TIME_LIMIT_S`.
    """
    directory, title = Path(request.directory), request.order.title
    question, failure, kernels = (
        directory / "request.json",
        directory / "failure.json",
        directory / "kernels",
    )
    question.write_bytes(msgspec.json.encode(request))
    kernels.mkdir()
    variables = child_environment(MS_COMPILER_CACHE_PATH=str(kernels))
    if request.order.accuracy and tensor_dump.can_dump_to(directory):
        variables[tensor_dump.VARIABLE] = str(
            tensor_dump.write_dump_configuration(directory / RECEIVED_FOLDER)
        )
    command = [
        sys.executable,
        "-X",
        "faulthandler",
        "-m",
        "ms_fusion.capture.capture_child",
        str(question),
    ]
    options = {"env": variables, "stdin": subprocess.DEVNULL, "stdout": subprocess.DEVNULL}
    said_to = directory / "child.log"
    try:
        with said_to.open("wb") as log, child_group(command, stderr=log, **options) as process:
            code = process.wait(TIME_LIMIT_S)
    except subprocess.TimeoutExpired:
        raise CaptureError(
            f"{title} was not compiled and run within {TIME_LIMIT_S:g} s",
            remedy="Try smaller inputs.",
        ) from None
    if failure.exists():
        raise _rebuild_error(msgspec.json.decode(failure.read_bytes(), type=CaptureFailure))
    if code:
        ended = f"signal {-code}" if code < 0 else f"exit code {code}"
        said, place = parse_crash_output(said_to.read_text("utf-8", errors="replace"))
        raise CaptureError(
            f"the process that compiled {title} died ({ended}): {said or 'it left no message'}",
            place=place,
            remedy="Run `ms-fusion doctor`; the preset `off` shows whether the net runs unfused.",
        )


def parse_crash_output(stderr: str) -> tuple[str, str | None]:
    """Returns (last message, source location) from the standard error of a process that died.

    The source location is the innermost frame from `ms_fusion/capture` in the trace that
    `faulthandler` printed. It is None if the trace has no such frame.
    """
    said, _, trace = stderr.partition("Fatal Python error:")
    lines = [line.strip() for line in said.splitlines() if line.strip()]
    room = re.escape(f"{Path(__file__).resolve().parent}{os.sep}")
    here = re.search(rf'File "{room}(\w+\.py)", line (\d+) in (\w+)', trace)
    return lines[-1] if lines else "", here and f"ms_fusion/capture/{here[1]}:{here[2]}, {here[3]}"


def _rebuild_error(told: CaptureFailure) -> FusionError:
    family = {kind.code: kind for kind in _simple_errors()}
    return family.get(told.code, CaptureError)(
        told.what, place=told.place, expected=told.expected, got=told.got, remedy=told.remedy
    )


def _simple_errors() -> Iterator[type[FusionError]]:
    """Returns the error types that use the constructor of `FusionError` unchanged."""
    every: Iterator[type[FusionError]] = reachable(
        [FusionError], lambda kind: kind.__subclasses__()
    )
    return (kind for kind in every if kind.__init__ is FusionError.__init__)


def _load(request: CaptureRequest) -> tuple[Any, Sequence[Any]]:
    if not request.target:
        sys.path.extend(entry for entry in request.search_path if entry not in sys.path)
        return unpack((Path(request.directory) / "net.parcel").read_bytes())
    from ms_fusion.target import load_target

    return load_target(request.target, inputs=request.inputs)


def main(request_file: str) -> int:
    """Runs the child; returns its exit status: 0 after a capture, 2 after a `FusionError`."""
    request = msgspec.json.decode(Path(request_file).read_bytes(), type=CaptureRequest)
    directory = Path(request.directory)
    scratch = directory / "scratch"
    scratch.mkdir()
    try:
        net, inputs = _load(request)
        os.chdir(scratch)  # MindSpore writes logs and failed graphs to the working directory.
        # The target may name a function that creates the net, so the title is taken from the net.
        title = title_of(net) if request.target else request.order.title
        run_capture(net, inputs, directory, msgspec.structs.replace(request.order, title=title))
    except FusionError as error:
        told = CaptureFailure(
            code=error.code,
            what=error.what,
            place=error.place,
            expected=error.expected,
            got=error.got,
            remedy=error.remedy,
        )
        (directory / "failure.json").write_bytes(msgspec.json.encode(told))
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1]))
