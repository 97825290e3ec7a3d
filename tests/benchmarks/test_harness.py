"""`make bench` compares results, confirms that our kernels ran, and shows losses and wins."""

from __future__ import annotations

import itertools
import json
import os
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any
from xml.etree import ElementTree

import numpy as np
import pytest

from benchmarks.__main__ import main
from benchmarks.harness import running
from benchmarks.harness import stored as keeping
from benchmarks.harness.calls import quickest
from benchmarks.harness.drawing import draw_chart
from benchmarks.harness.lines import CEILING, CONTESTANTS, LINES, OURS, TORCH, UNFUSED
from benchmarks.harness.stored import FULL, READMES, compare_with_stored, read_records, render_page
from benchmarks.harness.table import table, vectors
from tests.cases import FULL as FULL_RUN
from tests.cases import cases

ROOT = Path(__file__).resolve().parents[2]
SECONDS = {"median_us": 2000.0, "quartile_low_us": 1900.0, "quartile_high_us": 2100.0}


def line(**ratios: tuple[float, float, float]) -> dict[str, Any]:
    """A record in which ours took 2 ms."""
    named = {"unfused": UNFUSED, "torch": TORCH, "ceiling": CEILING}
    return {
        "title": "net, inference",
        "right": True,
        "targets": {UNFUSED: 1.8, TORCH: 1.0},
        "receipts": {
            OURS: {"launches": 3, "fused": 2, "libraries": 2},
            UNFUSED: {"launches": 40, "fused": 0, "libraries": 0},
        },
        "times": {OURS: SECONDS, CEILING: {**SECONDS, "median_us": 1500.0}},
        "ratios": {
            named[who]: dict(zip(("low", "median", "high"), found, strict=True))
            for who, found in ratios.items()
        },
    }


MADE_UP = {
    "lines": [line(unfused=(1.9, 2.0, 2.2), torch=(0.4, 0.5, 0.6), ceiling=(0.7, 0.75, 0.8))]
}


def test_a_row_has_times_ratios_with_their_spread_and_launches() -> None:
    (row,) = (row for row in table(MADE_UP).splitlines() if row.startswith("| net"))
    assert [cell.strip() for cell in row.strip("|").split("|")] == [
        "net, inference",
        "2 ms",
        "–",
        "2.00 (1.90–2.20)",
        "–",
        "–",
        "0.50 (0.40–0.60)",
        "–",
        "–",
        "75% (70–80%) of 1.5 ms",
        "–",
        "40 → 3",
    ]


def test_a_loss_is_named() -> None:
    assert running.short_of(MADE_UP["lines"][0]) == [TORCH]
    assert "torch 0.50 ×" in running.line_text(MADE_UP["lines"][0])
    assert "short of: torch" in running.line_text(MADE_UP["lines"][0])


def test_who_is_faster_stands_left_of_the_line() -> None:
    drawing = ElementTree.fromstring(draw_chart(MADE_UP))
    space = "{http://www.w3.org/2000/svg}"
    dots = [dot for dot in drawing.iter(f"{space}circle") if dot.find(f"{space}title") is not None]
    at = {
        dot.find(f"{space}title").text.split(":")[0]: float(  # type: ignore[union-attr]
            dot.get("cx")  # type: ignore[arg-type]
        )
        for dot in dots
    }
    ones = [one for one in drawing.iter(f"{space}line") if one.get("stroke") == "#333"]
    (one,) = (float(mark.get("x1")) for mark in ones)  # type: ignore[arg-type]
    assert at[TORCH] < one < at[UNFUSED]


def test_the_better_way_is_chosen_first_and_begins_anew() -> None:
    """By then its process is alone: other contestants compile earlier.

    A training step has changed its weights after a trial.
    """
    made: list[str] = []

    def way(name: str, seconds: float) -> Callable[[], Callable[[], int]]:
        def make() -> Callable[[], int]:
            made.append(name)
            calls = itertools.count(1)

            def call() -> int:
                time.sleep(seconds)
                return next(calls)

            return call

        return make

    call = quickest({"slow": way("slow", 0.03), "quick": way("quick", 0)})
    assert made == []
    assert call() == 1
    assert made == ["slow", "quick", "quick"]
    assert call() == 2
    assert made[3:] == []


def test_torch_computes_the_same_with_channels_last() -> None:
    nets = pytest.importorskip("benchmarks.torch_nets", exc_type=ImportError)
    x = np.random.default_rng(0).standard_normal((2, 3, 32, 32)).astype(np.float32)
    usual, last = (
        nets.called("ResNet", x, train=False, memory_format=one)()
        for one in ("contiguous_format", "channels_last")
    )
    np.testing.assert_allclose(usual, last, rtol=1e-4, atol=1e-5)


def test_lines_name_contestants_and_their_targets() -> None:
    for one in LINES:
        assert set(one.rivals) <= set(CONTESTANTS)
        assert set(one.targets) <= set(one.rivals)
    assert len({one.title for one in LINES}) == len(LINES)


@cases("page", [FULL, *READMES])
def test_pages_show_the_stored_figures(page: Path) -> None:
    assert render_page(page, read_records()) == page.read_text("utf-8"), (
        "python -m benchmarks --store writes them"
    )


@cases("record", read_records(), ids=vectors)
def test_figures_are_of_all_claims_and_right(record: dict[str, Any]) -> None:
    assert [one["title"] for one in record["lines"]] == [one.title for one in LINES]
    assert all(one["right"] for one in record["lines"])


