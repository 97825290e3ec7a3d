"""`custom_ops` in MindSpore: ``python -m benchmarks.mindspore_operators [operator …]``.

Graph mode, 16M float32 elements, most in rows of 1024: forward, and the gradients of inputs and
weights. The optimizers update 16 parameters of 1M elements and 200 small ones. Each line has our
kernel (``native``), the same from MindSpore's basic operators, unfused (``composite``), MindSpore's
own operator where it exists (``built in``), torch and torch.compile where they are installed
(`benchmarks.torch_operators`), and the fastest way to move the required bytes (``ceiling``),
interleaved in one run. A call count confirms that our kernel ran. `QUICK=1` is the short form, with
half of the elements.

Ratios are medians of both times in the same round; on a busy machine they are ratios of the minimum
times.

The column after ``÷ composite`` is the highest possible speed-up: the composite's time divided by
the ceiling's.

Targets: native at least 3 times as fast as the composite where it is memory-bound, or at 80 % of
the ceiling, beyond which no gain is possible; never slower than the built-in operator, torch and
torch.compile. Differences below 15 % are ties.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

from benchmarks import ceilings, peers, torch_operators
from benchmarks.measuring import (
    Samples,
    describe_machine,
    in_turns,
    is_quick,
    largest_error,
    ratio,
    write,
)
from benchmarks.mindspore_cases import (
    LARGE,
    OPTIMIZERS,
    PARAMETERS,
    Case,
    cases,
    inputs_of,
    optimizers,
)
from custom_ops.core import dispatch
from tbe_impl import environment

TIE = 1.0 / 1.15
TIMES_THE_COMPOSITE = 3.0
NEAR_THE_CEILING = 0.8
RIVALS = {"composite": TIMES_THE_COMPOSITE, "built in": TIE, "torch": TIE, "torch.compile": TIE}
"""Required speed-up of native over each of them."""

WIDTHS = {"composite": 27}
"""Widths of columns."""

Run = Callable[[], Any]


class Step(nn.Cell):
    """The gradients of an operator's weighted result sum for its inputs and weights."""

    def __init__(self, cell: nn.Cell):
        super().__init__()
        self.cell = cell
        self.weights = ms.ParameterTuple(cell.trainable_params())
        self.has_weights = len(self.weights) > 0
        self.slope = ops.GradOperation(get_all=True, get_by_list=self.has_weights, sens_param=True)

    def construct(self, weight: Any, *inputs: Any) -> Any:
        if self.has_weights:
            return self.slope(self.cell, self.weights)(*inputs, weight)
        return self.slope(self.cell)(*inputs, weight)


BUSY = os.getloadavg()[0] > (os.cpu_count() or 1) / 4
"""Whether other processes load the cores at the start."""


