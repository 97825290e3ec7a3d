"""Rules as dicts: matches, arguments of conditions, and invalid rules."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ms_fusion.cli.rule_files import load_rules
from ms_fusion.graph import Graph
from ms_fusion.onnx.fuse.arguments import check_names
from ms_fusion.onnx.fuse.rule_dicts import Part, read_rules, rule_of
from ms_fusion.onnx.kernels.subgraphs import order_of
from ms_fusion.readers.onnx_file import open_model
from ms_fusion.readers.onnx_graph import project
from ms_fusion.rewrite import find_matches, find_near_misses
from tbe_impl.errors import InputError
from tests.cases import cases
from tests.ms_fusion.onnx.fuse.models import Builder
from tests.ms_fusion.rules.test_rules import gelu_by_erf, layer_norm, linear


@pytest.fixture
def graph(tmp_path: Path) -> Graph:
    """norm → linear → reshape → linear → GELU → linear → sum with the norm's input."""
    b = Builder({"x": (4, 8)})
    first = linear(b, layer_norm(b, "x"))
    turned = b.add("Reshape", first, b.constant([4, 8], "int64"))
    inner = linear(b, gelu_by_erf(b, linear(b, turned)))
    return project(open_model(b.save(tmp_path / "net.onnx", b.add("Add", inner, "x")))).graph


def found(graph: Graph, **written: Any) -> list[int]:
    """Number of operators of each match."""
    return [len(one.nodes) for one in find_matches(rule_of(written), graph, order_of(graph))]


@cases(
    "pattern, operators",
    [
        (["LayerNorm", "Linear"], [10, 11]),
        (["LayerNormalization", "MatMul"], []),
        (["Linear", "Activation"], [7]),
        (["Linear", "GELU", "Linear"], [8, 9]),
        (["FFN"], [8, 9, 10]),
        (["LayerNorm", "Linear", "FFN"], [20, 21, 22]),
        (["Erf", "Add"], [2]),
        (["MatMul", "Add", "MatMul"], [4]),
        (["MatMul", "Gelu|Erf"], []),
        (["Attention"], []),
    ],
    ids=lambda row: " ".join(row[0]),
)
def test_a_pattern_is_a_chain(graph: Graph, pattern: list[str], operators: list[int]) -> None:
    assert found(graph, pattern=pattern) == operators


def test_a_condition_sees_what_goes_in_and_out(graph: Graph) -> None:
    seen: list[tuple[Part, ...]] = []

    def never(*parts: Part) -> bool:
        seen.append(parts)
        return False

    rule = rule_of({"pattern": ["LayerNorm", "Linear", "Add"], "condition": never, "name": "Own"})
    assert rule.name == "Own" and rule.kind == "cross-operator"
    assert not list(find_matches(rule, graph, order_of(graph)))
    reasons = {against for _, against in find_near_misses(rule, graph, order_of(graph))}
    assert reasons == {"its condition does not hold"}
    assert {tuple(one.name for one in parts) for parts in seen} == {("LayerNorm", "Linear", "Add")}
    for first, second, third in seen:
        assert (first.input_shape, first.output_shape) == ((4, 8), second.input_shape)
        assert second.output_shape == third.input_shape


def test_a_sum_of_matrices_is_no_bias(tmp_path: Path) -> None:
    b = Builder({"x": (4, 8), "y": (4, 8)})
    total = b.add("Add", b.add("MatMul", "x", b.weight(8, 8)), "y")
    graph = project(open_model(b.save(tmp_path / "net.onnx", b.add("Relu", total)))).graph
    assert found(graph, pattern=["Linear", "Activation"]) == []
    assert found(graph, pattern=["Linear", "Add", "Activation"]) == [3]


@cases(
    "constraint, share",
    [
        ("L1_usage < 0.8 * L1_capacity", 0.8),
        ("UB_usage <= .25*UB_capacity", 0.25),
        (0.5, 0.5),
        (1, 1.0),
    ],
)
def test_a_constraint_bounds_the_memory_on_chip(constraint: Any, share: float) -> None:
    assert read_rules([{"constraint": constraint}]) == (("all",), share)
    assert read_rules(["GELU", {"constraint": constraint}, {"constraint": 1}])[1] == share


