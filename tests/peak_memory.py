"""Measures the peak memory of Python code in its own process."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

CLEAR = Path("/proc/self/clear_refs")
needs_linux = pytest.mark.skipif(not CLEAR.exists(), reason="needs Linux, which counts pages")
_AROUND = """
def status(key):
    for line in open("/proc/self/status"):
        if line.startswith(key):
            return int(line.split()[1]) * 1024

{before}
at_rest = status("VmRSS")
open("/proc/self/clear_refs", "w").write("5")
{measured}
print(status("VmHWM") - at_rest)
"""


def peak_bytes(before: str, measured: str) -> int:
    """Peak bytes of `measured`, above the level after `before`."""
    text = _AROUND.format(before=before, measured=measured)
    done = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, timeout=200)
    assert done.returncode == 0, done.stderr[-2000:]
    return int(done.stdout.split()[-1])
