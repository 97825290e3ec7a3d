"""Operators written as MindSpore users write them, in graph mode: ``python -m benchmarks.fused_in_mindspore [OPERATOR …]``.

16M elements in rows of 1024: unfused, with MindSpore's own fusion as it comes (``--opt_level=2``), and in groups built by us, beside
the ceiling, the quickest way to move the bytes, and beside the same in a kernel of ours that MindSpore calls, which is as quick
as any that it calls can be: what a call of MindSpore takes is in both. Each generator runs in a process of its own, since MindSpore keeps kernels
by name; there it is timed in turns with the unfused net and the ceiling, and the two processes are compared by their shares of
that ceiling. Results are compared with formulas in float64. ``QUICK=1`` measures 1M elements in few rounds.
"""

from __future__ import annotations

import json
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from benchmarks.measuring import PLACE, described, in_turns, is_quick, largest_error, ratio, write
from benchmarks.operators import OPERATORS

GENERATORS = ("mindspore", "ms_fusion")
CHECKED_ROWS = 64
BLOCK_S = 0.03
"""Calls in a row: MindSpore calls kernels on a thread of its own, whose helpers are in the way of the next competitor's at first."""
TOLERANCE = {"float32": 2e-6, "float16": 2e-3}
"""Of ours, for |found − expected| ÷ (1 + |expected|)."""


@dataclass(frozen=True)
class Line:
    """What is measured, and what has to be reached.

    Attributes:
        operator: its name in `benchmarks.operators.OPERATORS`, where its formula and its inputs are.
        dtype: of inputs and results.
        ceiling: the share of the memory ceiling.
        own_fusion, unfused: how many times as fast as these; 0 for nothing.
    """

    operator: str
    dtype: str
    ceiling: float
    own_fusion: float = 0.0
    unfused: float = 0.0


LINES = (
    Line("swish", "float32", 0.90, own_fusion=3.0),
    Line("chain", "float32", 0.90, own_fusion=1.4, unfused=5.0),
    Line("softmax", "float32", 0.75, own_fusion=2.5),
    Line("layer_norm", "float32", 0.75, own_fusion=3.0),
    Line("swish", "float16", 0.60),
)


def main(wanted: Sequence[str]) -> int:
    """Measures those operators, or all; 1 when a result of ours is wrong."""
    record: dict[str, Any] = {**described(), "lines": []}
    print(f"{record['processor']}, {record['threads']} threads, load {record['load_before']}")
    PLACE.mkdir(parents=True, exist_ok=True)
    found: dict[str, list[dict[str, Any]]] = {}
    for generator in GENERATORS:
        file = PLACE / f"fused_in_mindspore-{generator}.json"
        subprocess.run([sys.executable, "-m", "benchmarks.fused_in_mindspore", "--child", generator, str(file), *wanted], check=True)  # fmt: skip
        found[generator] = json.loads(file.read_text("utf-8"))
        file.unlink()
    print(f"{'operator':<11} {'dtype':<8} {'ours':>9} {'of the ceiling':>15} {'in MindSpore':>13} {'÷ own fusion':>13} {'÷ unfused':>10}")  # fmt: skip
    for line, own, ours in zip(_lines(wanted), *found.values(), strict=True):
        record["lines"].append(_compared(line, own, ours))
    write("fused_in_mindspore", record)
    return 0 if all(item["right"] for item in record["lines"]) else 1


def _lines(wanted: Sequence[str]) -> list[Line]:
    return [line for line in LINES if not wanted or line.operator in wanted]


