"""The child process of `explain_target`: ``python -m ms_fusion.capture_child REQUEST.json``."""

from __future__ import annotations

import os
import sys
from pathlib import Path

import msgspec

from ms_fusion.capture import CaptureFailure, CaptureRequest, title_of
from ms_fusion.capture_run import run_capture
from ms_fusion.target import load_target
from tbe_impl.errors import FusionError


def main(request_file: str) -> int:
    request = msgspec.json.decode(Path(request_file).read_bytes(), type=CaptureRequest)
    directory = Path(request.directory)
    try:
        net, inputs = load_target(request.target, inputs=request.inputs)
        # MindSpore drops logs and failed graphs where it stands
        scratch = directory / "scratch"
        scratch.mkdir()
        os.chdir(scratch)
        run_capture(
            net,
            inputs,
            directory,
            title=title_of(net),
            preset=request.preset,
            flags=request.flags,
            measure=request.measure,
        )
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