def main(wanted: Sequence[str]) -> int:
    """Runs the operators with the given name prefixes, or all; returns 1 when a result is wrong."""
    missing = peers.prepare_torch(environment.threads())
    if missing:
        print(f"torch takes no part: {missing}")
    torch_operators.keep_memory()
    ms.set_context(mode=ms.GRAPH_MODE)
    record: dict[str, Any] = {
        **describe_machine(),
        "mindspore": ms.__version__,
        "torch": peers.torch_version(),
        "lines": [],
    }
    print(
        f"{record['processor']}, {record['threads']} threads, MindSpore {ms.__version__}, torch "
        f"{record['torch'] or 'absent'}, load {record['load_before']}"
    )
    if BUSY:
        print("Other processes use the cores: ratios are of least times.")
    heads = "".join(f"{'÷ ' + rival:>{WIDTHS.get(rival, 17)}}" for rival in RIVALS)
    print(f"{'operator':<22} {'what':<9} {'native':>10}{heads}  of the ceiling")
    chosen, lines = tuple(wanted) or ("",), record["lines"]
    for name, case in cases(LARGE // 2 if is_quick() else LARGE).items():
        if name.startswith(chosen):
            lines += _both_ways(name, case, with_torch=not missing)
    for name in OPTIMIZERS:
        for what, (count, size) in PARAMETERS.items():
            if name.startswith(chosen):
                gradients = [np.full(size, 0.01 * (i + 1), np.float32) for i in range(count)]
                runs = optimizers(name, gradients)
                if not missing:
                    runs |= torch_operators.optimizers(name, gradients)
                lines.append(_line(name, what, runs, {}))
    write("mindspore_operators", record)
    return 0 if all(line["right"] for line in lines) else 1


def times(one: Samples, other: Samples) -> float:
    """Ratio of the times of one and the other."""
    return one.least / other.least if BUSY else ratio(one, other)


def _both_ways(name: str, case: Case, *, with_torch: bool) -> list[dict[str, Any]]:
    found = []
    arrays = inputs_of(case)
    cells = cells_of(case)
    for what, runs in runs_of(case, tuple(cells), cells=cells).items():
        moved = case.forward if what == "forward" else case.gradient
        if moved and what == "gradient" and reads_result(cells["native"]):
            moved = (moved[0], moved[1] + 1)
        if with_torch:
            weight = cells["native"](*map(Tensor, arrays))
            runs |= _in_torch(name, case, arrays, cells["native"], weight, what)
        moving = ceilings.moving(*moved, case.shapes[0]) if moved else {}
        found.append(_line(name, what, runs, moving))
    return found


def reads_result(cell: Any) -> bool:
    """Whether the gradient reads the forward result, which training has already written."""
    spec = getattr(cell, "spec", None)
    return spec is not None and any(name in spec.visible_outputs for name in spec.saves or ())


def runs_of(
    case: Case, whose: Sequence[str], *, cells: Mapping[str, Any] | None = None
) -> dict[str, dict[str, Run]]:
    """``forward`` and ``gradient`` → contestant → call."""
    cells = cells or cells_of(case)
    inputs = [Tensor(array) for array in inputs_of(case)]
    found = {"forward": {who: call(cells[who], inputs) for who in whose}}
    if case.trains:
        given = [cells["native"](*inputs), *inputs]
        found["gradient"] = {who: call(Step(cells[who]), given) for who in whose}
    return found


def cells_of(case: Case) -> dict[str, Any]:
    """All MindSpore implementations, with the weights of ours."""
    cells = {route: case.made(route) for route in ("native", "composite")}
    if case.built_in is not None:
        cells["built in"] = case.built_in()
    own = {one.name.rpartition(".")[2]: one for one in cells["native"].get_parameters()}
    for who in cells.keys() - {"native"}:
        for one in cells[who].get_parameters():
            source = own.get(one.name.rpartition(".")[2])
            if source is not None and source.shape == one.shape:
                one.set_data(Tensor(source.asnumpy()))
    return cells


def _in_torch(
    name: str, case: Case, arrays: list[np.ndarray], cell: Any, weight: Any, what: str
) -> dict[str, Run]:
    floating = len(case.shapes)
    weights = [one.asnumpy() for one in cell.trainable_params()]
    return torch_operators.peers(
        name,
        arrays[:floating],
        weights,
        arrays[floating:],
        flat(weight),
        gradient=what == "gradient",
        with_result=reads_result(cell),
    )


def _line(name: str, what: str, runs: dict[str, Run], moving: Mapping[str, Run]) -> dict[str, Any]:
    before = dispatch.count_calls()
    first = {"native": flat(runs["native"]())}
    ran = dispatch.count_calls() - before
    first |= {who: flat(run()) for who, run in runs.items() if who != "native"}
    off = largest_error(list(first.values()), [first["native"].astype(np.float64)] * len(first))
    found = in_turns({**runs, **moving}, rounds=7 if is_quick() else 15, pause_s=0.005, slow_s=10.0)
    native, line = found["native"], {"operator": name, "what": what}
    line |= {
        "right": off <= 1e-2 and ran > 0,
        "differs": off,
        "calls": ran,
        **{who: samples.record() for who, samples in found.items()},
    }
    best = min((who for who in moving), key=lambda who: found[who].median, default="")
    share = times(found[best], native) if best else 0.0
    if best:
        line["share_of_ceiling"] = round(share, 3)
    shown = f"{name:<22} {what:<9} {native.median * 1e3:>7.2f} ms"
    for rival in RIVALS:
        shown += _against(rival, line, found, near=share >= NEAR_THE_CEILING)
    print(
        shown + (f" {share:>6.0%}" if best else "") + ("" if line["right"] else "  WRONG"),
        flush=True,
    )
    return line


def _against(rival: str, line: dict[str, Any], found: Mapping[str, Samples], *, near: bool) -> str:
    """Records and prints a ratio; the fastest of several torch variants counts."""
    those = [who for who in found if who == rival or (rival == "torch" and who == "torch foreach")]
    if not those:
        return f"{'':>{WIDTHS.get(rival, 17)}}"
    quicker = min(times(found[who], found["native"]) for who in those)
    line["times_" + rival.replace(" ", "_").replace(".", "_")] = round(quicker, 2)
    memory_bound = "share_of_ceiling" in line
    target = RIVALS[rival] if memory_bound or rival != "composite" else TIE
    far = "" if quicker >= target else " at ceiling" if near and rival == "composite" else " short"
    bound = (
        f" of {quicker / line['share_of_ceiling']:.1f}"
        if memory_bound and rival == "composite"
        else ""
    )
    return f"{f'{quicker:.2f} ×{bound}{far}':>{WIDTHS.get(rival, 17)}}"


def call(cell: Any, inputs: list[Any]) -> Run:
    """A call of a Cell."""
    return lambda: cell(*inputs)


def flat(made: Any) -> np.ndarray:
    """The first result as an array."""
    while isinstance(made, (tuple, list)):
        made = made[0]
    return np.asarray(made.asnumpy() if hasattr(made, "asnumpy") else made.detach().numpy())


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