def _compared(line: Line, own: Mapping[str, Any], ours: Mapping[str, Any]) -> dict[str, Any]:
    asked = {"ceiling": line.ceiling, "own_fusion": line.own_fusion, "unfused": line.unfused}
    reached = {"ceiling": ours["share"], "own_fusion": ours["share"] / own["share"], "unfused": ours["times_unfused"]}  # fmt: skip
    short = [name for name, target in asked.items() if reached[name] < target]
    shown = f"{line.operator:<11} {line.dtype:<8} {ours['fused']['median_us'] / 1e3:>6.2f} ms {reached['ceiling']:>15.0%} {ours['share_inside']:>13.0%} {reached['own_fusion']:>13.2f} × {reached['unfused']:>8.2f} ×"  # fmt: skip
    missed = (
        f"  (short of {', '.join(f'{name} {asked[name]:g}' for name in short)})" if short else ""
    )
    print(shown + missed + ("" if ours["right"] else "  WRONG"))
    return {"operator": line.operator, "dtype": line.dtype, "asked": asked, "reached": reached, "right": ours["right"], **dict(zip(GENERATORS, (own, ours), strict=True))}  # fmt: skip


def measure(generator: str, wanted: Sequence[str]) -> list[dict[str, Any]]:
    """The lines of one generator, in this process."""
    import mindspore as ms

    ms.set_context(mode=ms.GRAPH_MODE)
    return [_measured(line, generator) for line in _lines(wanted)]


def _measured(line: Line, generator: str) -> dict[str, Any]:
    from mindspore import Tensor

    import ms_fusion as mf
    from benchmarks.ceilings import moving
    from benchmarks.operator_nets import OPERATOR_NETS

    measured = OPERATORS[line.operator]
    shape = (1024, 1024) if is_quick() else (16384, 1024)
    arrays = measured.inputs(shape, line.dtype)
    inputs = [Tensor(item) for item in arrays]
    own = generator == "mindspore"
    flags = "--opt_level=2" if own else None
    with mf.fusion("off" if own else "auto", flags=flags, generator=generator):
        fused = _call(OPERATOR_NETS[line.operator](), inputs)
        made = fused().asnumpy()[:CHECKED_ROWS]
    with mf.fusion("off"):
        unfused = _call(OPERATOR_NETS[line.operator](), inputs)
        unfused()
    rows = [item[:CHECKED_ROWS].astype(np.float64) if item.shape == shape else item.astype(np.float64) for item in arrays]  # fmt: skip
    expected = measured.formula(*rows)
    # of arrays of float32: as many bytes
    moved = (shape[0] * np.dtype(line.dtype).itemsize // 4, shape[1])
    read = sum(item.shape == shape for item in arrays)
    ways = moving(read, 1, moved)
    inside = {} if own else {"ceiling in MindSpore": _moving_inside(read, moved)}
    found = in_turns(
        {"fused": fused, "unfused": unfused, **ways, **inside},
        rounds=7 if is_quick() else 19,
        block_s=BLOCK_S,
    )
    share = min(ratio(found[way], found["fused"]) for way in ways)
    return {
        "share": round(share, 4),
        "share_inside": round(
            min((ratio(found[way], found["fused"]) for way in inside), default=0.0), 4
        ),
        "times_unfused": round(ratio(found["unfused"], found["fused"]), 3),
        "right": largest_error([made], expected) <= TOLERANCE[line.dtype],
        **{kind: samples.record() for kind, samples in found.items()},
    }


def _moving_inside(read: int, shape: tuple[int, int]) -> Callable[[], Any]:
    """Reads so many arrays of float32 and writes one, in a kernel of ours that MindSpore calls."""
    from mindspore import Tensor

    import ms_fusion as mf
    from benchmarks.operator_nets import Moving

    generator = np.random.default_rng(20250101)
    inputs = [Tensor(generator.standard_normal(shape, np.float32)) for _ in range(read)]
    with mf.fusion("auto", generator="ms_fusion"):
        call = _call(Moving(), inputs)
        call()
    return call


def _call(net: Any, inputs: Sequence[Any]) -> Callable[[], Any]:
    # in graph mode on CPU a call ends when its kernels have
    return lambda: net(*inputs)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--child"]:
        Path(sys.argv[3]).write_text(json.dumps(measure(sys.argv[2], sys.argv[4:])), "utf-8")
        sys.exit(0)
    sys.exit(main(sys.argv[1:]))
