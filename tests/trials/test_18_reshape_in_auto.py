"""A Reshape joins the groups on both sides; suggestions exclude measured failures."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
from ms_fusion.mindspore.flags.own_generator_flags import EXPANDED_OPERATORS
from ms_fusion.mindspore.flags.preset_table import resolve
from ms_fusion.ops import selections
from ms_fusion.why_not import explain_edges
from tests.cases import FULL, cases
from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT, run

PROGRAM = ROOT / "tests" / "programs" / "trials" / "reshapes.py"
VIEWS = {
    "alone": 0,
    "beside_its_source": 2048,
    "of_an_input": 0,
    "at_the_end": 0,
    "behind_a_library": 0,
}
"""Nets with a Reshape that stays a view, and the additional traffic in bytes."""
QUICK = ("alone", "beside_its_source")


@pytest.fixture(scope="module")
def seen(full: bool, tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    place: Path = tmp_path_factory.mktemp("reshapes")
    return run(PROGRAM, place / "work", "between", *(VIEWS if full else QUICK)).result


@FULL
@pytest.mark.mindspore
def test_a_block_becomes_a_few_kernels(seen: dict[str, Any]) -> None:
    apart, joined = seen["block"]
    assert joined[0] <= 3 < 10 <= apart[0]
    assert joined[1] < apart[1] and joined[2] < 1e-5
    assert joined[3] == [], "nothing is left to suggest"


@FULL
@pytest.mark.mindspore
def test_what_lies_around_a_reshape_is_one_kernel(seen: dict[str, Any]) -> None:
    apart, joined = seen["between"]
    assert (apart[0], joined[0]) == (2, 1) and joined[2] < 1e-5


@FULL
@pytest.mark.mindspore
def test_a_reshape_alone_stays_a_view(seen: dict[str, Any]) -> None:
    """If the reshaped value is also a result, both are written."""
    found = {name: seen[name] for name in VIEWS if name in seen}
    assert {*QUICK} <= found.keys()
    for name, (apart, joined) in found.items():
        assert joined[0] <= apart[0], (name, apart, joined)
        assert joined[1] <= apart[1] + VIEWS[name], (name, apart, joined)
        assert joined[2] < 1e-5, (name, apart, joined)


@cases("preset", ["auto", "basic", "aggressive", "expert"])
def test_presets_request_reshape_in_their_clusters(preset: str) -> None:
    flags = resolve(preset, generator="ms_fusion")
    assert {*selections.MINDSPORE_GENERATOR_ONLY_OPS} <= {*(flags.enable_cluster_ops or ())}
    assert (
        {*(flags.enable_expand_ops or ())}
        == {*EXPANDED_OPERATORS}
        == selections.CPU_EXPAND_OPS_OF_OWN_GENERATOR
    )


def edges_of(op: str, flags: str, **more: Any) -> list[str | None]:
    """The suggested flags for both edges of an operator between two fused ones."""
    values = {
        name: Value(name, (8, 8), "float32", "input" if name == "x" else "result")
        for name in "xabc"
    }
    nodes = (
        Node("a", "Exp", ("x",), ("a",)),
        Node("b", op, ("a",), ("b",)),
        Node("c", "Neg", ("b",), ("c",)),
    )
    graph = Graph("g", nodes, values, ("x",), ("c",))
    placement = {"a": ("first",), "c": ("last",)}
    found = explain_edges(graph, placement, {"a": "1", "c": "2"}, flags=flags, **more)
    return [edge.suggestion.flags if edge.suggestion else None for edge in found]


@cases(
    "op, kept_out, suggested",
    [
        ("Tanh", (), "--enable_cluster_ops=Tanh"),
        ("Tanh", ("Tanh",), None),
        ("Tanh", ("Sin",), "--enable_cluster_ops=Tanh"),
        ("SquareSumAll", (), None),
    ],
)
def test_only_what_was_tried_is_suggested(
    op: str, kept_out: tuple[str, ...], suggested: str | None
) -> None:
    """Excludes operators that tuning measured as slower, and those that ours never gets."""
    flags = resolve("auto", flags=f"--disable_cluster_ops={op}", generator="ms_fusion").render()
    assert edges_of(op, flags, kept_out=kept_out) == [suggested] * 2


@cases("op", sorted(selections.CPU_EXPANDABLE_OPS - selections.CPU_CLUSTER_OPS))
def test_what_the_presets_have_not_is_not_suggested(op: str) -> None:
    flags = resolve("auto", generator="ms_fusion")
    asked = {*(flags.enable_cluster_ops or ()), *(flags.enable_expand_ops or ())}
    for suggested in edges_of(op, flags.render()):
        if suggested:
            added = GraphKernelFlags.parse(suggested)
            assert {*(added.enable_cluster_ops or ()), *(added.enable_expand_ops or ())} <= asked
