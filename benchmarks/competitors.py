"""A network, or its training step, in a process of its own that makes a call whenever it is told to.

- ours: `mf.enable(generator="ms_fusion")`.
- unfused: MindSpore without fusion; repaired: the same, its convolution repaired by ``ONEDNN_MAX_CPU_ISA=AVX2``; as it comes: the
  same, when a call takes so long that its first is the one to be timed.
- torch, torch.compile: eager, and compiled as a whole for static shapes; the same weights.
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

from benchmarks.measuring import in_turns, largest_error, ratio, settle

RESULTS_SENT = 4096
ENVIRONMENT = {"repaired": {"ONEDNN_MAX_CPU_ISA": "AVX2"}}
MODULE = "benchmarks.competitors"


class Competitor:
    """A process that makes a call whenever it is told to.

    Args:
        who: as above.
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


def compared(
    name: str, rivals: Sequence[str], *, train: bool, rounds: int
) -> tuple[dict[str, Any], str]:
    """Ours and its rivals, called in turns: a line of the record, and of the screen."""
    with ExitStack() as running:
        all_of_them = {who: running.enter_context(Competitor(who, name, train=train)) for who in ("ours", *rivals)}  # fmt: skip
        found = in_turns(all_of_them, rounds=rounds, slow_s=5.0, pause_s=0.02)
    ours = all_of_them["ours"].first
    off = {who: largest_error([ours], [all_of_them[who].first.astype(np.float64)]) for who in rivals}  # fmt: skip
    line: dict[str, Any] = {
        "network": name, "what": "training" if train else "inference", "differs": off, "right": max(off.values()) <= 1e-3,
        **{who: item.record() for who, item in found.items()},
        **{f"times_{who}": round(ratio(found[who], found["ours"]), 2) for who in rivals},
    }  # fmt: skip
    line |= {f"times_{who}_least": round(found[who].least / found["ours"].least, 2) for who in rivals}  # fmt: skip
    shown = f"{name:<12} {line['what']:<9} ours {found['ours'].median * 1e3:8.2f} ms (least {found['ours'].least * 1e3:.2f})"
    shown += "".join(f"   {who} {found[who].median * 1e3:8.2f} ms {line[f'times_{who}']:6.2f} × (least {line[f'times_{who}_least']:.2f})" for who in rivals)  # fmt: skip
    return line, shown


def taking_part(*rivals: str) -> tuple[str, ...]:
    """Those who can, without those that ``WITHOUT`` names (with commas between): torch.compile takes a minute or two to begin."""
    left_out = {name.strip() for name in os.environ.get("WITHOUT", "").split(",")}
    torch = subprocess.run([sys.executable, "-c", "import torch"], capture_output=True, check=False).returncode == 0  # fmt: skip
    return tuple(who for who in rivals if who not in left_out and (torch or not who.startswith("torch")))  # fmt: skip


def child(who: str, name: str, train: bool, batch: int) -> None:
    """Prepares, tells what the first call gave, then makes a call for each line that it is sent."""
    call = _call(who, name, train=train, batch=batch)
    start = time.perf_counter()
    first = np.asarray(call()).reshape(-1)[:RESULTS_SENT]
    if who == "as it comes":
        _tell(time.perf_counter() - start)
    else:
        settle(call)
        _tell(first.tolist())
    for _ in sys.stdin:
        start = time.perf_counter()
        call()
        _tell(time.perf_counter() - start)


def _tell(answer: Any) -> None:
    print("ANSWER", json.dumps(answer), flush=True)


def _call(who: str, name: str, *, train: bool, batch: int) -> Callable[[], np.ndarray]:
    if who.startswith("torch"):
        import torch

        from benchmarks import torch_nets
        from benchmarks.network_inputs import input_of
        from tbe_impl import environment

        torch.set_num_threads(environment.threads())
        return torch_nets.called(
            name, input_of(name, batch), train=train, whole=who == "torch.compile"
        )
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
    child(*json.loads(sys.argv[2]))
