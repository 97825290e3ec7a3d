"""Unfused groups with operators in between, and matches that a check refuses, have a reason."""

from __future__ import annotations

from itertools import pairwise
from pathlib import Path

import pytest

from ms_fusion.capture.fusion_assertion import check_group
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ledger import FusedKernel, Ledger, Suggestion, Summary, UnfusedEdge
from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
from ms_fusion.onnx.kernels.subgraphs import order_of
from ms_fusion.readers.onnx_file import open_model
from ms_fusion.readers.onnx_graph import project
from ms_fusion.rewrite import Match, Op, Rule, find_matches, find_near_misses
from tbe_impl.errors import FusionNotFound
from tests.cases import cases
from tests.ms_fusion.onnx.fuse.models import Builder

CHAIN = ("MatMul", "BiasAdd", "Reshape", "GeLU", "Mul", "Add")
"""A sequence; the Exp beside it reads none of its values."""


def ledger(*kernels: tuple[str, ...], suggestion: Suggestion | None = None) -> Ledger:
    """A ledger of `CHAIN` with these in one kernel each, and nothing else fused."""
    values = {
        f"{number}": Value(f"{number}", (8, 8), "float32") for number in range(len(CHAIN) + 3)
    }
    nodes = [
        Node(f"{op}-op", op, (f"{number}",), (f"{number + 1}",)) for number, op in enumerate(CHAIN)
    ]
    exp = Node("Exp-op", "Exp", (f"{len(CHAIN) + 1}",), (f"{len(CHAIN) + 2}",))
    graph = Graph("net", (*nodes, exp), values, ("0", f"{len(CHAIN) + 1}"))
    made = tuple(
        FusedKernel(
            f"Fused_{'_'.join(ops)}", "", ops, tuple(f"{op}-op" for op in ops), ops, graph, (), ()
        )
        for ops in kernels
    )
    unfused = tuple(
        UnfusedEdge(
            f"{a}-op",
            f"{b}-op",
            a,
            b,
            values["1"],
            "not-in-cluster-list",
            f"{b} is not in the list.",
            8,
            suggestion,
        )
        for a, b in pairwise(CHAIN)
        if not any({a, b} <= set(ops) for ops in kernels)
    )
    summary = Summary(graph, len(nodes), len(CHAIN) - 1, len(nodes), 0, 0, 0)
    return Ledger("Net", made, unfused, summary, summary)


NEAR = ("MatMul", "BiasAdd")


@cases(
    "group, kernels, says",
    [
        (
            ("BiasAdd", "GeLU"),
            (NEAR,),
            "BiasAdd → Reshape: Reshape is not in the list; Reshape → GeLU: GeLU is not in the "
            "list",
        ),
        (
            ("GeLU", "BiasAdd"),
            (NEAR,),
            "BiasAdd → Reshape: Reshape is not in the list; Reshape → GeLU: GeLU is not in the "
            "list",
        ),
        (
            ("BiasAdd", "GeLU"),
            (),
            "BiasAdd → Reshape: Reshape is not in the list; Reshape → GeLU: GeLU is not in the "
            "list",
        ),
        (("GeLU", "BiasAdd"), (), "Reshape → GeLU: GeLU is not in the list; BiasAdd → Reshape"),
        (("BiasAdd", "Reshape"), (NEAR,), "BiasAdd → Reshape: Reshape is not in the list"),
        (
            ("MatMul", "Add"),
            (NEAR, ("GeLU", "Mul", "Add")),
            "BiasAdd → Reshape: Reshape is not in the list; Reshape → GeLU: ",
        ),
        (
            ("MatMul", "Exp"),
            (NEAR,),
            "no value flows between the operators of Fused_MatMul_BiasAdd and Exp",
        ),
        (("Exp", "Mul"), (), "no value flows between Exp and Mul"),
        (("Mul", "Mul"), (), "the net has 1 Mul, not 2"),
        (("Mul", "Sub"), (), "the net has no operator Sub"),
    ],
)
def test_what_is_not_fused_has_a_reason(
    group: tuple[str, ...], kernels: tuple[tuple[str, ...], ...], says: str
) -> None:
    with pytest.raises(FusionNotFound) as caught:
        check_group(ledger(*kernels), group)
    assert f"{' + '.join(group)} is not in one fused kernel: {says}" in str(caught.value)


def test_the_remedy_is_the_change_that_is_known_to_help() -> None:
    helps = Suggestion("flag", "Add --enable_cluster_ops=Reshape.")
    with pytest.raises(FusionNotFound, match="Add --enable_cluster_ops=Reshape"):
        check_group(ledger(NEAR, suggestion=helps), ("BiasAdd", "GeLU"))


def test_a_kernel_that_holds_the_group_is_handed_back() -> None:
    assert check_group(ledger(NEAR), ("BiasAdd", "MatMul")).name == "Fused_MatMul_BiasAdd"


@pytest.fixture
def exponential(tmp_path: Path) -> Path:
    """A model with Exp(Neg(x)) twice, the second with two rows more."""
    b = Builder({"x": (2, 8), "y": (4, 8)})
    return b.save(
        tmp_path / "exponential.onnx", *(b.add("Exp", b.add("Neg", name)) for name in ("x", "y"))
    )


def only_two_rows(match: Match) -> str:
    rows = match.value("x").shape[0]
    return "" if rows == 2 else f"{rows} rows are too many"


RULE = Rule("NegExp", "intra-operator", Op("Exp", Op("Neg", "x")), only_two_rows)


def test_near_misses_carry_the_text_of_the_check(exponential: Path) -> None:
    graph = project(open_model(exponential)).graph
    order = order_of(graph)
    assert [match.value("x").shape[0] for match in find_matches(RULE, graph, order)] == [2]
    missed = list(find_near_misses(RULE, graph, order))
    assert [(match.value("x").shape[0], text) for match, text in missed] == [
        (4, "4 rows are too many")
    ]


@cases("target", ["any", "ort"])
def test_the_ledger_lists_what_a_check_refused(exponential: Path, target: str) -> None:
    found = auto_fuse(exponential, dry_run=True, fusion_rules=[RULE], target=target)
    reasons = {one.reason for one in found.rejected if one.rule == "NegExp"}
    assert "4 rows are too many" in reasons