@cases("record", read_records(), ids=vectors)
def test_a_run_is_held_against_the_figures_of_its_kind(record: dict[str, Any]) -> None:
    assert compare_with_stored(record) == []
    assert compare_with_stored({**record, "processor": "another"}) == []
    one = record["lines"][0]
    who, spread = next(iter(one["ratios"].items()))
    spread["median"] = 2 * spread["high"]
    assert [text.split(":")[0] for text in compare_with_stored(record)] == [
        f"{one['title']}, {who}"
    ]
    one["smaller"] = True
    assert compare_with_stored(record) == []


RUN = {
    "processor": "made up",
    "features": ["avx2"],
    "caches": {},
    "cores": 2,
    "threads": 2,
    "peers": {},
}


def run(when: str, title: str, **ratios: tuple[float, float, float]) -> dict[str, Any]:
    """A run of one line."""
    return {**RUN, "when": when, "lines": [{**line(**ratios), "title": title}]}


def test_runs_are_put_together(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("RECORDS", "DRAWING", "FULL", "READMES"):
        monkeypatch.setattr(
            keeping,
            name,
            {
                "RECORDS": tmp_path,
                "DRAWING": tmp_path / "bench.svg",
                "FULL": tmp_path / "page",
                "READMES": (),
            }[name],
        )
    keeping.FULL.write_text(f"before\n{keeping.BEGIN}{keeping.END}after\n", "utf-8")
    first, other = LINES[0].title, LINES[1].title
    keeping.store(run("2026-01-01", first, unfused=(1.9, 2.0, 2.2)))
    keeping.store(run("2026-01-01", other, unfused=(1.0, 1.1, 1.2)), add=True)
    keeping.store(
        run("2026-01-02", first, unfused=(2.4, 2.5, 2.6), torch=(0.4, 0.5, 0.6)), add=True
    )
    keeping.store(run("2026-01-03", first, unfused=(2.0, 2.1, 2.3)), add=True)
    (record,) = keeping.read_records()
    assert [one["title"] for one in record["lines"]] == [first, other]
    found = record["lines"][0]
    assert found["ratios"][UNFUSED] == {"median": 2.1, "low": 1.9, "high": 2.6}
    assert [one["when"] for one in found["runs"]] == ["2026-01-01", "2026-01-02", "2026-01-03"]
    page = keeping.FULL.read_text("utf-8")
    assert "2.10 (1.90–2.60)" in page
    assert "each line combines 1 to 3 runs" in page
    keeping.store(run("2026-01-04", first, unfused=(3.0, 3.1, 3.2)))
    assert keeping.read_records()[0]["lines"][0]["ratios"][UNFUSED]["median"] == 3.1
    assert "runs" not in keeping.FULL.read_text("utf-8")


def test_records_are_kept_apart_by_the_width_of_vectors() -> None:
    features = (["avx", "avx2", "avx512f"], ["avx2", "fma"], ["asimd"])
    assert [vectors({"features": one}) for one in features] == ["AVX-512", "AVX2", "other vectors"]
    assert vectors({"features": ["avx2"], "kept_to_avx2": True}) == "AVX2 only"


@cases(
    "asked, quick, code, said",
    [
        (["--help"], "", 0, "YOLO-like, training"),
        (["swish", "swsh"], "", 2, "no line begins with 'swsh'"),
        (["--strore"], "", 2, "--strore"),
        (["--store"], "1", 2, "without QUICK"),
        (["--add"], "1", 2, "without QUICK"),
        (["--add", "--store"], "", 2, "not allowed with"),
    ],
)
def test_what_is_asked_in_vain_measures_nothing(
    asked: list[str],
    quick: str,
    code: int,
    said: str,
    monkeypatch: pytest.MonkeyPatch,
    capsys: pytest.CaptureFixture[str],
) -> None:
    monkeypatch.setenv("QUICK", quick)
    with pytest.raises(SystemExit) as ended:
        main(asked)
    assert ended.value.code == code
    shown = capsys.readouterr()
    assert said in " ".join((shown.out + shown.err).split())


def test_everybody_who_takes_part_is_described() -> None:
    rows = [row for row in FULL.read_text("utf-8").splitlines() if row.startswith("| ")]
    for who, how in CONTESTANTS.items():
        assert f"| {who} | {how} |" in rows


@FULL_RUN
@pytest.mark.mindspore
def test_a_line_is_measured(tmp_path: Path) -> None:
    """A real run: results are compared with the formula, and the profiler records our kernel."""
    variables = {
        **os.environ,
        "QUICK": "1",
        "WITHOUT": "torch,ONNX Runtime",
        "PYTHONPATH": str(ROOT),
    }
    done = subprocess.run(
        [sys.executable, "-m", "benchmarks", "swish, forward"],
        cwd=tmp_path,
        env=variables,
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    record = json.loads((tmp_path / "build/bench/bench.json").read_text("utf-8"))
    (one,) = record["lines"]
    assert one["right"]
    assert one["differs"][OURS] <= 2e-6
    assert one["receipts"][OURS]["fused"] == 1
    assert one["receipts"][UNFUSED]["fused"] == 0
    assert {OURS, UNFUSED, CEILING} <= set(one["times"])
    assert {path.name for path in (tmp_path / "build/bench").iterdir()} == {
        "bench.json",
        "bench.md",
        "bench.svg",
    }
