"""The terminal report: complete, quiet, and safe from control characters in a model's names."""

from __future__ import annotations

import copy
import io
import pickle
from dataclasses import replace

import pytest
from rich.console import Console

from ms_fusion.graph import Source
from ms_fusion.ledger import Ledger
from ms_fusion.report.html import to_html
from ms_fusion.report.printable import printable_text
from ms_fusion.report.text import render_text, to_text
from ms_fusion.report.units import bytes_text, flops_text, percent_text, time_text
from ms_fusion.report.wording import difference_text, fused_operators, shorten, suggestions
from tests.cases import cases
from tests.ms_fusion.report.ledgers import minimal_ledger, split_ledger, transformer_ledger

HOSTILE = "a[bold red]b[/]\x1b[31m\x07\r\n\u202egnp.exe\u2066\x9b2J\ue000"


@cases(
    "value, text",
    [
        (0, "0 B"),
        (1023, "1023 B"),
        (1024, "1.00 KiB"),
        (10 * 1024, "10.0 KiB"),
        (1024**2 - 1, "1.00 MiB"),
        (25165824, "24.0 MiB"),
        (3 * 1024**3, "3.00 GiB"),
        (-2048, "−2.00 KiB"),
        (-5, "−5 B"),
        (1008 * 1024, "0.98 MiB"),
        (10**30, "8.88e+14 PiB"),
        (None, "–"),
    ],
)
def test_bytes(value: int | None, text: str) -> None:
    assert bytes_text(value) == text


@cases(
    "value, text",
    [
        (0.0, "0.00 µs"),
        (3.14159, "3.14 µs"),
        (999.4, "999 µs"),
        (999.6, "1.00 ms"),
        (91410.5, "91.4 ms"),
        (2.5e6, "2.50 s"),
        (float("inf"), "inf µs"),
        (float("nan"), "nan µs"),
        (None, "–"),
    ],
)
def test_times_have_three_digits_and_a_unit(value: float | None, text: str) -> None:
    assert time_text(value) == text


def test_flops_and_percentages_are_formatted() -> None:
    assert [flops_text(n) for n in (12, 3.2e9, None)] == ["12.0 FLOP", "3.20 GFLOP", "–"]
    assert [
        percent_text(*pair) for pair in ((50, 100), (110, 100), (100, 100), (1, 0), (None, 1))
    ] == ["−50 %", "+10 %", "±0 %", "–", "–"]


@cases("width", [60, 80, 100, 200])
@cases(
    "ledger",
    [transformer_ledger(60), transformer_ledger(60, full=False), minimal_ledger(), split_ledger()],
    ids=["full", "bare", "minimal", "split"],
)
def test_no_line_is_wider_than_the_terminal(ledger: Ledger, width: int) -> None:
    for line in to_text(ledger, width=width).splitlines():
        assert len(line) <= width, line


def test_everything_is_said_once() -> None:
    text = to_text(transformer_ledger(60), width=140)
    for part in (
        "Fusion ledger: Transformer",
        "MindSpore 2.10.0",
        "preset auto",
        "--opt_level=2",
        "before",
        "peak memory",
        "30 of 62 operators run in 12 fused kernels; 1 generated kernel of one operator is no "
        "fusion.",
        "at most 3 ULP (4.8e-07 absolute)",
        "Fused_Add_Sigmoid_Mul_fusion_5679",
        "model/transformer.py:46 +2",
        "60.0 MiB",
        "model 3.16 ms",
        "real 3.72 ms",
        "12×",
        "not-clusterable",
        "… and 46 more",
        "--disable_pass=split.graph_kernel_splitter",
        "12, built by ms_fusion, most",
        "by ms_fusion: 2 loop nests; built in 0.41 s",
        "by ms_fusion: MatMul + Add by oneDNN, 1 loop nest; from the cache",
        "not built, computed by its formulas in NumPy (Tan of complex64)",
        "Kernels that the net brings  3, kept as they are",
        "AddReLU",
        "custom_ops  3.14 µs   12×",
        "_gate",
        "Sigmoid + Mul",
        "auto_fuse",
        "Remedy: set ONEDNN_MAX_CPU_ISA=AVX2",
        "45.1 %",
        "median of 12 runs",
    ):
        assert part in text, part


