"""``python -m benchmarks.against COMMIT``: is the working tree slower than that commit?

The commit is unpacked into ``build/against``. Each group of workloads runs in two processes, one
with the packages of the commit and one with those of the working tree; their calls alternate. A
ratio is the commit's time ÷ the working tree's: above 1 the working tree is faster. Both sides use
public names only and the same inputs; their results are compared.

A run fails if the geometric mean of a group is below 0.98 or a line is below 0.85 and the spread
does not explain it: if the upper quartile of the rounds is above 1, the noise of the machine is
larger than the difference of the trees. The exit code is 1 when the same group or line fails in two
of three runs or when results differ, and 2 when the commit cannot be unpacked. The third run
measures only the groups that failed in one of the first two.
"""

from __future__ import annotations

import argparse
import io
import json
import math
import os
import statistics
import subprocess
import sys
import tarfile
import tempfile
import time
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from benchmarks.against.workloads import GROUPS, Workload
from benchmarks.child_process import ChildProcess

ROOT = Path(__file__).resolve().parents[2]
CHILD = Path(__file__).with_name("child.py")
PACKAGES = ("ms_fusion", "custom_ops", "tbe_impl")
GROUP_MEAN, LINE = 0.98, 0.85
PAIRS, ROUNDS, BLOCK_S, PAUSE_S = 2, 13, 0.03, 0.01
"""Pairs of processes per group, rounds per pair. Several pairs: memory placement makes one process
faster than its twin.
"""
MORE_PAIRS = {"ONNX": 4, "call overhead": 4}
"""Pairs for groups of nets with many kernels: MindSpore's choice of threads in the first calls
varies between processes.
"""
STARTS = "start-up"
IMPORTS, ENABLES, KERNELS, NETS = 15, 9, 7, 3
"""Repetitions of each start per run and side."""


@dataclass(frozen=True)
class Side:
    """One of the two trees.

    Attributes:
        name: name in the table.
        tree: directory of its packages.
        cache: its kernel cache; persists between runs.
    """

    name: str
    tree: Path
    cache: Path


@dataclass
class Run:
    """Results of one run by group and line.

    Attributes:
        ratios: medians.
        upper: upper quartiles.
        wrong: workloads with different results or errors.
    """

    ratios: dict[str, dict[str, float]] = field(default_factory=dict)
    upper: dict[str, dict[str, float]] = field(default_factory=dict)
    wrong: list[str] = field(default_factory=list)

    def mean(self, group: str) -> float:
        """Geometric mean of the ratios of a group."""
        return geometric_mean(self.ratios[group].values())

    def is_slower(self, group: str) -> bool:
        """Whether the group's mean is below the limit and that of its upper quartiles below 1."""
        return self.mean(group) < GROUP_MEAN and geometric_mean(self.upper[group].values()) < 1

    def is_line_slower(self, group: str, name: str) -> bool:
        """Whether the line's ratio is below the limit and its upper quartile is below 1."""
        return self.ratios[group][name] < LINE and self.upper[group][name] < 1

    @property
    def slower_names(self) -> set[str]:
        """Groups and lines that are slower."""
        groups = {group for group in self.ratios if self.is_slower(group)}
        lines = {
            f"{group}: {name}"
            for group, found in self.ratios.items()
            for name in found
            if self.is_line_slower(group, name)
        }
        return groups | lines


def geometric_mean(ratios: Iterable[float]) -> float:
    """Geometric mean: a ratio and its inverse cancel."""
    return math.exp(statistics.fmean(map(math.log, ratios)))


class Process(ChildProcess):
    """The child process of one side."""

    def __init__(self, side: Side, *told: str):
        variables = {k: v for k, v in os.environ.items() if not k.startswith(("MS_", "PYTHON"))}
        variables |= {
            "PYTHONPATH": str(side.tree),
            "MS_FUSION_CACHE_DIR": str(side.cache),
            "GLOG_v": "4",
        }
        self.side = side
        command = [sys.executable, str(CHILD), str(side.tree), *told]
        super().__init__(f"the process of {side.name}", command, variables, side.cache)


@contextmanager
def both(sides: Sequence[Side], *told: str) -> Iterator[tuple[Process, Process]]:
    """Starts one process for each side."""
    with ExitStack() as running:
        one, other = (running.enter_context(Process(side, *told)) for side in sides)
        yield one, other


