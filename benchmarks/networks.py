"""Whole networks inside MindSpore, unfused, with MindSpore's own fusion, and built by us: ``python -m benchmarks.networks``.

Graph mode, inference and a training step with Adam. Each generator is measured in a process of its own, since MindSpore keeps
kernels by name, in turns with the unfused net; both start from the same weights, and their results are compared.
``QUICK=1`` measures inference alone.

Targets: never slower than unfused; training steps of the MLP and the transformer at least 1.8 times as fast.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import (
    PLACE,
    described,
    in_turns,
    is_quick,
    largest_error,
    ratio,
    settle,
    write,
)

TRAINED = {"MLP": 1.8, "transformer": 1.8}
"""How many times as fast as unfused a training step has to be; others at least as fast."""
TIE = 0.87
GENERATORS = ("ms_fusion", "mindspore")


def main(wanted: Sequence[str]) -> int:
    """Measures those networks, or all; 1 when a result is wrong."""
    record: dict[str, Any] = {**described(), "lines": []}
    print(f"{record['processor']}, {record['threads']} threads, load {record['load_before']}")
    print(f"{'network':<12} {'what':<9} {'generator':<9} {'fused':>9} {'unfused':>11} {'÷':>7}   kernels")  # fmt: skip
    PLACE.mkdir(parents=True, exist_ok=True)
    for generator in GENERATORS:
        file = PLACE / f"networks-{generator}.json"
        subprocess.run([sys.executable, "-m", "benchmarks.networks", "--child", generator, str(file), *wanted], check=True)  # fmt: skip
        record["lines"] += json.loads(file.read_text("utf-8"))
        file.unlink()
    write("networks", record)
    return 0 if all(line["right"] for line in record["lines"]) else 1


def measure(generator: str, wanted: Sequence[str]) -> list[dict[str, Any]]:
    """The lines of one generator, in this process."""
    import mindspore as ms

    from benchmarks.nets import NETWORKS

    ms.set_context(mode=ms.GRAPH_MODE)
    return [
        _line(name, network, generator, train=train)
        for name, network in NETWORKS.items()
        if not wanted or name in wanted
        for train in ((False,) if is_quick() else (False, True))
    ]


def _line(name: str, network: Any, generator: str, *, train: bool) -> dict[str, Any]:
    import ms_fusion as mf

    x, before = network.input(), _libraries()
    with mf.fusion("auto", generator=generator) as now:
        nets = {"fused": network.net(train=train)}
        first = {"fused": [_array(nets["fused"](x)) for _ in range(3 if train else 1)]}
    with mf.fusion("off"):
        nets["unfused"] = network.net(train=train)
        first["unfused"] = [_array(nets["unfused"](x)) for _ in first["fused"]]
    built = len(_libraries() - before)
    ours = "--kernel_generator=AKG_V2" in now.flags
    calls = {kind: _call(net, x) for kind, net in nets.items()}
    for call in calls.values():
        settle(call)
    found = in_turns(calls, rounds=15, slow_s=1.0)
    off = largest_error(first["fused"], [item.astype(np.float64) for item in first["unfused"]])
    faster, target = ratio(found["unfused"], found["fused"]), TRAINED.get(name, TIE) if train else TIE  # fmt: skip
    line = {
        "network": name, "what": "training" if train else "inference", "generator": generator,
        "right": off <= 1e-3 and built > 0 and ours == (generator == "ms_fusion"), "differs": off, "kernels": built,
        "times_unfused": round(faster, 2), "target": target, **{kind: samples.record() for kind, samples in found.items()},
    }  # fmt: skip
    shown = f"{name:<12} {line['what']:<9} {generator:<9} {found['fused'].median * 1e3:>6.1f} ms {found['unfused'].median * 1e3:>8.1f} ms {faster:>6.2f} × {built:>7}"  # fmt: skip
    short = generator == "ms_fusion" and faster < target
    print(shown + ("  (short)" if short else "") + ("" if line["right"] else "  WRONG"), flush=True)
    return line


def _libraries() -> set[str]:
    from ms_fusion import presets

    return {path.name for path in presets.kernel_directory().rglob("*.so")}


def _call(net: Any, x: Any) -> Callable[[], Any]:
    return lambda: _array(net(x))


def _array(made: Any) -> np.ndarray:
    return np.asarray(made.asnumpy())


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        Path(sys.argv[3]).write_text(json.dumps(measure(sys.argv[2], sys.argv[4:])), "utf-8")
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
