"""Time to the first result with fusion: ``python -m benchmarks.start_up [networks]``.

The training step of a network with Adam, in graph mode, in a fresh process each time. Three kinds
of process are interleaved:

- unfused: MindSpore without fusion.
- cold: `mf.enable(generator="ms_fusion")` with an empty kernel cache (``MS_FUSION_CACHE_DIR``) of
  its own.
- warm: the same, with the cache of a cold process.

Two times of each: `mf.enable()`, which imports its modules and, when cold, tries our generator with
MindSpore (once per machine), and the time from there to the first result: compilation and the first
call. `encoder` is two transformer blocks; a suffix names the gradient clipping. ``QUICK=1`` takes
one round, and the transformer alone. Our modules have byte code, as in an installed package.

Targets: `enable` warm in at most 50 ms; until the first result cold in at most 15 s, warm in at
most 1 s more than unfused.
"""

from __future__ import annotations

import compileall
import importlib
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import describe_machine, is_quick, write

CLIPPED = ("clip_by_norm", "clip_by_global_norm", "clip_by_value")
NETWORKS = ("transformer", "MLP", *(f"encoder-{name}" for name in CLIPPED))
ENABLE_S, COLD_S, MORE_S = 0.05, 15.0, 1.0
ROUNDS = 3
MODULE = "benchmarks.start_up"
ROOT = Path(__file__).resolve().parents[1]
PACKAGES = ("tbe_impl", "custom_ops", "ms_fusion", "benchmarks")


def main(wanted: Sequence[str]) -> int:
    """Measures the named networks, or all; returns 1 when a first result is wrong."""
    record: dict[str, Any] = {**describe_machine(), "lines": []}
    print(f"{record['processor']}, {record['threads']} threads, load {record['load_before']}")
    for package in PACKAGES:
        compileall.compile_dir(ROOT / package, quiet=1)
    print(
        f"{'network':<28} {'enable, cold':>12} {'warm':>9} {'first result, cold':>20} {'warm':>8} "
        f"{'unfused':>8}"
    )
    for name in wanted or NETWORKS[: 1 if is_quick() else None]:
        record["lines"].append(_line(name))
    write("start_up", record)
    return 0 if all(line["right"] for line in record["lines"]) else 1


def _line(name: str) -> dict[str, Any]:
    found: dict[str, list[Mapping[str, Any]]] = {"unfused": [], "cold": [], "warm": []}
    for _ in range(1 if is_quick() else ROUNDS):
        with tempfile.TemporaryDirectory() as cache:
            for who, runs in found.items():
                runs.append(_start_process(who, name, cache))
    enable, first = (
        {who: statistics.median(one[what] for one in runs) for who, runs in found.items()}
        for what in ("enable_s", "first_s")
    )
    expected = np.array(found["unfused"][0]["result"])
    off = max(
        float(np.max(np.abs(np.array(one["result"]) - expected) / (1 + np.abs(expected))))
        for runs in found.values()
        for one in runs
    )
    short = [
        what
        for what, missed in (
            ("enable", enable["warm"] > ENABLE_S),
            ("cold", first["cold"] > COLD_S),
            ("warm", first["warm"] > first["unfused"] + MORE_S),
        )
        if missed
    ]
    shown = (
        f"{name:<28} {enable['cold']:>10.1f} s {enable['warm'] * 1e3:>6.0f} ms "
        f"{first['cold']:>18.1f} s {first['warm']:>6.1f} s {first['unfused']:>6.1f} s"
    )
    line = {"network": name, "right": off <= 1e-3, "differs": off, "short_of": short, "runs": found}
    told = f"  (short of: {', '.join(short)})" if short else ""
    print(shown + told + ("" if line["right"] else "  WRONG"), flush=True)
    return line


def _start_process(who: str, name: str, cache: str) -> dict[str, Any]:
    """The report of a fresh process."""
    variables = {**os.environ, "MS_FUSION_CACHE_DIR": cache, "GLOG_v": "4"}
    variables.pop("PYTHONDONTWRITEBYTECODE", None)
    done = subprocess.run(
        [sys.executable, "-m", MODULE, "--child", who, name],
        stdout=subprocess.PIPE,
        env=variables,
        check=True,
    )
    answer = next(line for line in done.stdout.splitlines() if line.startswith(b"ANSWER "))
    return dict(json.loads(answer[7:]))


def child(who: str, name: str) -> dict[str, Any]:
    """In this process: the times, and the first result."""
    import mindspore as ms

    import ms_fusion as mf

    ms.set_context(mode=ms.GRAPH_MODE)
    net, x = _step(name)
    start = time.perf_counter()
    loaded = start
    if who != "unfused":
        importlib.import_module("ms_fusion.mindspore.presets")
        loaded = time.perf_counter()
        mf.enable(generator="ms_fusion")
    enabled = time.perf_counter()
    net.compile(x)
    compiled = time.perf_counter()
    result = net(x).asnumpy()
    ended = time.perf_counter()
    return {
        "load_s": round(loaded - start, 4),
        "enable_s": round(enabled - start, 4),
        "compile_s": round(compiled - enabled, 3),
        "first_s": round(ended - enabled, 3),
        "result": np.asarray(result, np.float64).reshape(-1).tolist(),
    }


def _step(name: str) -> tuple[Any, Any]:
    """A training step and its inputs."""
    from benchmarks.clipped import encoder_step
    from benchmarks.nets import NETWORKS

    kind, _, clipped = name.partition("-")
    if kind != "encoder":
        return NETWORKS[name].net(train=True), NETWORKS[name].input()
    return encoder_step(clipped), NETWORKS["transformer"].input()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print("ANSWER", json.dumps(child(*sys.argv[2:])), flush=True)
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
