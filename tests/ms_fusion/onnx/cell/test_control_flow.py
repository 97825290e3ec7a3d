"""Branches and loops: executed at run time, or unrolled where the count is constant."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper

import ms_fusion as mf
from ms_fusion.onnx.native.child import NativeWorkers
from tbe_impl.errors import InputError
from tests.ms_fusion.onnx.cell.modes import in_modes, in_pynative_first
from tests.ms_fusion.onnx.cell.test_cell import random, same
from tests.ms_fusion.onnx.fuse.models import Builder

FLOAT, INT64, BOOL = TensorProto.FLOAT, TensorProto.INT64, TensorProto.BOOL
SHAPE = (3, 4)


def graph(
    nodes: Sequence[tuple[str, Sequence[str], str]],
    inputs: Sequence[tuple[str, int, Any]],
    outputs: Sequence[tuple[str, int, Any]],
    constants: Sequence[Any] = (),
    **more: Any,
) -> Any:
    """The graph of an operator: (operator, inputs, output) each."""
    made = [
        helper.make_node(op, list(read), [name], name=f"in_{name}", **(more.get(name) or {}))
        for op, read, name in nodes
    ]
    told = [[helper.make_tensor_value_info(*one) for one in part] for part in (inputs, outputs)]
    return helper.make_graph(made, "inner", *told, list(constants))


def chosen(place: Path) -> Path:
    """log x where the sum of x is above 0, x · weight elsewhere."""
    b = Builder({"x": SHAPE})
    weight = b.weight(*SHAPE)
    above = b.add("Greater", b.add("ReduceSum", "x", keepdims=0), b.constant(0.0, "float32"))
    branches = {
        "then_branch": graph(
            [("Abs", ["x"], "size"), ("Log", ["size"], "t")], [], [("t", FLOAT, SHAPE)]
        ),
        "else_branch": graph([("Mul", ["x", weight], "e")], [], [("e", FLOAT, SHAPE)]),
    }
    return b.save(place, b.add("Tanh", b.add("If", above, **branches)))


@in_modes("sign", [1, -1], graph=(1,))
def test_one_branch_is_taken(sign: int, native: NativeWorkers, tmp_path: Path) -> None:
    source = chosen(tmp_path / "model.onnx")
    net, x = mf.from_onnx(source), sign * np.abs(random(*SHAPE))
    same(net, source, {"x": x}, native)
    # the branch that is not taken (here the logarithm of 0) has no gradient
    x[0, 0] = 0 if sign < 0 else 1

    def loss(x: Any) -> Any:
        return net(x).sum()

    assert np.isfinite(ms.grad(loss)(ms.Tensor(x)).asnumpy()).all()


def counted(place: Path, *, rounds: int | None, collects: bool) -> Path:
    """state ← tanh(state · weight) + round number, repeatedly; each state is a result too."""
    b = Builder({"x": SHAPE, **({} if rounds else {"n": ()})})
    weight, going = b.weight(SHAPE[1], SHAPE[1]), b.constant(True)
    if not rounds:
        b.inputs[1] = helper.make_tensor_value_info("n", INT64, ())
    nodes = [
        ("MatMul", ["state", weight], "product"),
        ("Tanh", ["product"], "low"),
        ("Cast", ["i"], "number"),
        ("Add", ["low", "number"], "new"),
        ("Identity", ["on"], "still"),
        *([("Identity", ["new"], "each")] if collects else []),
    ]
    outputs = [
        ("still", BOOL, ()),
        ("new", FLOAT, SHAPE),
        *([("each", FLOAT, SHAPE)] if collects else []),
    ]
    body = graph(
        nodes,
        [("i", INT64, ()), ("on", BOOL, ()), ("state", FLOAT, SHAPE)],
        outputs,
        number={"to": FLOAT},
    )
    times = b.constant(rounds, "int64") if rounds else "n"
    made = b.add("Loop", times, going, "x", body=body, outputs=2 if collects else 1)
    return b.save(place, *(made if collects else [made]))


@in_modes("collects", [True, False])
def test_known_rounds_are_written_out(
    collects: bool, native: NativeWorkers, tmp_path: Path
) -> None:
    source = counted(tmp_path / "model.onnx", rounds=3, collects=collects)
    same(mf.from_onnx(source), source, {"x": random(*SHAPE)}, native)


@in_modes("rounds", [0, 1, 4], graph=(4,), quick=(0, 4))
def test_other_rounds_are_counted(rounds: int, native: NativeWorkers, tmp_path: Path) -> None:
    source = counted(tmp_path / "model.onnx", rounds=None, collects=False)
    same(mf.from_onnx(source), source, {"x": random(*SHAPE), "n": np.array(rounds)}, native)


@in_pynative_first
def test_what_cannot_be_collected_is_refused_by_name(tmp_path: Path) -> None:
    source = counted(tmp_path / "model.onnx", rounds=None, collects=True)
    with pytest.raises(InputError, match=r"Loop_.*collects the results of iterations"):
        mf.from_onnx(source)


@in_pynative_first
def test_a_loop_ends_with_its_condition(native: NativeWorkers, tmp_path: Path) -> None:
    b = Builder({"x": SHAPE})
    limit, two = b.constant(50.0, "float32"), b.constant(2.0, "float32")
    nodes = [
        ("Mul", ["state", two], "new"),
        ("ReduceMax", ["new"], "top"),
        ("Less", ["top", limit], "still"),
    ]
    body = graph(
        nodes,
        [("i", INT64, ()), ("on", BOOL, ()), ("state", FLOAT, SHAPE)],
        [("still", BOOL, ()), ("new", FLOAT, SHAPE)],
        top={"keepdims": 0},
    )
    source = b.save(tmp_path / "model.onnx", b.add("Loop", "", b.constant(True), "x", body=body))
    same(mf.from_onnx(source), source, {"x": np.abs(random(*SHAPE))}, native)


@in_modes("back", [0, 1])
def test_a_scan_is_written_out(back: int, native: NativeWorkers, tmp_path: Path) -> None:
    b = Builder({"x": (5, 4)})
    start = b.constant(np.zeros(4, np.float32))
    body = graph(
        [("Add", ["state", "row"], "sum"), ("Tanh", ["sum"], "new"), ("Identity", ["sum"], "each")],
        [("state", FLOAT, (4,)), ("row", FLOAT, (4,))],
        [("new", FLOAT, (4,)), ("each", FLOAT, (4,))],
    )
    made = b.add(
        "Scan",
        start,
        "x",
        body=body,
        num_scan_inputs=1,
        scan_input_directions=[back],
        scan_output_directions=[back],
        scan_output_axes=[1],
        outputs=2,
    )
    source = b.save(tmp_path / "model.onnx", *made)
    same(mf.from_onnx(source), source, {"x": random(5, 4)}, native)


@in_pynative_first
def test_a_fused_model_keeps_branches_and_loops(
    native: NativeWorkers, tmp_path: Path, subtests: pytest.Subtests
) -> None:
    for name, source in {
        "If": chosen(tmp_path / "one.onnx"),
        "Loop": counted(tmp_path / "two.onnx", rounds=3, collects=True),
    }.items():
        with subtests.test(name):
            fused = tmp_path / f"fused {name}.onnx"
            mf.auto_fuse(source, fused)
            same(mf.from_onnx(fused), source, {"x": random(*SHAPE)}, native)


@in_pynative_first
def test_texts_within_a_branch_are_no_code(tmp_path: Path) -> None:
    trap = tmp_path / "was here"
    b = Builder({"x": SHAPE})
    code = f"__import__('pathlib').Path({str(trap)!r}).touch()"
    branch = graph([("Elu", ["x"], "t")], [], [("t", FLOAT, SHAPE)], t={"alpha": code})
    other = graph([("Identity", ["x"], "e")], [], [("e", FLOAT, SHAPE)])
    above = b.add("Greater", b.add("ReduceSum", "x", keepdims=0), b.constant(0.0, "float32"))
    model = b.model(b.add("If", above, then_branch=branch, else_branch=other))
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(InputError):
        mf.from_onnx(tmp_path / "model.onnx")
    assert not trap.exists()


@in_pynative_first
def test_a_scan_of_unknown_length_is_refused_by_name(tmp_path: Path) -> None:
    b = Builder({"x": ("n", 4)})
    body = graph(
        [("Tanh", ["row"], "new"), ("Add", ["state", "row"], "sum")],
        [("state", FLOAT, (4,)), ("row", FLOAT, (4,))],
        [("sum", FLOAT, (4,)), ("new", FLOAT, (4,))],
    )
    made = b.add(
        "Scan", b.constant(np.zeros(4, np.float32)), "x", body=body, num_scan_inputs=1, outputs=2
    )
    with pytest.raises(InputError, match=r"Scan_.*number is unknown"):
        mf.from_onnx(b.save(tmp_path / "model.onnx", *made))
