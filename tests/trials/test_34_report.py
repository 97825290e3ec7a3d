"""A report states the essentials first and nothing twice, and a narrow page keeps its numbers."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import pytest

from ms_fusion.ledger import Ledger, RejectedCandidate
from ms_fusion.mindspore.flags.preset_table import PRESETS, resolve, shown_flags
from ms_fusion.report.text import to_text
from ms_fusion.report.wording import flags_text, summary_rows
from tests.cases import cases
from tests.ms_fusion.report.browser import Browser
from tests.ms_fusion.report.ledgers import transformer_ledger

OTHERS = "others that share operators with it save more"
ALIKE, NOTHING_AT_STAKE = 43, 7


def repetitive() -> Ledger:
    """A ledger with 43 equal kernels, 7 edges without bytes at stake, 42 fusions refused for one
    reason.
    """
    ledger = transformer_ledger(60)
    first, *rest = ledger.kernels
    same = [replace(first, full_name=f"Default/kernel-op{number}") for number in range(ALIKE)]
    edges = [
        replace(edge, bytes_at_stake=0) if place < NOTHING_AT_STAKE else edge
        for place, edge in enumerate(ledger.unfused)
    ]
    rejected = [
        RejectedCandidate(
            "Epilogue",
            "cross-operator",
            ("MatMul", op),
            (f"a{number}", "b"),
            2.0 + (op == "Add"),
            OTHERS,
        )
        for number, op in enumerate(["Add"] * 30 + ["Mul"] * 12)
    ]
    lonely = RejectedCandidate(
        "Cluster", "intra-operator", ("Exp", "Log"), ("c", "d"), 1.0, "no kernel: Log of complex64"
    )
    flags = "--enable_cluster_ops=CumSum --disable_cluster_ops=Exp"
    return replace(
        ledger,
        kernels=(*same, *rest),
        unfused=tuple(edges),
        rejected=(*rejected, lonely),
        flags=resolve("auto", flags=flags, generator="ms_fusion").render(),
    )


def test_the_terminal_has_the_summary_first_and_flags_last() -> None:
    lines = to_text(repetitive(), width=80).splitlines()
    assert lines[0] == "Fusion ledger: Transformer"
    assert lines[1].endswith("preset auto") and lines[2] == ""
    assert lines[3].split() == ["before", "after", "change"]
    first = [line.split("  ")[0] for line in lines[4:10]]
    assert first == ["time", "launches", "bytes moved", "peak memory", "nodes", "edges"]
    assert lines[-1] == "flags: auto +CumSum −Exp"


def test_the_terminal_says_nothing_twice() -> None:
    text = to_text(repetitive(), width=160)
    assert text.count(f"×{ALIKE}") == 1
    assert text.count(OTHERS) == 1 and "MatMul + Add ×30" in text and "MatMul + Mul ×12" in text
    assert "no kernel: Log of complex64" in text
    assert f"{NOTHING_AT_STAKE} with no bytes at stake are left out." in text


@cases("preset", [name for name in PRESETS if name != "off"])
@cases("generator", ["ms_fusion", "mindspore"])
@cases(
    "added, shown",
    [
        ("", ""),
        ("--enable_cluster_ops=CumSum", " +CumSum"),
        ("--disable_cluster_ops=CumSum", " −CumSum"),
        ("--opt_level=1 --dump_as_text", " --opt_level=1 --dump_as_text=true"),
        ("--enable_expand_ops=Sinh", " +expand:Sinh"),
        ("--disable_pass=split.graph_kernel_cse", None),
    ],
)
def test_flags_are_shown_as_what_differs(
    preset: str, generator: str, added: str, shown: str | None
) -> None:
    flags = resolve(preset, flags=added, generator=generator)
    text = shown_flags(flags.render(), preset)
    if preset == "precise" and "_ops" in added:
        assert "CumSum" in text or "Sinh" in text or "disable" in added
    elif shown is None:
        assert text == f"{preset} --disable_pass={','.join(flags.disable_pass or ())}"
    else:
        assert text == (preset + shown).replace("--opt_level=1 " * (preset == "basic"), "")


@cases(
    "flags, preset",
    [
        ("--opt_level=2", ""),
        ("--opt_level=2", "auto"),
        ("no flags", "auto"),
        ("--opt_level=2", "no preset"),
        ("", "auto"),
    ],
)
def test_flags_that_are_of_no_preset_are_shown_whole(flags: str, preset: str) -> None:
    assert shown_flags(flags, preset) == flags


def test_the_preset_s_own_flags_are_its_name() -> None:
    ledger = replace(repetitive(), flags=resolve("auto", generator="ms_fusion").render())
    assert flags_text(ledger) == "auto"


def test_time_comes_first_then_launches() -> None:
    assert [row[0] for row in summary_rows(repetitive())][:2] == ["time", "launches"]


@pytest.fixture(scope="module")
def page(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Browser]:
    """The report, open at 1400 × 900."""
    place = tmp_path_factory.mktemp("report")
    file = repetitive().to_html(place / "fusion.html")
    assert isinstance(file, Path)
    with Browser(tmp_path_factory.mktemp("profile")) as browser:
        browser.look(1400, 900)
        browser.open(file)
        yield browser
        assert browser.complaints() == []


def rows_in(page: Browser, table: str) -> int:
    return int(page.run(f"document.querySelectorAll('#{table} tbody tr').length"))


@pytest.mark.browser
def test_rows_that_look_the_same_are_one(page: Browser) -> None:
    ledger = repetitive()
    assert rows_in(page, "kernels") == len(ledger.kernels) - ALIKE + 1
    counts = page.run(
        "[...document.querySelectorAll('#kernels .chip')].map((chip) => chip.textContent)"
    )
    assert counts == [f"×{ALIKE}"]
    page.run(f"select('kernel', {ALIKE - 1})")
    assert page.run("document.querySelector('#kernels tr.chosen .chip').textContent") == f"×{ALIKE}"
    panel = page.run("document.getElementById('details').innerText")
    assert f"Kernels like this{ALIKE}" in panel.replace("\n", "")
    page.run("select(null)")


@pytest.mark.browser
def test_edges_without_bytes_at_stake_come_on_demand(page: Browser) -> None:
    edges = len(repetitive().unfused)
    assert rows_in(page, "unfused") == edges - NOTHING_AT_STAKE
    assert (
        page.run("tables.unfused.minorButton.textContent")
        == f"Show {NOTHING_AT_STAKE} edges with no bytes at stake"
    )
    page.run("tables.unfused.minorButton.click()")
    assert rows_in(page, "unfused") == edges
    page.run("tables.unfused.minorButton.click()")


@pytest.mark.browser
def test_a_reason_stands_once_on_the_page(page: Browser) -> None:
    text = page.run("document.querySelector('main').innerText")
    assert text.count(OTHERS) == 1 and "MatMul + Add ×30" in text


@pytest.mark.browser
@cases("width", [360, 500, 700])
def test_numbers_stay_in_view_on_a_narrow_page(page: Browser, width: int) -> None:
    page.look(width, 900)
    outside = page.run(
        "[...document.querySelectorAll('.data td.number')].filter((cell) => { const box = "
        "cell.getBoundingClientRect();"
        " return box.left < 0 || box.right > innerWidth || !box.width; }).length"
    )
    labelled = page.run(
        "[...document.querySelectorAll('#kernels tbody tr:first-child td.number')].map((cell) =>"
        " getComputedStyle(cell, '::before').content)"
    )
    page.look(1400, 900)
    assert outside == 0
    assert labelled == [
        f'"{name}"' for name in ("Time", "Saving", "Runs", "Bytes saved", "Body", "Error")
    ]


@pytest.mark.browser
def test_each_colour_has_a_legend(page: Browser) -> None:
    keys = page.run(
        "[...document.querySelectorAll('.legend [class^=key-], .legend "
        "[class^=gauge-]')].map((key) => {"
        " const style = getComputedStyle(key); return [style.fill, style.stroke]; }).flat()"
    )
    drawn = page.run(
        "[...document.querySelectorAll('#graph .node rect, #graph .node .tag, #graph .group "
        ".frame, #graph .edge .line, .gauge rect')]"
        ".map((part) => { const style = getComputedStyle(part); return "
        "part.classList.contains('line') ? style.stroke : style.fill; })"
    )
    transparent = {"rgba(0, 0, 0, 0)", "none"}
    assert set(drawn) - transparent <= set(keys)