def in_turns(sides: Sequence[Any], rounds: int, timed: Any) -> list[float]:
    """Ratio first ÷ second of each round; the order alternates."""
    ratios = []
    for number in range(rounds):
        order = sides if number % 2 else sides[::-1]
        seconds = {id(one): timed(one) for one in order}
        ratios.append(seconds[id(sides[0])] / seconds[id(sides[1])])
    return ratios


def measure_group(run: Run, group: str, sides: Sequence[Side]) -> None:
    """Measures the lines of a group, each in several pairs of processes."""
    ratios: dict[str, list[list[float]]] = {}
    seconds: dict[str, float] = {}
    for _ in range(MORE_PAIRS.get(group, PAIRS)):
        with both(sides, "group", group) as processes:
            ready = [one.answer() for one in processes]
            for workload in GROUPS[group]:
                told = [one[workload.name] for one in ready]
                if _runs_alike(run, group, workload, told):
                    found = _rounds(processes, workload, max(one["once_s"] for one in told))
                    ratios.setdefault(workload.name, []).append(found)
                    seconds[workload.name] = told[1]["once_s"]
    for name, found_by_pair in ratios.items():
        _tell(run, group, name, found_by_pair, seconds[name])


def _runs_alike(run: Run, group: str, workload: Workload, told: Sequence[Any]) -> bool:
    """Whether both sides run the workload; records a result that differs as wrong."""
    if any("failed" in one for one in told):
        _report_failure(run, group, workload.name, [one.get("failed", "it runs") for one in told])
        return False
    first, second = (one["first"] for one in told)
    off = max(abs(a - b) / (1 + abs(b)) for a, b in zip(first, second, strict=True))
    if not off <= workload.tolerance:
        run.wrong.append(f"{group}: {workload.name}: results differ by {off:.2g}")
    return True


def _rounds(processes: Sequence[Process], workload: Workload, once_s: float) -> list[float]:
    """The ratios of one pair of processes."""
    asked = json.dumps([workload.name, max(1, int(BLOCK_S / once_s))])

    def ask_time(process: Process) -> float:
        time.sleep(PAUSE_S)
        return float(process.ask(asked))

    return in_turns(processes, ROUNDS, ask_time)


def measure_starts(run: Run, sides: Sequence[Side]) -> None:
    """Measures the start of a fresh process."""

    def time_import(side: Side) -> float:
        with Process(side, "import") as process:
            return float(process.answer())

    in_turns(sides, 1, time_import)  # writes the byte code
    _tell(
        run,
        STARTS,
        "import ms_fusion",
        [in_turns(sides, IMPORTS, time_import)],
        time_import(sides[1]),
    )
    with both(sides, "start") as processes, tempfile.TemporaryDirectory() as place:
        for one in processes:
            one.answer()
        for name, asked, rounds in (
            ("enable(), warm", "warm_enable", ENABLES),
            ("kernel, cold", "cold_kernel", KERNELS),
            ("net, cold", "cold_net", NETS),
        ):
            failed = {}

            def answer_time(process: Process, asked: str = asked) -> float:
                cache = str(process.side.cache)
                if asked.startswith("cold"):
                    cache = tempfile.mkdtemp(dir=place)
                told = process.ask(json.dumps([asked, cache]))
                if isinstance(told, str):
                    failed[process.side.name] = told  # noqa: B023 - called within the loop
                return 1.0 if isinstance(told, str) else float(told)

            if asked == "warm_enable":
                in_turns(processes, 1, answer_time)
            ratios = in_turns(processes, rounds, answer_time)
            if failed:
                _report_failure(run, STARTS, name, [f"{who}: {why}" for who, why in failed.items()])
            else:
                _tell(run, STARTS, name, [ratios], answer_time(processes[1]))


def _report_failure(run: Run, group: str, name: str, reasons: Sequence[str]) -> None:
    print(f"  {name:<32} left out: {'; '.join(reasons)}", flush=True)
    run.wrong.append(f"{group}: {name} does not run")


