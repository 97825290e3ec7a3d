"""Convolutional networks built by us, beside torch and both of MindSpore's: ``python -m benchmarks.convolutional_networks [names]``.

Inference and a training step with Adam, graph mode, each competitor in a process of its own, all called in turns:

- ours: `mf.enable(generator="ms_fusion")`.
- repaired: MindSpore without fusion, its convolution repaired by ``ONEDNN_MAX_CPU_ISA=AVX2``, which also slows its products.
- torch: eager, the same weights.
- as it comes: MindSpore without fusion, whose convolutions take seconds. It is called once, on one image, and compared with
  ours on one image.

``QUICK=1`` leaves that out, and takes fewer rounds. Targets: at most 1.3 times torch's time, at least 1.3 times as fast as repaired
(the small ones: as fast), at least 50 times as fast as it comes.
"""

from __future__ import annotations

import json
import os
import subprocess
import sys
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from typing import Any

import numpy as np

from benchmarks.measuring import described, in_turns, is_quick, largest_error, ratio, write

NETWORKS = ("ResNet", "U-Net", "ResNet-18", "YOLO-like")
REPAIRED = {"ResNet-18": 1.3, "YOLO-like": 1.3}
"""How many times as fast as MindSpore with the repaired convolution; others at least as fast."""
TIMES_TORCH = 1.3
AS_IT_COMES = 50.0
TIE = 0.87
RESULTS_SENT = 4096
ENVIRONMENT = {"repaired": {"ONEDNN_MAX_CPU_ISA": "AVX2"}}
MODULE = "benchmarks.convolutional_networks"


class Competitor:
    """A process that makes a call whenever it is told to.

    Args:
        who: ``ours``, ``repaired``, ``torch`` or ``as it comes``.
        name: of the network.
        batch: how many images; 0 for as many as the network is measured with.

    Attributes:
        first: what came out of its first call, with the weights that all begin with.
    """

    def __init__(self, who: str, name: str, *, train: bool, batch: int = 0):
        told = json.dumps([who, name, train, batch])
        variables = {**os.environ, **ENVIRONMENT.get(who, {}), "GLOG_v": "4"}
        self._process = subprocess.Popen([sys.executable, "-m", MODULE, "--child", told], stdin=subprocess.PIPE, stdout=subprocess.PIPE, env=variables)  # fmt: skip
        self.first = np.asarray(self._answer())

    def __enter__(self) -> Competitor:
        return self

    def __exit__(self, *_: object) -> None:
        self._process.kill()
        self._process.communicate()

    def __call__(self) -> float:
        """Seconds of a call."""
        assert self._process.stdin is not None
        self._process.stdin.write(b"\n")
        self._process.stdin.flush()
        return float(self._answer())

    def _answer(self) -> Any:
        assert self._process.stdout is not None
        for line in self._process.stdout:
            if line.startswith(b"ANSWER "):
                return json.loads(line[7:])
        raise RuntimeError("a competitor ended; what it said stands above")


def main(wanted: Sequence[str]) -> int:
    """Measures those networks, or all; 1 when a result is wrong."""
    record: dict[str, Any] = {**described(), "lines": []}
    print(f"{record['processor']}, {record['threads']} threads, load {record['load_before']}")
    for name in NETWORKS:
        for train in (False, True):
            if not wanted or name in wanted:
                record["lines"].append(_line(name, train=train))
    write("convolutional_networks", record)
    return 0 if all(line["right"] for line in record["lines"]) else 1


def _line(name: str, *, train: bool) -> dict[str, Any]:
    rivals = ("repaired", "torch") if _has_torch() else ("repaired",)
    with ExitStack() as running:
        all_of_them = {who: running.enter_context(Competitor(who, name, train=train)) for who in ("ours", *rivals)}  # fmt: skip
        found = in_turns(all_of_them, rounds=5 if is_quick() else 15, slow_s=5.0, pause_s=0.02)
    ours = all_of_them["ours"].first
    off = {who: largest_error([ours], [all_of_them[who].first.astype(np.float64)]) for who in rivals}  # fmt: skip
    line: dict[str, Any] = {
        "network": name, "what": "training" if train else "inference", "differs": off, "right": max(off.values()) <= 1e-3,
        **{who: item.record() for who, item in found.items()},
        **{f"times_{who}": round(ratio(found[who], found["ours"]), 2) for who in rivals},
    }  # fmt: skip
    short = [] if line["times_repaired"] >= REPAIRED.get(name, TIE) else ["repaired"]
    short += ["torch"] if line.get("times_torch", 1.0) < 1 / TIMES_TORCH else []
    shown = f"{name:<10} {line['what']:<9} ours {found['ours'].median * 1e3:8.2f} ms"
    shown += "".join(f"   {who} {found[who].median * 1e3:8.2f} ms {line[f'times_{who}']:6.2f} ×" for who in rivals)  # fmt: skip
    if not is_quick():
        line |= _as_it_comes(name, train=train)
        shown += f"   as it comes, one image {line['as_it_comes_s']:7.3f} s {line['times_as_it_comes']:6.0f} ×"
        short += [] if line["times_as_it_comes"] >= AS_IT_COMES else ["as it comes"]
    told = f"  (short of: {', '.join(short)})" if short else ""
    print(shown + told + ("" if line["right"] else "  WRONG"), flush=True)
    return line


def _as_it_comes(name: str, *, train: bool) -> dict[str, Any]:
    with Competitor("ours", name, train=train, batch=1) as ours:
        own = min(ours() for _ in range(5))
    with Competitor("as it comes", name, train=train, batch=1) as other:
        # its first call was the one to be timed: the second may take a minute too
        once = float(other.first)
    return {"as_it_comes_s": round(once, 4), "ours_one_image_s": round(own, 5), "times_as_it_comes": round(once / own, 1)}  # fmt: skip


def _has_torch() -> bool:
    return subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False).returncode == 0  # fmt: skip


def child(who: str, name: str, train: bool, batch: int) -> None:
    """Prepares, tells what the first call gave, then makes a call for each line that it is sent."""
    call = _call(who, name, train=train, batch=batch)
    start = time.perf_counter()
    first = np.asarray(call()).reshape(-1)[:RESULTS_SENT]
    _tell(time.perf_counter() - start if who == "as it comes" else first.tolist())
    for _ in sys.stdin:
        start = time.perf_counter()
        call()
        _tell(time.perf_counter() - start)


def _tell(answer: Any) -> None:
    print("ANSWER", json.dumps(answer), flush=True)


def _call(who: str, name: str, *, train: bool, batch: int) -> Callable[[], np.ndarray]:
    if who == "torch":
        import torch

        from benchmarks import torch_nets
        from benchmarks.network_inputs import input_of
        from tbe_impl import environment

        torch.set_num_threads(environment.threads())
        return torch_nets.called(name, input_of(name), train=train)
    import mindspore as ms

    from benchmarks.nets import NETWORKS

    ms.set_context(mode=ms.GRAPH_MODE)
    if who == "ours":
        import ms_fusion as mf

        mf.enable(generator="ms_fusion")
    net, x = NETWORKS[name].net(train=train), NETWORKS[name].input(batch)
    net.compile(x)
    return lambda: net(x).asnumpy()


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        child(*json.loads(sys.argv[2]))
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
