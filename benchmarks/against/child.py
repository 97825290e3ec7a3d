"""The process of one side: times workloads with the packages of the tree in ``PYTHONPATH``.

It is started as a file, so that ``sys.path`` holds nothing else of this repository. ``child.py TREE
group NAME`` serves the workloads of a group, ``child.py TREE start`` those timed from a fresh
state, ``child.py TREE import`` times the import.
"""

from __future__ import annotations

import json
import os
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

SETTLE_S, SETTLE_CALLS = 0.6, 60
"""MindSpore tries thread counts in the first 50 calls of a net."""
BLOCKS = 16
COMPARED = 256


def main() -> None:
    tree, mode, *names = sys.argv[1:]
    if mode == "import":
        start = time.process_time()
        import ms_fusion

        _tell(time.process_time() - start)
        assert ms_fusion.__file__
        return _check(tree)
    import ms_fusion

    _check(tree)
    if mode == "start":
        return _answer_starts()
    return _answer_group(names[0])


def _check(tree: str) -> None:
    """Checks that the packages are those of the tree, not the installed ones."""
    for package in ("ms_fusion", "tbe_impl", "custom_ops"):
        place = Path(str(__import__(package).__file__)).resolve()
        assert Path(tree).resolve() in place.parents, f"{package} is {place}, not of {tree}"


def _tell(answer: Any) -> None:
    print("ANSWER", json.dumps(answer), flush=True)


def _answer_group(name: str) -> None:
    import mindspore as ms
    from workloads import GROUPS

    import ms_fusion as mf

    ms.set_context(mode=ms.GRAPH_MODE)
    mf.enable(generator="ms_fusion")
    calls: dict[str, Callable[[], Any]] = {}
    ready: dict[str, Any] = {}
    for workload in GROUPS[name]:
        try:
            call = workload.make()
            first = _sample_values(call())
        except Exception as error:  # noqa: BLE001 - left out of the line
            ready[workload.name] = {"failed": f"{type(error).__name__}: {error}"[:300]}
            continue
        _settle(call)
        calls[workload.name] = call
        ready[workload.name] = {"first": first, "once_s": _seconds(call, 3)}
    _tell(ready)
    for line in sys.stdin:
        asked, count = json.loads(line)
        _seconds(calls[asked], max(1, count // 2))
        _tell(_lower_quartile(calls[asked], count))


def _sample_values(made: Any) -> list[float]:
    import numpy as np

    first = made[0] if isinstance(made, tuple) else made
    array = np.asarray(first.asnumpy() if hasattr(first, "asnumpy") else first)
    return [float(one) for one in array.reshape(-1)[:COMPARED]]


def _settle(call: Callable[[], Any]) -> None:
    begin, made = time.perf_counter(), 0
    while made < SETTLE_CALLS or time.perf_counter() - begin < SETTLE_S:
        call()
        made += 1
        if time.perf_counter() - begin > 4 * SETTLE_S:
            break


def _seconds(call: Callable[[], Any], count: int) -> float:
    start = time.perf_counter()
    for _ in range(count):
        call()
    return (time.perf_counter() - start) / count


def _lower_quartile(call: Callable[[], Any], count: int) -> float:
    """The lower quartile of the times of up to `BLOCKS` blocks.

    Other load on the machine only adds to a time.
    """
    blocks = min(count, BLOCKS)
    times = sorted(_seconds(call, count // blocks) for _ in range(blocks))
    return times[(blocks - 1) // 4]


def _answer_starts() -> None:
    """Times each start in a fork, where MindSpore is imported but not used."""
    import mindspore  # noqa: F401
    import workloads

    _tell("ready")
    for line in sys.stdin:
        asked, place = json.loads(line)
        reading, writing = os.pipe()
        pid = os.fork()
        if not pid:
            start = time.perf_counter()
            try:
                getattr(workloads, asked)(Path(place))
                told = json.dumps(time.perf_counter() - start)
            except Exception as error:  # noqa: BLE001 - see above
                told = json.dumps(f"{type(error).__name__}: {error}"[:300])
            os.write(writing, told.encode())
            os._exit(0)
        os.close(writing)
        with os.fdopen(reading) as stream:
            told = stream.read()
        os.waitpid(pid, 0)
        _tell(json.loads(told or '"it died"'))


if __name__ == "__main__":
    main()
