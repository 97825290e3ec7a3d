"""Recurrent nets with varying sequence lengths equal ONNX Runtime, in both modes."""

from __future__ import annotations

import itertools
from pathlib import Path

import numpy as np
import onnx

import ms_fusion as mf
from ms_fusion.onnx.native.child import NativeWorkers
from tests.ms_fusion.onnx.cell.modes import in_modes
from tests.ms_fusion.onnx.cell.test_cell import random, same
from tests.ms_fusion.onnx.fuse.models import Builder

GATES = {"LSTM": 4, "GRU": 3, "RNN": 1}
STEPS, BATCH, WIDTH, SIZE = 5, 3, 4, 8


@in_modes(
    "op, direction, computed",
    itertools.product(GATES, ["forward", "reverse", "bidirectional"], [False, True]),
    quick=[
        ("LSTM", "bidirectional", True),
        ("GRU", "reverse", True),
        ("RNN", "bidirectional", False),
    ],
    per_item=9,
)
def test_sequences_end_where_their_length_says(
    op: str, direction: str, computed: bool, native: NativeWorkers, tmp_path: Path
) -> None:
    ways, gates = 1 + (direction == "bidirectional"), GATES[op]
    b = Builder({"x": (STEPS, BATCH, WIDTH), **({"lengths": (BATCH,)} if computed else {})})
    lengths = (
        b.add("Cast", "lengths", to=onnx.TensorProto.INT32)
        if computed
        else b.constant([5, 3, 1], "int32")
    )
    weights = (
        b.weight(ways, gates * SIZE, WIDTH),
        b.weight(ways, gates * SIZE, SIZE),
        b.weight(ways, 2 * gates * SIZE),
    )
    peepholes = ("", "", b.weight(ways, 3 * SIZE)) if op == "LSTM" else ()
    results = b.add(
        op,
        "x",
        *weights,
        lengths,
        *peepholes,
        outputs=2 + (op == "LSTM"),
        hidden_size=SIZE,
        direction=direction,
    )
    source = b.save(tmp_path / "model.onnx", *results)
    given = {"x": random(STEPS, BATCH, WIDTH)} | (
        {"lengths": np.float32([5, 3, 1])} if computed else {}
    )
    same(mf.from_onnx(source), source, given, native)