def test_a_notebook_gets_the_same_text(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    ledger = minimal_ledger()
    expected = to_text(ledger)
    monkeypatch.setattr("rich.console._is_jupyter", lambda: True)
    assert to_text(ledger) == expected
    assert capsys.readouterr().out == ""


@cases(
    "file, shown",
    [
        ("/tmp/ipykernel_2613/1161602169.py", "notebook cell:17"),
        (r"C:\Temp\ipykernel_12\34.py", "notebook cell:17"),
        ("ipykernel_nets/2613.py", "ipykernel_nets/2613.py:17"),
        ("x" * 3_000_000, f"{'x' * 3_000_000}:17"),
    ],
    ids=["Linux", "Windows", "no cell", "long"],
)
def test_a_cell_of_a_notebook_is_named_so(file: str, shown: str) -> None:
    assert str(Source(file, 17)) == shown


def test_unfused_edges_stand_by_bytes_at_stake() -> None:
    ledger = transformer_ledger(60)
    small, large = (
        replace(ledger.unfused[0], bytes_at_stake=1, reason="small"),
        replace(ledger.unfused[1], bytes_at_stake=10**15, reason="large"),
    )
    text = to_text(replace(ledger, unfused=(small, large)))
    assert text.index("large") < text.index("small")


def test_absent_numbers_are_dashes() -> None:
    text = to_text(transformer_ledger(60, full=False), width=120)
    assert "None" not in text
    assert "nan" not in text
    assert "Hot spots" not in text
    assert "Suggestions" not in text


@cases(
    "ulp, absolute, text",
    [
        (None, None, ""),
        (0.0, 0.0, "Outputs do not differ from the unfused run."),
        (None, 0.0, "Outputs do not differ from the unfused run."),
        (None, 2e-7, "Outputs differ from the unfused run by at most 2e-07 (absolute)."),
        (3.0, None, "Outputs differ from the unfused run by at most 3 ULP."),
        (3.0, 2e-7, "Outputs differ from the unfused run by at most 3 ULP (2e-07 absolute)."),
    ],
)
def test_a_difference_is_told_in_what_was_measured(
    ulp: float | None, absolute: float | None, text: str
) -> None:
    ledger = replace(minimal_ledger(), output_max_ulp=ulp, output_max_abs=absolute)
    assert difference_text(ledger) == text
    for shown in (to_text(ledger, width=200), to_html(ledger)):
        assert ("Outputs" in shown) == bool(text) and text in shown


def test_an_operator_split_over_two_kernels_counts_once() -> None:
    assert fused_operators(split_ledger()) == 3


def test_suggestions_are_said_once_with_what_they_gain() -> None:
    (one,) = suggestions(transformer_ledger(30).unfused)
    assert one[0].flags == "--disable_pass=split.graph_kernel_splitter"
    assert one[1] == 9


def hostile_ledger() -> Ledger:
    ledger = transformer_ledger(30)
    kernel = replace(ledger.kernels[0], name=HOSTILE, operators=(HOSTILE, "Add"))
    edge = replace(
        ledger.unfused[0], producer=HOSTILE, producer_op=HOSTILE, detail=HOSTILE, reason=HOSTILE
    )
    spot = replace(ledger.hot_spots[0], op=HOSTILE, detail=HOSTILE, remedy=HOSTILE)
    return replace(
        ledger,
        title=HOSTILE,
        kernels=(kernel,),
        unfused=(edge,),
        hot_spots=(spot,),
        notes=(HOSTILE,),
        flags=HOSTILE,
        environment={"device": HOSTILE},
    )


def test_names_cannot_steer_the_terminal() -> None:
    text = to_text(hostile_ledger(), width=400)
    assert all(character == "\n" or character.isprintable() for character in text)
    assert "[bold red]b[/]" in text
    assert "\\x1b[31m" in text
    assert "\\u202e" in text


def printed(
    ledger: Ledger,
    *,
    encoding: str = "utf-8",
    terminal: bool = False,
    environment: dict[str, str] | None = None,
) -> str:
    raw = io.BytesIO()
    stream = io.TextIOWrapper(raw, encoding=encoding, errors="strict", newline="")
    console = Console(
        file=stream, width=100, force_terminal=terminal, _environ=environment or {"TERM": "xterm"}
    )
    render_text(ledger, console)
    stream.flush()
    return raw.getvalue().decode(encoding)


def test_a_pipe_gets_no_colours_and_a_terminal_does() -> None:
    assert "\x1b" not in printed(transformer_ledger(30))
    assert "\x1b[" in printed(transformer_ledger(30), terminal=True)


def test_no_color_is_honoured() -> None:
    text = printed(
        transformer_ledger(30), terminal=True, environment={"NO_COLOR": "1", "TERM": "xterm"}
    )
    assert not any(f"\x1b[{code}m" in text for code in ("31", "32", "33", "36"))


def test_an_ascii_terminal_gets_ascii() -> None:
    ledger = replace(transformer_ledger(30), title="模型")
    text = printed(ledger, encoding="ascii")
    assert "\\u6a21\\u578b" in text
    assert "Add + Sigmoid + Mul" in text


@cases(
    "text, shown",
    [
        ("plain", "plain"),
        ("模型 é", "模型 é"),
        ("a\0b", "a\\x00b"),
        ("\ud800", "\\ud800"),
        ("\U000e0041", "\\U000e0041"),
        ("\u200b\ufeff", "\\u200b\\ufeff"),
        ("\u2028", "\\u2028"),
        ("x" * 3000, "x" * 1999 + "…"),
    ],
)
def test_printable_text_escapes_control_characters(text: str, shown: str) -> None:
    assert printable_text(text) == shown


def test_shorten_keeps_both_ends() -> None:
    assert shorten("Default/network/block/Add-op1", 15) == "Defa…ck/Add-op1"
    assert shorten("short", 15) == "short"


def test_str_of_a_ledger_is_the_report() -> None:
    assert str(transformer_ledger(30)) == to_text(transformer_ledger(30))


def test_a_list_of_flags_breaks_behind_its_commas() -> None:
    flags = "--opt_level=2 --enable_cluster_ops=" + ",".join(["Greater", "LogicalAnd"] * 6)
    shown = to_text(replace(minimal_ledger(), flags=flags), width=60)
    lines = [
        line.removeprefix("flags:").strip()
        for line in shown.splitlines()
        if "ops=" in line or "Greater" in line
    ]
    assert len(lines) > 2
    assert all(line.endswith((",", "And")) for line in lines)
    assert "".join(lines) == flags.partition(" ")[2]


def test_a_ledger_can_be_copied_and_pickled() -> None:
    ledger = split_ledger()
    assert copy.deepcopy(ledger) == ledger
    assert pickle.loads(pickle.dumps(ledger)).to_json() == ledger.to_json()  # noqa: S301
