"""Flags merge with the preset's everywhere, and a suggestion can be pasted verbatim."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ms_fusion.cli import main
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags, merge_values
from ms_fusion.mindspore.flags.lint import lint
from ms_fusion.mindspore.flags.preset_table import resolve
from tests.cases import FULL, cases
from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT, run

PROGRAM = ROOT / "tests" / "programs" / "trials" / "flags_merge.py"


@cases(
    "base, over, merged",
    [
        ("", "--opt_level=2", "--opt_level=2"),
        ("--opt_level=2", "", "--opt_level=2"),
        ("--opt_level=2", "--opt_level=1", "--opt_level=1"),
        ("--enable_cluster_ops=A,B", "--enable_cluster_ops=C,A", "--enable_cluster_ops=C,A,B"),
        (
            "--disable_cluster_ops=A,B",
            "--enable_cluster_ops=A",
            "--enable_cluster_ops=A --disable_cluster_ops=B",
        ),
        (
            "--enable_cluster_ops=A,B",
            "--disable_cluster_ops=A",
            "--enable_cluster_ops=B --disable_cluster_ops=A",
        ),
        ("--enable_cluster_ops=A", "--disable_cluster_ops=A", "--disable_cluster_ops=A"),
        (
            "--enable_cluster_ops=A",
            "--disable_expand_ops=A",
            "--disable_expand_ops=A --enable_cluster_ops=A",
        ),
        (
            "--enable_cluster_ops=A --disable_cluster_ops=B",
            "--enable_cluster_ops_only=C",
            "--enable_cluster_ops_only=C",
        ),
        ("--enable_cluster_ops_only=A", "--enable_cluster_ops=B", "--enable_cluster_ops_only=B,A"),
        ("--enable_cluster_ops_only=A,B", "--disable_cluster_ops=A", "--enable_cluster_ops_only=B"),
        (
            "--enable_cluster_ops_only=A",
            "--disable_cluster_ops=A",
            "--enable_cluster_ops_only=None",
        ),
        ("--enable_cluster_ops_only=None", "--enable_cluster_ops=A", "--enable_cluster_ops_only=A"),
        (
            "--enable_cluster_ops_only=A",
            "--enable_cluster_ops_only=B",
            "--enable_cluster_ops_only=B",
        ),
        ("--disable_pass=a.b", "--disable_pass=c.d", "--disable_pass=c.d,a.b"),
        ("--disable_pass=a.b,c.d", "--enable_pass=a.b", "--enable_pass=a.b --disable_pass=c.d"),
        ("--dump_as_text=true", "--dump_as_text=false", "--dump_as_text=false"),
    ],
)
def test_names_join_lists_and_values_replace(base: str, over: str, merged: str) -> None:
    first, second = map(GraphKernelFlags.parse, (base, over))
    assert first.merge(second).render() == merged
    assert (
        GraphKernelFlags(**merge_values(first.set_flags(), second.set_flags())).render() == merged
    )


@cases("generator", ["ms_fusion", "mindspore"])
@cases("preset", ["auto", "basic", "aggressive", "expert"])
def test_flags_over_a_preset_keep_what_it_keeps_out(preset: str, generator: str) -> None:
    own = resolve(preset, generator=generator)
    merged = resolve(preset, flags="--disable_cluster_ops=Sub", generator=generator)
    assert {*(merged.disable_cluster_ops or ())} == {"Sub", *(own.disable_cluster_ops or ())}
    assert merged.enable_cluster_ops == own.enable_cluster_ops


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place: Path = tmp_path_factory.mktemp("flags")
    return run(PROGRAM, place / "work").result


@FULL
@pytest.mark.mindspore
def test_flags_mean_the_same_everywhere(seen: dict[str, Any]) -> None:
    flags = {seen[name] for name in ("enable", "fusion", "patch")}
    flags |= {
        seen[name]["flags"] for name in ("explain", "explain, preset", "explain under enable")
    }
    assert len(flags) == 1
    (text,) = flags
    assert "Exp" in (GraphKernelFlags.parse(text).disable_cluster_ops or ())
    assert {seen["explain"]["preset"], seen["explain, preset"]["preset"]} == {"auto"}
    assert seen["explain"]["kernels"] == [["Mul", "Tanh", "Add"]]


@FULL
@pytest.mark.mindspore
def test_under_enable_flags_join_those_in_force(seen: dict[str, Any]) -> None:
    out = GraphKernelFlags.parse(seen["explain under enable, flags"]["flags"]).disable_cluster_ops
    assert {"Exp", "Tanh"} <= {*(out or ())}


@FULL
@pytest.mark.mindspore
def test_a_suggestion_is_short_and_helps_as_it_stands(seen: dict[str, Any]) -> None:
    assert seen["explain under enable"]["suggested"] == ["--enable_cluster_ops=Exp"]
    followed = seen["explain under enable, suggestion"]
    assert followed["kernels"] == [["Mul", "Tanh", "Add", "Exp", "Mul"]]
    assert followed["suggested"] == [] and followed["preset"] == "auto"


@FULL
@pytest.mark.mindspore
def test_only_flags_replace_and_are_no_preset(seen: dict[str, Any]) -> None:
    only = seen["explain, only"]
    assert only["flags"] == "--opt_level=2 --enable_cluster_ops_only=Mul,Add"
    assert only["preset"] == "" and only["kernels"] == [] and only["warnings"] == []
    assert seen["explain, only without a level"]["warnings"] == [
        "The flags hold no `--opt_level`, so MindSpore fuses nothing. Add `--opt_level=2`."
    ]
    assert "expected flags or only_flags, got both" in seen["both"]


def test_the_command_takes_one_or_the_other(
    tmp_path: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    (tmp_path / "net.py").touch()
    both = ["--flags", "--opt_level=1", "--only-flags", "--opt_level=2"]
    assert main.run(["explain", f"{tmp_path / 'net.py'}:Net", *both]) == 2
    assert "expected flags or only_flags, got both" in capfd.readouterr().err
    wrong = ["--only-flags", "--opt_lvel=2"]
    assert main.run(["explain", f"{tmp_path / 'net.py'}:Net", *wrong]) == 2
    assert "MindSpore has no such flag; got --opt_lvel" in capfd.readouterr().err


@cases("preset", ["auto", "basic", "aggressive", "expert"])
def test_the_presets_for_ours_have_no_findings(preset: str) -> None:
    text = resolve(preset, generator="ms_fusion").render()
    assert lint(text) == ()


@cases(
    "text, base, found",
    [
        ("--enable_cluster_ops=Softmax", "", []),
        ("--enable_cluster_ops=Softmax", "--enable_expand_ops=Softmax", ["expand"]),
        ("--enable_cluster_ops=GeLU", "", ["expand"]),
        ("--enable_cluster_ops=GeLU", "--disable_expand_ops=GeLU", []),
        ("--enable_cluster_ops=GeLU --enable_expand_ops_only=Softmax", "", []),
        ("--enable_cluster_ops=Reshape", "", []),
    ],
)
def test_what_is_spelled_out_decides_what_can_be_clustered(
    text: str, base: str, found: list[str]
) -> None:
    given = lint(f"--opt_level=2 {text}", generator="ms_fusion", base=base)
    assert [item.code for item in given if item.code != "off"] == found
