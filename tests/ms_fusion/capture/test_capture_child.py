"""The error of a capture whose process died."""

from __future__ import annotations

import os
import re
import signal
import subprocess
import sys
from typing import Any

import pytest

import ms_fusion as mf
from ms_fusion.capture import profiler
from ms_fusion.capture.capture_child import parse_crash_output
from tbe_impl.errors import CaptureError
from tests import nets


class Mortal:
    """A net whose second instance, in the child, kills its process."""

    def __call__(self, x: Any) -> Any:
        return x

    def __setstate__(self, state: Any) -> None:
        import mindspore  # noqa: F401 its signal handlers precede ours

        os.write(2, b"corrupted size vs. prev_size\n")
        os.kill(os.getpid(), signal.SIGABRT)

    def __getstate__(self) -> Any:
        return {"alive": True}


@pytest.mark.mindspore
def test_the_signal_the_last_words_and_the_place() -> None:
    with pytest.raises(
        CaptureError, match=r"died \(signal 6\): corrupted size vs\. prev_size"
    ) as caught:
        mf.explain(Mortal(), nets.floats(8, 8), measure=False, accuracy=False)
    assert caught.value.place is not None
    assert re.fullmatch(r"ms_fusion/capture/net_serialization\.py:\d+, unpack", caught.value.place)


def test_words_without_a_signal() -> None:
    assert parse_crash_output("one\n two \n\n") == ("two", None)
    assert parse_crash_output("") == ("", None)


def test_a_thread_without_python_dies_beside_one_with() -> None:
    code = "import faulthandler; faulthandler._fatal_error_c_thread()"
    seen = subprocess.run(
        [sys.executable, "-X", "faulthandler", "-c", code], capture_output=True, text=True
    )
    said, place = parse_crash_output(seen.stderr)
    assert (said, place) == ("", None)
    frame = f'File "{profiler.__file__}", line 31 in profile_operators'
    said, place = parse_crash_output(f"free(): invalid pointer\n{seen.stderr}\n  {frame}\n")
    assert (said, place) == (
        "free(): invalid pointer",
        "ms_fusion/capture/profiler.py:31, profile_operators",
    )
