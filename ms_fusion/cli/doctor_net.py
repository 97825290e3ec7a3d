"""Fuses a small net in the doctor's child process and compares its result with float64.

``python -m ms_fusion.cli.doctor_net DIRECTORY`` writes ``DIRECTORY/result.json``. This module
imports nothing from ms_fusion, so that only MindSpore's fusion is tested.
"""

from __future__ import annotations

import json
import os
import sys
import time
from pathlib import Path
from typing import Any

SHAPE = (64, 128)
FLAGS = "--opt_level=2"


def formula(x: Any, y: Any) -> Any:
    """Computes the formula of the small net on MindSpore Tensors or on NumPy arrays."""
    return (x * y + 2.0 * x) * (y - 0.5)


def prepare(directory: Path) -> None:
    """Makes MindSpore write its kernels and logs into `directory`, and enables fusion.

    This function must be called before MindSpore is imported.
    """
    kernels = directory / "kernels"
    kernels.mkdir(exist_ok=True)
    os.environ["MS_COMPILER_CACHE_PATH"] = str(kernels)
    os.environ["MS_DEV_GRAPH_KERNEL_FLAGS"] = FLAGS
    # The compile server writes its log into its working directory.
    os.chdir(directory)


def fused_bodies(directory: Path) -> list[list[str]]:
    """Returns, for each kernel that this run built, a list of the kernel's operator types.

    The operators are read from MindSpore's metadata files.
    """
    bodies = []
    for file in sorted((directory / "kernels").rglob("*.info")):
        if any(file.parent.glob(f"{file.stem}*.so")):
            described = json.loads(file.read_text("utf-8"))
            bodies.append([step["name"] for step in described["op_desc"]])
    return bodies


def main(directory: Path) -> None:
    """Compile and run the small net, compare its result with float64, and write ``result.json``."""
    prepare(directory)
    import mindspore
    import numpy as np

    random = np.random.default_rng(0)
    arrays = [random.standard_normal(SHAPE).astype(np.float32) for _ in range(2)]
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    started = time.perf_counter()
    result = mindspore.jit(formula)(*map(mindspore.Tensor, arrays)).asnumpy()
    seconds = time.perf_counter() - started
    exact = formula(*(array.astype(np.float64) for array in arrays))
    seen = {
        "version": mindspore.__version__,
        "device": mindspore.get_context("device_target"),
        "bodies": fused_bodies(directory),
        "max_abs_error": float(np.abs(result - exact).max()),
        "seconds": seconds,
    }
    (directory / "result.json").write_text(json.dumps(seen), "utf-8")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
