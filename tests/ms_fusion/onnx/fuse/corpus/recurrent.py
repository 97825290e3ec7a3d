"""Recurrent nets: LSTM and GRU as one operator, and unrolled."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping
from pathlib import Path

from tests.ms_fusion.onnx.fuse.models import Builder


def whole(path: Path, op: str, *, features: int, hidden: int, layers: int) -> Path:
    """Layers of the operator, a head on the last state."""
    b = Builder({"x": ("t", 2, features)})
    x, gates = "x", 4 if op == "LSTM" else 3
    for layer in range(layers):
        read = features if layer == 0 else hidden
        y, *_ = b.add(
            op,
            x,
            b.weight(1, gates * hidden, read),
            b.weight(1, gates * hidden, hidden),
            b.weight(1, 2 * gates * hidden),
            outputs=2,
            hidden_size=hidden,
        )
        x = b.add("Squeeze", y, b.constant([1], "int64"))
        x = b.add("Tanh", b.add("Mul", x, b.constant(0.5, "float32")))
    last = b.add("Gather", x, b.constant(-1, "int64"), axis=0)
    return b.save(
        path, b.add("Softmax", b.add("Gemm", last, b.weight(hidden, 5), b.weight(5)), axis=-1)
    )


def lstm_steps(path: Path, *, features: int, hidden: int, steps: int) -> Path:
    """LSTM: gates from two products, split and combined."""
    b = Builder({"x": ("n", steps, features), "h": ("n", hidden), "c": ("n", hidden)})
    weight, recurrent, bias = (
        b.weight(features, 4 * hidden),
        b.weight(hidden, 4 * hidden),
        b.weight(4 * hidden),
    )
    h, c = "h", "c"
    for step in range(steps):
        x = b.add("Gather", "x", b.constant(step, "int64"), axis=1)
        gates = b.add(
            "Add", b.add("Add", b.add("MatMul", x, weight), b.add("MatMul", h, recurrent)), bias
        )
        i, f, g, o = b.add("Split", gates, outputs=4, axis=1, num_outputs=4)
        c = b.add(
            "Add",
            b.add("Mul", b.add("Sigmoid", f), c),
            b.add("Mul", b.add("Sigmoid", i), b.add("Tanh", g)),
        )
        h = b.add("Mul", b.add("Sigmoid", o), b.add("Tanh", c))
    return b.save(path, h, c)


def gru_steps(path: Path, *, features: int, hidden: int, steps: int) -> Path:
    """Update and reset gates, a candidate, a weighted mean."""
    b = Builder({"x": ("n", steps, features), "h": ("n", hidden)})
    one = b.constant(1.0, "float32")
    weights = [
        (b.weight(features, hidden), b.weight(hidden, hidden), b.weight(hidden)) for _ in range(3)
    ]
    h = "h"
    for step in range(steps):
        x = b.add("Gather", "x", b.constant(step, "int64"), axis=1)

        def gate(number: int, state: str, x: str = x) -> str:
            w, u, bias = weights[number]
            return b.add(
                "Add", b.add("Add", b.add("MatMul", x, w), b.add("MatMul", state, u)), bias
            )

        update, reset = b.add("Sigmoid", gate(0, h)), b.add("Sigmoid", gate(1, h))
        candidate = b.add("Tanh", gate(2, b.add("Mul", reset, h)))
        h = b.add(
            "Add", b.add("Mul", b.add("Sub", one, update), candidate), b.add("Mul", update, h)
        )
    return b.save(path, h)


MODELS: Mapping[str, Callable[[Path], Path]] = {
    "lstm_one": functools.partial(whole, op="LSTM", features=6, hidden=8, layers=1),
    "lstm_two": functools.partial(whole, op="LSTM", features=5, hidden=12, layers=2),
    "lstm_steps": functools.partial(lstm_steps, features=6, hidden=8, steps=2),
    "lstm_many_steps": functools.partial(lstm_steps, features=4, hidden=16, steps=5),
    "lstm_wide_steps": functools.partial(lstm_steps, features=32, hidden=48, steps=3),
    "gru_one": functools.partial(whole, op="GRU", features=6, hidden=8, layers=1),
    "gru_two": functools.partial(whole, op="GRU", features=5, hidden=12, layers=2),
    "gru_steps": functools.partial(gru_steps, features=6, hidden=8, steps=2),
    "gru_many_steps": functools.partial(gru_steps, features=4, hidden=16, steps=4),
    "gru_wide_steps": functools.partial(gru_steps, features=32, hidden=48, steps=2),
}
