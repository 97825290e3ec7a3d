"""The documentation page about a large transformer layer equals the cost model's output."""

from __future__ import annotations

from pathlib import Path

from benchmarks.onnx_layer import layer, lines, three
from ms_fusion import cost
from ms_fusion.onnx.fuse.decisions import estimate_group_benefit
from ms_fusion.onnx.kernels.subgraphs import fused_node

PAGE = Path(__file__).resolve().parents[4] / "docs" / "onnx_layer.md"


def test_the_page_is_what_the_model_says() -> None:
    assert PAGE.read_text("utf-8").endswith("\n".join(lines()) + "\n")


def test_five_kernels_are_chosen_and_three_cost_more() -> None:
    told = list(lines())
    assert any("in 5 kernels" in line for line in told)
    graph, device = layer(), cost.device("ascend910b")
    assert (
        sum(
            estimate_group_benefit(fused_node(graph, group, "Group"), graph, device).us
            for group in three(graph)
        )
        < 0
    )
