"""Failures around a compilation (no compiler, full disk, killed rank): one warning, nets run."""

from __future__ import annotations

import json
import os
import shutil
import signal
import subprocess
import sys
import time
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbe_impl.runtime import compiler
from tests.cases import FULL
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, ROOT, run
from tests.ms_fusion.mindspore.presets.ranks import launch, variables


def _without_compiler(place: Path) -> dict[str, str]:
    """Variables of a process without a compiler on its path."""
    return {"PATH": str(place / "nowhere"), "MS_FUSION_CC": ""}


@pytest.fixture(scope="module")
def losing(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    """Only the compiler of the extra `compiler`, which disappears; then the disk is full."""
    place = tmp_path_factory.mktemp("losing")
    real = shutil.which(compiler.find_compiler().command[0])
    package = place / "extra" / "ziglang"
    package.mkdir(parents=True)
    (package / "__init__.py").touch()
    (package / "__main__.py").write_text(
        f"import os, sys\nos.environ['PATH'] = {os.environ['PATH']!r}\nos.execv({real!r}, "
        f"[{real!r}, *sys.argv[2:]])\n"
    )
    told = place / "extra" / "ziglang-0.1.dist-info"
    told.mkdir()
    (told / "METADATA").write_text("Metadata-Version: 2.1\nName: ziglang\nVersion: 0.1\n")
    variables = _without_compiler(place) | {"PYTHONPATH": f"{place / 'extra'}{os.pathsep}{ROOT}"}
    return run(
        PROGRAMS / "losing_compiler.py",
        place / "work",
        str(package),
        environment=variables,
        fresh=True,
    ).result


@FULL
@pytest.mark.mindspore
def test_the_extra_is_taken_where_there_is_no_other_compiler(losing: dict[str, Any]) -> None:
    assert losing["enabled"] == ["ms_fusion", []]
    error, told, built = losing["built"]
    assert error < 1e-5 and not told and built


@FULL
@pytest.mark.mindspore
def test_a_compiler_that_goes_away_leaves_kernels_to_mindspore(losing: dict[str, Any]) -> None:
    error, (told,), built = losing["without compiler"]
    assert error < 1e-4 and built == losing["built"][2]
    assert "left to MindSpore's own operators, since our generator failed" in told


@FULL
@pytest.mark.mindspore
def test_a_full_disk_is_said_once(losing: dict[str, Any]) -> None:
    error, (told,), built = losing["full"]
    assert error < 1e-4 and built == losing["built"][2]
    assert told.startswith(
        "Net is compiled without fusion, like each later net while the cause persists: the disk of"
    )
    assert losing["still full"][0] < 1e-4 and losing["still full"][1] == []


@pytest.mark.mindspore
def test_without_any_compiler_mindspores_own_generator_stays(tmp_path: Path) -> None:
    found = run(
        PROGRAMS / "losing_compiler.py",
        tmp_path / "work",
        environment=_without_compiler(tmp_path),
        fresh=True,
    ).result
    generator, (told,) = found["enabled"]
    assert generator == "mindspore"
    assert "since ours cannot be used: there is no C compiler" in told and "ziglang" in told


SLOW = """#!/bin/sh
for last; do case "$last" in *kernel.c) echo one >> "{log}"; sleep 0.3;; esac; done
exec "{compiler}" "$@"
"""


@FULL
@pytest.mark.mindspore
def test_a_rank_that_is_killed_leaves_no_damage(tmp_path: Path) -> None:
    """The other rank builds and runs its net; the next run finds no stale lock and removes
    left-overs.
    """
    program = PROGRAMS / "killed_rank.py"
    command, environment = launch(program, tmp_path, 2, "dies"), variables(tmp_path, SLOW)
    with (tmp_path / "output").open("w") as output:
        ranks = subprocess.Popen(
            command,
            cwd=tmp_path,
            env=environment,
            stdout=output,
            stderr=output,
            start_new_session=True,
        )
    try:
        assert _waited_for(tmp_path / "killed"), (tmp_path / "output").read_text()
        assert _waited_for(tmp_path / "result.json"), (
            "the other rank needs nothing of the one that was killed"
        )
        _check(tmp_path)
    finally:
        # MindSpore's scheduler would wait for half a minute
        os.killpg(ranks.pid, signal.SIGKILL)
        ranks.wait()
    (tmp_path / "result.json").unlink()
    subprocess.run(
        [sys.executable, str(program), str(tmp_path)],
        cwd=tmp_path,
        env=environment,
        capture_output=True,
        timeout=100,
        check=True,
    )
    assert len(_check(tmp_path)) == 1, "what the ranks left is gone"


def _waited_for(file: Path) -> bool:
    ends = time.monotonic() + 100
    while not file.exists() and time.monotonic() < ends:
        time.sleep(0.05)
    return file.exists()


def _check(place: Path) -> list[str]:
    """Compares the result; returns the files in MindSpore's kernel directory."""
    x, y, working = json.loads((place / "result.json").read_text())
    powers = np.exp(np.array(x) * 1.25)
    running = np.cumsum(powers / powers.sum(1, keepdims=True), 1)
    np.testing.assert_allclose(y, np.exp(np.cumsum(np.tanh(running) + 1, 1) * 0.1), rtol=1e-5)
    return list(working)
