"""Document 004, sections 2, 4, 5, 6, in nets: flags, Conv + BN + ReLU, reasons, density, shapes."""

from __future__ import annotations

from typing import Any

import pytest
from click.testing import CliRunner

from ms_fusion.cli.main import cli
from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT, run


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    program = ROOT / "tests" / "programs" / "sources" / "tutorial_004.py"
    return run(program, tmp_path_factory.mktemp("tutorial") / "work").result


@pytest.mark.mindspore
def test_2_2_flags_of_the_context_are_linted(seen: dict[str, Any]) -> None:
    assert seen["enabled"]
    for where in ("in_force", "said", "inside"):
        (text,) = seen[where]
        assert text.startswith("set_context(graph_kernel_flags=…): error: column 15")
        assert "--enable_cse" in text and "--enable_pass=split.graph_kernel_cse" in text
    assert seen["good flags"] == []


def test_2_2_a_level_out_of_range_is_advised_a_level() -> None:
    done = CliRunner().invoke(cli, ["lint-flags", "--opt_level=9"])
    assert "Write `--opt_level=3`." in done.output


@pytest.mark.mindspore
def test_2_1_conv_bn_relu_is_one_kernel(seen: dict[str, Any]) -> None:
    assert seen["conv, bn, relu"] == 1


@pytest.mark.mindspore
def test_5_1_control_flow_is_a_reason(seen: dict[str, Any]) -> None:
    assert seen["reasons"] == ["control-flow"]


@pytest.mark.mindspore
def test_5_2_compute_density_is_flops_by_bytes(seen: dict[str, Any]) -> None:
    flops, moved, density = seen["density"]
    assert flops > 0 and density == pytest.approx(flops / moved)


@pytest.mark.mindspore
def test_6_shapes_that_change_are_told_what_to_call(seen: dict[str, Any]) -> None:
    (text,) = (one for one in seen["dynamic"] if "not known before run time" in one)
    assert "mf.specialize" in text or "ms_fusion.specialize" in text


def test_5_1_the_text_of_the_log_is_a_key() -> None:
    text = (ROOT / "docs" / "troubleshooting.md").read_text("utf-8")
    (row,) = (line for line in text.splitlines() if "`Skip fusion for op[Conv2D]`" in line)
    assert "mf.explain" in row and "data_format" in row
