"""Batch builds: several kernels per compiler call, in order; a failing kernel fails alone."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import numpy as np
import pytest

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.onnx.kernels import group_kernel
from ms_fusion.onnx.kernels.group_kernel import GroupKernel, build_all
from tbe_impl import environment
from tbe_impl.cpu import prepared_kernel
from tbe_impl.errors import FusionError
from tbe_impl.runtime import compiler
from tests.cases import cases


def group(columns: int, op: str = "Exp") -> Node:
    """(x + x) through an operator, for rows of this length."""
    values = {
        name: Value(name, (4, columns), "float32", "input" if name == "x" else "result")
        for name in "xyz"
    }
    nodes = (
        Node("sum", "Add", ("x", "x"), ("y",), (("onnx_op", "Add"),)),
        Node("last", op, ("y",), ("z",), (("onnx_op", op),)),
    )
    return Node(
        f"group_{columns}", "Group", ("x",), ("z",), body=Graph("g", nodes, values, ("x",), ("z",))
    )


@pytest.fixture(autouse=True)
def _an_empty_cache(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(environment.CACHE_DIR.name, str(tmp_path))


def test_a_call_compiles_several_kernels_that_are_right(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(group_kernel, "BATCH_OPERATORS_MAX", 8)
    sizes = range(5, 15)
    before = compiler.count_compiled_libraries()
    for columns, found in zip(sizes, build_all([group(one) for one in sizes]), strict=True):
        assert isinstance(found, GroupKernel)
        x = np.random.default_rng(columns).standard_normal((4, columns)).astype(np.float32)
        np.testing.assert_allclose(found.kernel(x), np.exp(2 * x.astype(np.float64)), rtol=3e-7)
    assert compiler.count_compiled_libraries() - before == 3


def test_a_failing_kernel_does_not_affect_the_others() -> None:
    wanted = [group(6), group(7, op="Nothing"), group(8)]
    first, second, third = build_all(wanted)
    assert isinstance(second, FusionError)
    for node, found in zip((wanted[0], wanted[2]), (first, third), strict=True):
        assert isinstance(found, GroupKernel)
        assert found.node is node


def test_a_kernel_that_no_compiler_takes_costs_only_itself(monkeypatch: pytest.MonkeyPatch) -> None:
    whole = group_kernel.plan_kernel

    def spoilt(node: Node) -> GroupKernel:
        found = whole(node)
        if node.name == "group_7":
            (step,) = found.kernel.planned.sequence.steps
            part = step.kernel
            assert isinstance(part, prepared_kernel.PlannedProgram)
            program = part.write()
            bad = replace(program, text=lambda: program.source + "int k(void) { return absent; }")
            part.__dict__["write"] = lambda: bad
        return found

    monkeypatch.setattr(group_kernel, "plan_kernel", spoilt)
    monkeypatch.setattr(environment, "threads", lambda: 1)
    first, second, third = build_all([group(6), group(7), group(8)])
    assert isinstance(second, FusionError)
    assert isinstance(first, GroupKernel)
    assert isinstance(third, GroupKernel)


@cases("order, stored", [((0, 2, 1), 1), ((1, 0, 2), 0)])
def test_what_takes_several_reads_is_stored_before_it_is_turned(
    order: tuple[int, ...], stored: int
) -> None:
    shape = (2, 8, 6)
    shapes = dict.fromkeys("xym", shape) | {"z": tuple(shape[axis] for axis in order)}
    values = {
        name: Value(name, one, "float32", "input" if name in "xy" else "result")
        for name, one in shapes.items()
    }
    nodes = (
        Node("sum", "Add", ("x", "y"), ("m",), (("onnx_op", "Add"),)),
        Node("last", "Transpose", ("m",), ("z",), (("onnx_op", "Transpose"), ("perm", order))),
    )
    body = Graph("g", nodes, values, ("x", "y"), ("z",))
    found = group_kernel.build(Node("turned", "Group", ("x", "y"), ("z",), body=body))
    assert len(found.kernel.options.stored) == stored
    x, y = np.random.default_rng(6).standard_normal((2, *shape)).astype(np.float32)
    np.testing.assert_array_equal(found.kernel(x, y), np.transpose(x + y, order))
