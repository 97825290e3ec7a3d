"""Several processes on one machine: data-parallel ``msrun`` training, one compilation each."""

from __future__ import annotations

import json
import subprocess
from dataclasses import dataclass
from typing import Any

import pytest

from tests.cases import FULL
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS
from tests.ms_fusion.mindspore.presets.ranks import launch, variables

RANKS = 2


COMPILER = """#!/bin/sh
for last; do case "$last" in *kernel.c) cat "$last" | cksum >> "{log}";; esac; done
exec "{compiler}" "$@"
"""
"""Logs its input and compiles it."""


@dataclass(frozen=True)
class Seen:
    """The results of each rank, and checksums of the compiled texts."""

    ranks: list[dict[str, Any]]
    compiled: list[str]


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> Seen:
    place = tmp_path_factory.mktemp("ranks")
    command, environment = launch(PROGRAMS / "ranks.py", place, RANKS), variables(place, COMPILER)
    done = subprocess.run(
        command,
        cwd=place,
        env=environment,
        capture_output=True,
        text=True,
        timeout=280,
        check=False,
    )
    logs = "".join(
        file.read_text(errors="replace")[-2000:] for file in (place / "log").glob("worker_*.log")
    )
    assert done.returncode == 0, logs
    results = [json.loads((place / f"{rank}.json").read_text()) for rank in range(RANKS)]
    return Seen(results, (place / "compiled").read_text().splitlines())


@FULL
@pytest.mark.mindspore
def test_ranks_train_alike_fused_and_not(seen: Seen) -> None:
    for rank in seen.ranks:
        (fused, weights), (unfused, same_weights) = rank["fused"], rank["unfused"]
        assert fused == pytest.approx(unfused, rel=1e-4)
        assert weights == pytest.approx(same_weights, rel=1e-5)
        assert fused[-1] < 0.8 * fused[0]
    # each on its own part of the data, with the gradients of all
    one, other = (rank["fused"] for rank in seen.ranks)
    assert one[0] != other[0] and one[1] == pytest.approx(other[1])


@FULL
@pytest.mark.mindspore
def test_nobody_compiles_what_another_rank_has(seen: Seen) -> None:
    one, other = (rank["built"] for rank in seen.ranks)
    assert one == other and len(one) > 5
    assert len(seen.compiled) >= len(one) and len(set(seen.compiled)) == len(seen.compiled)
