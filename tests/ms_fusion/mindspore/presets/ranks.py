"""Scripts that run as ranks of MindSpore's ``msrun``, with a separate cache and compiler."""

from __future__ import annotations

import os
import shutil
import socket
import sys
from pathlib import Path

import pytest

from tbe_impl.runtime import compiler
from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT


def launch(program: Path, place: Path, count: int, *arguments: str) -> list[str]:
    """The command that runs a program there with several ranks; skips tests without ``msrun``."""
    found = Path(sys.executable).with_name("msrun")
    msrun = str(found) if found.exists() else shutil.which("msrun")
    if msrun is None:
        pytest.skip("MindSpore's msrun is not there")
    return [
        msrun,
        f"--worker_num={count}",
        f"--local_worker_num={count}",
        "--master_addr=127.0.0.1",
        f"--master_port={_free_port()}",
        "--join=True",
        f"--log_dir={place / 'log'}",
        str(program),
        str(place),
        *arguments,
    ]


def _free_port() -> int:
    """A free port."""
    with socket.socket() as found:
        found.bind(("127.0.0.1", 0))
        return int(found.getsockname()[1])


def variables(place: Path, compiler_script: str) -> dict[str, str]:
    """An environment with its kernel cache below that place; a script with ``{log}`` and
    ``{compiler}`` compiles.
    """
    script = place / "cc"
    real = compiler.find_compiler().command[0]
    script.write_text(compiler_script.format(log=place / "compiled", compiler=real))
    script.chmod(0o700)
    return {
        **{name: value for name, value in os.environ.items() if not name.startswith("MS_")},
        "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
        "PYTHONPATH": str(ROOT),
        "GLOG_v": "4",
        "MS_FUSION_CACHE_DIR": str(place / "cache"),
        "MS_FUSION_CC": str(script),
    }
