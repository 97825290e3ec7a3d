"""Proof before use: does this MindSpore, on this machine, call our kernels as we expect?

Once for each version and machine a child process sends a known group through MindSpore and looks at what comes out. The
calling convention differs between versions of MindSpore, so nothing is taken for granted.
"""

from __future__ import annotations

import hashlib
import json
import os
import subprocess
import sys
import tempfile
from functools import lru_cache
from pathlib import Path

from tbe_impl.backends.cpu import compiler
from tbe_impl.cache import make_key
from tbe_impl.errors import MissingError

TIME_LIMIT_S = 180.0
_SOURCES = ("kernel_server", "presets/compile_server", "presets/served.py", "presets/proof.py")


def why_not(version: str) -> str:
    """Why our generator is not used with this version of MindSpore here; empty when it is proved to work.

    The first call on a machine takes some seconds; what it found is kept.
    """
    try:
        identity = compiler.find_compiler().identity
    except MissingError as error:
        return str(error)
    key = make_key(proof=version, compiler=identity, python=sys.version, sources=_sources())
    known = compiler.user_cache().recall(key)
    if known is None:
        found = _proved()
        # a machine that was busy may be quiet next time
        if not found.startswith("it took"):
            compiler.user_cache().remember(key, json.dumps(found).encode())
        return found
    return str(json.loads(known))


def _proved() -> str:
    with tempfile.TemporaryDirectory(prefix="ms_fusion-proof-") as name:
        place = Path(name)
        (place / "kernels").mkdir()
        root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
        variables = {**os.environ, "PYTHONPATH": path, "MS_COMPILER_CACHE_PATH": str(place / "kernels"), "GLOG_v": "4"}  # fmt: skip
        variables.pop("MS_DEV_GRAPH_KERNEL_FLAGS", None)
        variables.pop("MS_FUSION", None)
        command = [sys.executable, "-m", "ms_fusion.presets.proof", str(place / "result.json")]
        try:
            done = subprocess.run(command, cwd=place, env=variables, capture_output=True, timeout=TIME_LIMIT_S, check=False)  # fmt: skip
        except subprocess.TimeoutExpired:
            return f"it took longer than {TIME_LIMIT_S:.0f} s to try"
        try:
            return str(json.loads((place / "result.json").read_text("utf-8"))["why"])
        except (OSError, ValueError, KeyError):
            return f"the process that tried it ended with status {done.returncode}"


@lru_cache(maxsize=1)
def _sources() -> str:
    """Changes when what is proved changes."""
    room = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for name in _SOURCES:
        for file in sorted((room / name).rglob("*.py")) or [room / name]:
            digest.update(file.read_bytes())
    return digest.hexdigest()
