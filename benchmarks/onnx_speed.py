"""Fused ONNX models beside their originals: ``python -m benchmarks.onnx_speed [names]``.

- ONNX Runtime with all of its optimisations: the original, and the output of
  ``auto_fuse(target="ort")``.
- MindSpore, graph mode: `from_onnx` of the original, and of the output of `auto_fuse`, whose groups
  are our kernels.

All use one thread per core (``MS_FUSION_THREADS``). The two sides of a lane are interleaved;
figures are medians of the per-round ratios. Outputs are compared with those of the original in ONNX
Runtime. The torch export of the layer takes part when torch is installed. ``QUICK=1`` takes fewer
rounds and one size. Targets: never slower; memory-bound models at least twice as fast.
"""

from __future__ import annotations

import functools
import importlib.util
import json
import subprocess
import sys
import tempfile
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import describe_machine, in_turns, is_quick, largest_error, ratio, write
from benchmarks.onnx_speed_models import MODELS
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from tbe_impl import environment

TIE = 0.95
"""Smallest ratio that counts as equal on a shared machine."""
MEMORY_BOUND = 2.0
DIFFERS_MAX = 1e-3


def main(wanted: Sequence[str]) -> int:
    """Measures the named models, or all; returns 1 when a result is wrong."""
    import onnxruntime

    onnxruntime.set_global_thread_pool_sizes(environment.threads(), 1)
    record: dict[str, Any] = {
        **describe_machine(),
        "onnxruntime": onnxruntime.__version__,
        "lines": [],
    }
    print(f"{record['processor']}, {record['threads']} threads, load {record['load_before']}")
    if importlib.util.find_spec("torch") is None:
        print("torch is not installed: the layer that it exports is left out")
    print(
        f"{'model':<22} {'ONNX Runtime':>14} {'mapped':>10} {'÷':>7} {'MindSpore':>14} "
        f"{'fused':>10} {'÷':>7}   mapped to"
    )
    for name, model in MODELS.items():
        if name in wanted or (not wanted and not (is_quick() and model.is_large)):
            with tempfile.TemporaryDirectory() as directory:
                line = _line(
                    name, model.write, Path(directory), is_memory_bound=model.is_memory_bound
                )
            if line is not None:
                record["lines"].append(line)
    write("onnx_speed", record)
    return 0 if all(line["right"] for line in record["lines"]) else 1


def _line(
    name: str,
    make: Callable[[Path], Mapping[str, np.ndarray] | None],
    place: Path,
    *,
    is_memory_bound: bool,
) -> dict[str, Any] | None:
    original, mapped, fused = (place / f"{one}.onnx" for one in ("original", "mapped", "fused"))
    inputs = make(original)
    if inputs is None:
        return None
    sizes = _sizes(original, inputs)
    ledger = auto_fuse(original, mapped, target="ort", assume=sizes, force=True)
    auto_fuse(original, fused, assume=sizes)
    np.savez(place / "inputs.npz", **inputs)
    runs = {"original": _session(original, inputs), "mapped": _session(mapped, inputs)}
    expected = [array.astype(np.float64) for array in runs["original"]()]
    differs = {"mapped": largest_error(runs["mapped"](), expected)}
    found = in_turns(runs, rounds=7 if is_quick() else 21, block_s=0.02, slow_s=2.0)
    np.savez(place / "expected.npz", *expected)
    child = subprocess.run(
        [sys.executable, "-m", "benchmarks.onnx_speed", "--child", str(place)],
        capture_output=True,
        text=True,
        check=False,
    )
    if child.returncode:
        raise RuntimeError(f"{name} in MindSpore: {child.stderr[-2000:]}")
    other = json.loads(child.stdout.splitlines()[-1])
    differs |= other["differs"]
    times = {"ort": ratio(found["original"], found["mapped"]), "mindspore": other["times"]}
    target = MEMORY_BOUND if is_memory_bound else TIE
    line = {
        "model": name,
        "target": target,
        "differs": differs,
        "right": max(differs.values()) <= DIFFERS_MAX,
        "times": {lane: round(one, 2) for lane, one in times.items()},
        "mapped_to": ledger.environment["operators of ONNX Runtime"],
        "ort": {who: one.record() for who, one in found.items()},
        "mindspore": other["record"],
    }
    short = [lane for lane, one in times.items() if one < target]
    own = other["record"]
    shown = (
        f"{name:<22} {found['original'].median * 1e3:>11.2f} ms "
        f"{found['mapped'].median * 1e3:>7.2f} ms {times['ort']:>5.2f} × "
        f"{own['original']['median_us'] / 1e3:>11.2f} ms {own['fused']['median_us'] / 1e3:>7.2f} "
        f"ms {times['mindspore']:>5.2f} ×"
    )
    told = ", ".join(f"{count} × {one}" for one, count in line["mapped_to"].items())
    remarks = f"  (short: {', '.join(short)})" if short else ""
    wrong = "" if line["right"] else "  WRONG"
    print(f"{shown}   {told or 'nothing'}{remarks}{wrong}", flush=True)
    return line


def _sizes(model: Path, inputs: Mapping[str, np.ndarray]) -> dict[str, int]:
    """Values of the model's symbolic sizes."""
    import onnx

    told = {one.name: one.type.tensor_type.shape.dim for one in onnx.load(model).graph.input}
    return {
        dim.dim_param: size
        for name, array in inputs.items()
        for dim, size in zip(told[name], array.shape, strict=True)
        if dim.dim_param
    }


def _session(model: Path, inputs: Mapping[str, np.ndarray]) -> Callable[[], list[np.ndarray]]:
    import onnxruntime

    options = onnxruntime.SessionOptions()
    options.log_severity_level = 4
    # both share one thread pool, so that neither spins beside the other
    options.use_per_session_threads = False
    session = onnxruntime.InferenceSession(str(model), options, providers=["CPUExecutionProvider"])
    return functools.partial(session.run, None, dict(inputs))


def child(place: Path) -> dict[str, Any]:
    """Both sides in MindSpore."""
    import mindspore as ms

    from ms_fusion import from_onnx

    ms.set_context(mode=ms.GRAPH_MODE)
    with np.load(place / "inputs.npz") as stored:
        tensors = [ms.Tensor(array) for array in stored.values()]
    with np.load(place / "expected.npz") as stored:
        expected = list(stored.values())

    def make_call(name: str) -> Callable[[], list[np.ndarray]]:
        net = from_onnx(place / f"{name}.onnx")

        def call() -> list[np.ndarray]:
            made = net(*tensors)
            return [one.asnumpy() for one in (made if isinstance(made, tuple) else (made,))]

        return call

    runs = {name: make_call(name) for name in ("original", "fused")}
    differs = {f"mindspore {name}": largest_error(run(), expected) for name, run in runs.items()}
    found = in_turns(runs, rounds=7 if is_quick() else 21, block_s=0.02, slow_s=2.0)
    return {
        "differs": differs,
        "times": ratio(found["original"], found["fused"]),
        "record": {name: one.record() for name, one in found.items()},
    }


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        print(json.dumps(child(Path(sys.argv[2]))))
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
