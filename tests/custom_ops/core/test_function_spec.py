"""Functions are generated as source text, which MindSpore and `help` can read."""

from __future__ import annotations

import inspect

from custom_ops.core.function_spec import (
    FunctionSpec,
    attribute_parameters,
    function_of_spec,
    to_hashable,
)
from custom_ops.core.operator_spec import OpSpec

FULL = OpSpec("Full", ("x", "w", "b"), attributes={"groups": 1, "mode": "same", "steps": 2})
SHORT = OpSpec("Short", ("x", "w"), attributes=FULL.attributes)
SPEC = function_of_spec(
    "full",
    FULL,
    "Adds b.",
    without=SHORT,
    attributes=("groups", "mode", "steps"),
    required=("groups",),
    types={"steps": "Any"},
)
SOURCE = '''\
def full(
    x: Any,
    groups: int,
    w: Any,
    b: Any = None,
    *,
    mode: str = "same",
    steps: Any = 2,
    route: str = "",
) -> Any:
    """Adds b."""
    if b is None:
        cell = _cell("full", True, groups, mode, steps, route=route)
        return cell(x, w)
    cell = _cell("full", False, groups, mode, steps, route=route)
    return cell(x, w, b)
'''


def test_source():
    assert SPEC.source() == SOURCE


def test_an_optional_tensor_before_a_required_one_has_no_default():
    spec = FunctionSpec("f", ("x", "b", "g"), dict, (), optional=("b",), build_without=dict)
    assert "    x: Any,\n    b: Any,\n    g: Any,\n" in spec.source()
    assert "    if b is None:" in spec.source()


def test_a_defined_function_calls_its_cell_and_shows_its_source():
    asked = []

    def cell(name, absent, *attributes, route):
        asked.append((name, absent, attributes, route))
        return lambda *tensors: tensors

    namespace = {"__name__": "made", "_cell": cell}
    function = SPEC.define(namespace)
    assert function(1, 4, 2) == (1, 2)
    assert function(1, 4, 2, 3, mode="valid", route="composite") == (1, 2, 3)
    assert asked == [
        ("full", True, (4, "same", 2), ""),
        ("full", False, (4, "valid", 2), "composite"),
    ]
    assert namespace["full"] is function
    assert inspect.getsource(function) == SOURCE


def test_the_cell_of_absent_tensors_is_built_apart():
    found = []
    spec = FunctionSpec(
        "f",
        ("x", "b"),
        lambda **given: found.append(("with", given)),
        attribute_parameters({"scale": 1.0}, {}),
        optional=("b",),
        build_without=lambda **given: found.append(("without", given)),
    )
    spec.build_cell(False, (2.0,), "native")
    spec.build_cell(True, (2.0,), "")
    assert found == [
        ("with", {"scale": 2.0, "route": "native"}),
        ("without", {"scale": 2.0, "route": ""}),
    ]


def test_lists_become_tuples():
    assert to_hashable(([1, [2]], "ab", None)) == ((1, (2,)), "ab", None)