def test_names_and_rules_stay_as_they_are() -> None:
    rule = rule_of({"pattern": ["Exp", "Neg"]})
    assert read_rules("GELU,all") == (("GELU", "all"), 0.8)
    assert read_rules(rule) == read_rules([rule]) == ((rule,), 0.8)
    assert (
        read_rules({"pattern": ["Exp", "Neg"]})[0][0].name  # type: ignore[union-attr]
        == "ExpNeg"
    )


def test_a_file_may_hold_dicts(tmp_path: Path) -> None:
    path = tmp_path / "fusion_rules.py"
    path.write_text('fusion_rules = [{"pattern": ["Exp", "Neg"]}, {"constraint": 0.5}]\n', "utf-8")
    rules, share = read_rules(load_rules(str(path)))
    assert [rule.name for rule in rules] == ["ExpNeg"] and share == 0.5  # type: ignore[union-attr]


@cases(
    "written, says",
    [
        (
            {"patern": ["Exp"]},
            "a rule has no such key; expected pattern, condition, fusion_type, name",
        ),
        (
            {"fusion_type": "pipeline"},
            'is a list of operators; expected "pattern": ["LayerNorm", "Linear"], alternatives as '
            'in "Gelu|Erf", got None',
        ),
        ({"pattern": "LayerNorm"}, "got 'LayerNorm'"),
        ({"pattern": ["Layernorm", "Linear"]}, "got 'Layernorm'. Did you mean LayerNorm?"),
        (
            {"pattern": ["Exp", "Neg"], "fusion_type": "inner"},
            "unknown fusion_type; expected operator_inner or cross_operator or pipeline, got "
            "'inner'",
        ),
        (
            {"pattern": ["Exp", "Neg"], "condition": lambda a: True},
            "a function of 2 arguments, one for each of Exp, Neg",
        ),
        ({"pattern": ["Exp", "Neg"], "condition": True}, "cannot be called"),
        ({"pattern": ["Mul", "Add", "ReLU?"]}, "may be absent write a second rule"),
        ({"pattern": ["Add?"]}, "is a list of operators"),
        ({"pattern": ["?"]}, "is a list of operators"),
        ({"pattern": ["Add", "Gelu||Erf"]}, "alternatives as in"),
        (
            {"pattern": ["Exp"], "fusion_type": ["x"]},
            "unknown fusion_type; expected operator_inner or cross_operator or pipeline, got ['x']",
        ),
        ({"constraint": "UB_usage < 0.5 * L1_capacity"}, "this constraint is not understood"),
        ({"constraint": "usage < 0.5 * capacity"}, "this constraint is not understood"),
        ({"constraint": "L2_usage < 0.5 * L2_capacity"}, 'L1_capacity"}, or UB'),
        (3, "this is not a rule; expected a name, a Rule, a dict, or a list of them, got 3"),
        (
            {"constraint": "L1_usage > 3"},
            '{"constraint": "L1_usage < 0.8 * L1_capacity"}, or UB, or a share',
        ),
        ({"constraint": 80}, "this constraint is not understood"),
        ({"constraint": 0.8, "pattern": ["Exp"]}, "this constraint is not understood"),
    ],
    ids=lambda row: row[1],
)
def test_what_is_no_rule_is_said(written: Any, says: str) -> None:
    with pytest.raises(InputError) as raised:
        read_rules([written])
    assert says in str(raised.value) and str(raised.value).startswith("fusion_rules: ")


def test_a_condition_that_fails_is_named(graph: Graph) -> None:
    rule = rule_of({"pattern": ["Linear", "GELU"], "condition": lambda a, b: a.shape == b.shape})
    with pytest.raises(InputError, match=r"condition of Linear \+ GELU fails.*input_shape"):
        list(find_matches(rule, graph, order_of(graph)))


def test_a_condition_that_gives_an_array_is_named(graph: Graph) -> None:
    array: Any = lambda a, b: np.array([True, True])  # noqa: E731
    rule = rule_of({"pattern": ["Linear", "GELU"], "condition": array})
    with pytest.raises(InputError, match=r"Linear \+ GELU fails.*ambiguous.*Return a bool"):
        list(find_matches(rule, graph, order_of(graph)))


def test_rules_that_are_no_list() -> None:
    wanted: Any = 3
    with pytest.raises(InputError, match=r"this is not a rule.*or a list of them, got 3"):
        read_rules(wanted)
    with pytest.raises(InputError, match="unknown rule; expected all, GELU, got 3"):
        check_names([wanted], ["GELU"])
