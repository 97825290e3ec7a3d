"""Sample inputs: deterministic, right shape, valid for each operator, special values on request."""

from __future__ import annotations

import numpy as np

from ms_fusion.accuracy.replay import replay
from ms_fusion.accuracy.sample_inputs import edge_inputs, seeded_inputs, special_values
from ms_fusion.graph import Graph, Node, Value


def graph(*steps, shape=(8, 64), dtype="float32"):
    """Inputs x and y; each step is (op, inputs, output)."""
    values = {name: Value(name, shape, dtype, "input") for name in "xy"}
    values |= {step[2]: Value(step[2], shape, dtype) for step in steps}
    nodes = tuple(
        Node(f"n{k}", op, inputs, (output,)) for k, (op, inputs, output) in enumerate(steps)
    )
    return Graph("g", nodes, values, ("x", "y"), (steps[-1][2],))


PLAIN = graph(("Mul", ("x", "y"), "o"))


def test_same_seed_same_inputs():
    first, again, other = seeded_inputs(PLAIN, 3), seeded_inputs(PLAIN, 3), seeded_inputs(PLAIN, 4)
    assert first["x"].shape == (8, 64)
    assert first["x"].dtype == np.float32
    np.testing.assert_array_equal(first["x"], again["x"])
    assert (first["x"] != other["x"]).any()
    assert (first["x"] != first["y"]).any()
    assert (first["x"] < 0).any()


def test_roots_and_logarithms_get_positive_numbers():
    inputs = seeded_inputs(
        graph(("Abs", ("x",), "a"), ("Add", ("a", "y"), "b"), ("Log", ("b",), "o")), 0
    )
    assert inputs["y"].min() > 0


def test_what_needs_more_than_one_gets_it():
    wanted = graph(("Add", ("x", "y"), "s"), ("Mul", ("x", "y"), "m"), ("Acosh", ("m",), "o"))
    assert np.isfinite(replay(wanted, seeded_inputs(wanted, 0))["o"]).all()


def test_edges_hold_every_special_number_in_all_pairs():
    inputs = edge_inputs(graph(("Mul", ("x", "y"), "o"), shape=(16, 64)), 0)
    special = special_values("float32")
    pairs = {
        (a.tobytes(), b.tobytes()) for a, b in zip(inputs["x"].flat, inputs["y"].flat, strict=True)
    }
    assert all((a.tobytes(), b.tobytes()) in pairs for a in special for b in special)
    ordinary = seeded_inputs(graph(("Mul", ("x", "y"), "o"), shape=(16, 64)), 0)["x"]
    np.testing.assert_array_equal(inputs["x"][8:], ordinary[8:])


def test_special_numbers_of_each_dtype():
    for dtype in ("float16", "bfloat16", "float32", "float64"):
        numbers = special_values(dtype).astype(np.float64)
        assert np.isnan(numbers).any()
        assert {np.inf, -np.inf, 0.0, 1.0} <= set(numbers[~np.isnan(numbers)])
        assert (
            0 < min(abs(n) for n in numbers if n == n and n) < 1e-6
        )  # a subnormal that was not flushed


def test_integers_and_indices():
    values = {
        "table": Value("table", (5, 3), "float32", "input"),
        "ids": Value("ids", (100,), "int64", "input"),
        "axis": Value("axis", (), "int64", "constant", 0),
        "o": Value("o", (100, 3), "float32"),
    }
    gather = Graph(
        "g",
        (Node("n", "Gather", ("table", "ids", "axis"), ("o",)),),
        values,
        ("table", "ids"),
        ("o",),
    )
    ids = seeded_inputs(gather, 0)["ids"]
    assert ids.min() >= 0
    assert ids.max() < 3
    assert ids.dtype == np.int64
    flags = seeded_inputs(graph(("LogicalAnd", ("x", "y"), "o"), dtype="bool"), 0)["x"]
    assert flags.any()
    assert not flags.all()
