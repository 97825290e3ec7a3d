"""Instruction set of kernels: this processor's, or a smaller one on request."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tbe_impl.runtime import machine

ROOT = Path(__file__).resolve().parents[3]
PROGRAM = ROOT / "tests" / "programs" / "tbe_impl" / "sum_on_this_machine.py"


def child(isa: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {
        **os.environ,
        "PYTHONPATH": str(ROOT),
        "MS_FUSION_ISA": isa,
        "MS_FUSION_CACHE_DIR": str(cache),
    }
    return subprocess.run(
        [sys.executable, PROGRAM], env=environment, capture_output=True, text=True, check=False
    )


@pytest.mark.skipif("avx512f" not in machine.cpu_features(), reason="nothing to leave out")
def test_a_kernel_of_a_smaller_set_has_no_wider_instruction(tmp_path: Path) -> None:
    told, libraries = {}, {}
    for isa in ("sse4.2", "avx2", "native"):
        told[isa] = json.loads(child(isa, tmp_path).stdout)
        libraries[isa] = set(tmp_path.rglob("*.so")).difference(*libraries.values())
    assert max(one["off"] for one in told.values()) < 2e-6
    for isa, known in machine.INSTRUCTION_SETS.items():
        assert [f"-march={known.march}" in one["flags"] for one in told.values()] == [
            other == isa for other in told
        ]
    features = [set(one["features"]) for one in told.values()]
    assert features[0] < features[1] < features[2]
    assert "sse4_2" in features[0] and "avx2" in features[1] - features[0]
    objdump = shutil.which("objdump")
    if objdump:
        texts = (
            subprocess.run(
                [objdump, "-d", *map(str, one)], capture_output=True, text=True, check=True
            ).stdout
            for one in libraries.values()
        )
        assert [("ymm" in text, "zmm" in text) for text in texts] == [
            (False, False),
            (True, False),
            (True, True),
        ]


def test_a_value_that_is_none_is_said(tmp_path: Path) -> None:
    done = child("avx9", tmp_path)
    assert done.returncode != 0
    assert "MS_FUSION_ISA" in done.stderr and "native or avx2 or sse4.2" in done.stderr
