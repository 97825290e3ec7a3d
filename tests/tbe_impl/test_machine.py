"""Instructions that kernels are made of: those of this processor, or none beyond AVX2 where that is asked for."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from pathlib import Path

import pytest

from tbe_impl import machine

SUM = """
import json
import numpy as np
from tbe_impl import machine
from tbe_impl.backends.cpu.compiler import recipe
from tbe_impl.dsl.tensor import placeholder
from tbe_impl.dsl.words import WORDS
from tbe_impl.kernel import Argument, Kernel

x = placeholder((1000,), "float32", "x")
y = WORDS["vadd"](WORDS["vexp"](x), x)
kernel = Kernel("narrow", "cpu", (Argument(x, (1000,), "x"),), (Argument(y, (1000,), "y"),))
given = np.linspace(-3, 3, 1000, dtype=np.float32)
found, wide = kernel(given), given.astype(np.float64)
print(json.dumps({
    "off": float(np.max(np.abs(found - (np.exp(wide) + wide)))),
    "flags": recipe("0" * 64).flags,
    "features": machine.cpu_features(),
}))
"""


def child(isa: str, cache: Path) -> subprocess.CompletedProcess[str]:
    environment = {**os.environ, "MS_FUSION_ISA": isa, "MS_FUSION_CACHE_DIR": str(cache)}
    return subprocess.run([sys.executable, "-c", SUM], env=environment, capture_output=True, text=True, check=False)  # fmt: skip


@pytest.mark.skipif("avx512f" not in machine.cpu_features(), reason="nothing to leave out")
def test_a_kernel_that_is_kept_to_avx2_has_no_wider_instruction(tmp_path: Path) -> None:
    told, libraries = {}, {}
    for isa in ("avx2", "native"):
        told[isa] = json.loads(child(isa, tmp_path).stdout)
        libraries[isa] = set(tmp_path.rglob("*.so")).difference(*libraries.values())
    assert max(one["off"] for one in told.values()) < 2e-6
    assert ["-march=haswell" in one["flags"] for one in told.values()] == [True, False]
    assert "avx2" in told["avx2"]["features"]
    assert set(told["avx2"]["features"]) < set(told["native"]["features"])
    objdump = shutil.which("objdump")
    if objdump:
        texts = (subprocess.run([objdump, "-d", *map(str, one)], capture_output=True, text=True, check=True).stdout for one in libraries.values())  # fmt: skip
        assert ["zmm" in text for text in texts] == [False, True]


def test_a_value_that_is_none_is_said(tmp_path: Path) -> None:
    done = child("avx9", tmp_path)
    assert done.returncode != 0
    assert "MS_FUSION_ISA" in done.stderr and "native or avx2" in done.stderr
