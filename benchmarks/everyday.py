"""Small training scripts, fused and unfused: ``python -m benchmarks.everyday [names]``.

Measures the scripts of `benchmarks.everyday_nets` in graph mode. With ``--pynative`` it compares
the step function compiled by `mf.enable(step=…)` with the plain function. The calls are interleaved
in one process, from the same weights. The losses of three steps are compared, except those with
dropout in PyNative mode, which draws other random numbers.

Target: nowhere below `TIE` of the unfused speed.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from benchmarks.measuring import (
    describe_machine,
    in_turns,
    is_quick,
    largest_error,
    ratio,
    settle,
    write,
)

PYNATIVE = "--pynative"
TIE = 0.87
STEPS = 3
"""Steps whose losses are compared."""


def main(wanted: Sequence[str]) -> int:
    """Measures the named scripts, or all; returns 1 when a result is wrong."""
    import mindspore as ms

    from benchmarks.everyday_nets import SCRIPTS

    pynative = PYNATIVE in wanted
    names = [name for name in SCRIPTS if name in wanted or set(wanted) <= {PYNATIVE}]
    ms.set_context(mode=ms.PYNATIVE_MODE if pynative else ms.GRAPH_MODE)
    record: dict[str, Any] = {**describe_machine(), "pynative": pynative, "lines": []}
    print(f"{record['processor']}, {record['threads']} threads, load {record['load_before']}")
    for name in names:
        record["lines"].append(_line(name, _step_functions if pynative else _cells))
    write("everyday-pynative" if pynative else "everyday", record)
    return 0 if all(line["right"] for line in record["lines"]) else 1


def _line(name: str, made: Callable[[Any, Any], dict[str, Any]]) -> dict[str, Any]:
    from benchmarks.everyday_nets import SCRIPTS

    script = SCRIPTS[name]
    inputs = script.inputs()
    steps = made(script, inputs)
    losses = {kind: [_array(step(*inputs)) for _ in range(STEPS)] for kind, step in steps.items()}
    calls = {kind: _call(step, inputs) for kind, step in steps.items()}
    for call in calls.values():
        settle(call)
    found = in_turns(calls, rounds=9 if is_quick() else 30, block_s=0.01, slow_s=0.3)
    off = largest_error(losses["ours"], [item.astype(np.float64) for item in losses["unfused"]])
    may_differ = script.draws and made is _step_functions
    faster = ratio(found["unfused"], found["ours"])
    least = found["unfused"].least / found["ours"].least
    line = {
        "script": name,
        "right": may_differ or off <= 1e-3,
        "differs": off,
        "times_unfused": round(faster, 2),
        "times_unfused_least": round(least, 2),
        **{kind: samples.record() for kind, samples in found.items()},
    }
    shown = "   ".join(
        f"{kind} {one.median * 1e3:8.2f} ms (least {one.least * 1e3:.2f})"
        for kind, one in found.items()
    )
    short = "  (short)" if max(faster, least) < TIE else ""
    print(
        f"{name:<19} {shown}   {faster:5.2f} × (least {least:.2f}){short}"
        + ("" if line["right"] else "  WRONG"),
        flush=True,
    )
    return line


def _cells(script: Any, inputs: Any) -> dict[str, Any]:
    """The step as a Cell, compiled with and without fusion."""
    from mindspore import nn

    import ms_fusion as mf

    steps = {}
    for kind, preset in (("ours", "auto"), ("unfused", "off")):
        with mf.fusion(preset, generator="ms_fusion"):
            steps[kind] = nn.TrainOneStepCell(*script.build()).set_train()
            steps[kind].compile(*inputs)
    return steps


def _step_functions(script: Any, inputs: Any) -> dict[str, Any]:
    """The step as a function, compiled as a whole by us and unchanged, each after its first call.

    MindSpore's optimizers are compiled functions from their first call, also in PyNative mode.
    """
    import mindspore as ms

    import ms_fusion as mf

    def step_of(net: Any, optimizer: Any) -> Callable[..., Any]:
        gradient = ms.value_and_grad(net, None, optimizer.parameters)

        def step(*inputs: Any) -> Any:
            loss, gradients = gradient(*inputs)
            optimizer(gradients)
            return loss

        return step

    unfused = step_of(*script.build())
    with mf.fusion("off"):
        unfused(*inputs)
    ours: Any = mf.enable(step=step_of(*script.build()), generator="ms_fusion").step
    ours(*inputs)
    return {"ours": ours, "unfused": unfused}


def _call(step: Any, inputs: Any) -> Callable[[], Any]:
    return lambda: _array(step(*inputs))


def _array(made: Any) -> np.ndarray:
    return np.asarray(made.asnumpy())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