def _tell(
    run: Run, group: str, name: str, ratios: Sequence[Sequence[float]], seconds: float
) -> None:
    """A line: the median over the pairs of their medians, and the quartiles of all rounds."""
    low, _, high = statistics.quantiles([one for pair in ratios for one in pair], n=4)
    middle = math.exp(statistics.median(math.log(statistics.median(one)) for one in ratios))
    run.ratios.setdefault(group, {})[name] = middle
    run.upper.setdefault(group, {})[name] = high
    mark = "  slower" if run.is_line_slower(group, name) else ""
    print(
        f"  {name:<32} {middle:6.3f}  ({low:.3f} … {high:.3f})  {seconds * 1e3:10.3f} ms{mark}",
        flush=True,
    )


def measure(groups: Sequence[str], sides: Sequence[Side], number: int) -> Run:
    """One run over these groups."""
    run, begin = Run(), time.monotonic()
    print(f"run {number}: {sides[0].name} ÷ {sides[1].name}, above 1 is quicker now", flush=True)
    for group in groups:
        print(f" {group}", flush=True)
        if group == STARTS:
            measure_starts(run, sides)
        else:
            measure_group(run, group, sides)
        if run.ratios.get(group):
            mark = "  slower" if run.is_slower(group) else ""
            print(f"  {'geometric mean':<32} {run.mean(group):6.3f}{mark}")
    print(f"run {number} took {time.monotonic() - begin:.0f} s", flush=True)
    return run


def unpack(commit: str, place: Path) -> tuple[str, Path]:
    """Unpacks the packages of a commit below `place`; returns the short name and the directory.

    Raises:
        LookupError: there is no such commit.
    """
    asked = ["git", "rev-parse", "--verify", "--short=12", f"{commit}^{{commit}}"]
    found = subprocess.run(asked, cwd=ROOT, capture_output=True, text=True, check=False)
    if found.returncode:
        raise LookupError(f"{commit!r} is no commit of this repository: {found.stderr.strip()}")
    name = found.stdout.strip()
    tree = place / name
    if not (tree / PACKAGES[-1]).is_dir():
        archive = subprocess.run(
            ["git", "archive", name, *PACKAGES], cwd=ROOT, capture_output=True, check=True
        )
        partial = Path(tempfile.mkdtemp(dir=place))
        with tarfile.open(fileobj=io.BytesIO(archive.stdout)) as packed:
            packed.extractall(partial)
        partial.rename(tree)
    return name, tree


def main(arguments: Sequence[str]) -> int:
    """Measures and returns the exit code that the module describes."""
    groups = [*GROUPS, STARTS]
    parser = argparse.ArgumentParser(
        "python -m benchmarks.against",
        description=__doc__,
        formatter_class=argparse.RawDescriptionHelpFormatter,
    )
    parser.add_argument("commit", help="any name that git knows")
    parser.add_argument("--only", action="append", choices=groups, help="this group; repeatable")
    parser.add_argument("--json", type=Path, help="write the ratios of each run to this file")
    asked = parser.parse_args(arguments)
    build = ROOT / "build" / "against"
    build.mkdir(parents=True, exist_ok=True)
    try:
        name, tree = unpack(asked.commit, build)
    except LookupError as error:
        print(f"benchmarks.against: {error}", file=sys.stderr)
        return 2
    with tempfile.TemporaryDirectory() as caches:
        sides = [
            Side(who, where, Path(caches, cache))
            for who, where, cache in ((name, tree, "before"), ("working tree", ROOT, "now"))
        ]
        for side in sides:
            side.cache.mkdir()
        runs = [measure(asked.only or groups, sides, number) for number in (1, 2)]
        failed = Counter(one for run in runs for one in run.slower_names)
        unsettled = {one.partition(":")[0] for one, count in failed.items() if count == 1}
        if unsettled:
            runs.append(measure([one for one in groups if one in unsettled], sides, 3))
            failed.update(runs[2].slower_names)
    if asked.json:
        asked.json.write_text(json.dumps([run.ratios for run in runs], indent=1) + "\n", "utf-8")
    return conclude(failed, sorted({one for run in runs for one in run.wrong}))


def conclude(failed: Counter[str], wrong: Sequence[str]) -> int:
    """Prints the verdict and returns the exit code."""
    slower = sorted(one for one, count in failed.items() if count >= 2)
    for one in slower:
        print(f"slower in two of three runs: {one}")
    for one in wrong:
        print(f"WRONG: {one}")
    if not slower and not wrong:
        print("not slower")
    return 1 if slower or wrong else 0


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
