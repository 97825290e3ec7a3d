"""Run a piece of a test in a fresh process with its own working directory: MindSpore latches much at first use."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from pathlib import Path
from typing import Any

ROOT = Path(__file__).resolve().parents[3]

HEAD = """
import json, os, sys, warnings
from pathlib import Path
import numpy as np
import mindspore as ms
from mindspore import Tensor, nn, ops
import ms_fusion as mf
from ms_fusion import presets
RESULT = {}
def kernels():
    place = os.environ.get("MS_COMPILER_CACHE_PATH")
    return sorted(path.stem for path in Path(place, "akg_kernel_meta").glob("*.so")) if place else []
def bodies():
    place = os.environ["MS_COMPILER_CACHE_PATH"]
    texts = [json.loads(path.read_text()) for path in Path(place, "akg_kernel_meta").glob("*.info")]
    return texts
def ones(*shape):
    return Tensor(np.ones(shape, np.float32))
"""


class Child:
    """What a child left: `result` (the dict ``RESULT`` of its code), its output and its exit code."""

    def __init__(self, code: int, output: str, result: dict[str, Any]):
        self.code, self.output, self.result = code, output, result


def run(
    body: str,
    place: Path,
    *,
    environment: dict[str, str] | None = None,
    head: str = HEAD,
    expect: int = 0,
    own_cache: bool = False,
) -> Child:
    """Runs `head` and `body` in `place`, which stays its working directory.

    Args:
        body: Python code that fills ``RESULT``.
        place: an existing directory.
        environment: variables on top of this process's own.
        head: code before the body.
        expect: the exit code that is right.
        own_cache: kernels are kept in ``PLACE.cache``, and not with those of the other children of this session.
    """
    place.mkdir(parents=True, exist_ok=True)
    script = place.parent / f"{place.name}.py"
    tail = "\nPath(sys.argv[1]).write_text(json.dumps(RESULT))\n"
    script.write_text(head + body + tail, encoding="utf-8")
    answer = place.parent / f"{place.name}.json"
    # what an earlier test of this process made MindSpore use is not the child's
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("MS_")}
    variables = {
        **inherited,
        "PYTHONPATH": str(ROOT),
        "GLOG_v": "4",
        "MS_FUSION_CACHE_DIR": f"{place}.cache"
        if own_cache
        else os.environ["MS_FUSION_TEST_CACHE"],
        **(environment or {}),
    }
    done = subprocess.run(
        [sys.executable, "-W", "default", str(script), str(answer)],
        cwd=place,
        env=variables,
        capture_output=True,
        text=True,
        timeout=600,
        check=False,
    )
    output = done.stdout + done.stderr
    assert done.returncode == expect, output[-4000:]
    return Child(done.returncode, output, json.loads(answer.read_text()) if answer.exists() else {})
