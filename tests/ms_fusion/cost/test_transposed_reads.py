"""Elementwise reads before a transpose of the last axis: counts, and stores if there are many."""

from __future__ import annotations

from collections.abc import Callable

from ms_fusion.cost.transposed_reads import count_reads, recomputed_steps, values_to_materialize
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ops import OPERATORS
from tests.cases import cases

SHAPE = (2, 8, 6)
ELEMENTS = 96


class Written:
    """A graph, operator by operator."""

    def __init__(self, **inputs: tuple[int, ...]):
        self.nodes: list[Node] = []
        self.values = {
            name: Value(name, shape, "float32", "input") for name, shape in inputs.items()
        }

    def add(
        self, op: str, *inputs: str, shape: tuple[int, ...] = SHAPE, **attributes: object
    ) -> str:
        name = f"v{len(self.nodes)}"
        self.values[name] = Value(name, shape, "float32", "result")
        self.nodes.append(Node(name, op, inputs, (name,), tuple(sorted(attributes.items()))))
        return name

    def graph(self, result: str) -> Graph:
        inputs = tuple(name for name, value in self.values.items() if value.kind == "input")
        return Graph("g", tuple(self.nodes), self.values, inputs, (result,))


def rotary(w: Written) -> str:
    low, high = (w.add("Slice", "x", shape=(2, 8, 3)) for _ in range(2))
    swapped = w.add("Concat", w.add("Neg", high, shape=(2, 8, 3)), low, axis=-1)
    return w.add("Add", w.add("Mul", "x", "table"), w.add("Mul", swapped, "table"))


def gate(w: Written) -> str:
    return w.add("Mul", "x", w.add("Sigmoid", "x"))


@cases(
    "write, reads",
    [
        (lambda w: w.add("Add", "x", "row"), 1),
        (lambda w: w.add("Add", "x", w.add("Neg", "table", shape=(8, 6))), 2),
        (gate, 1),
        (rotary, 3),
    ],
)
def test_what_is_read_at_several_places_counts_for_each(
    write: Callable[[Written], str], reads: int
) -> None:
    w = Written(x=SHAPE, table=(8, 6), row=(6,))
    made = write(w)
    assert count_reads(made, w.graph(made)) == reads * ELEMENTS


@cases(
    "write, order, is_stored",
    [
        (rotary, (0, 2, 1), True),
        (rotary, (1, 0, 2), False),
        (gate, (0, 2, 1), False),
        (lambda w: "x", (0, 2, 1), False),
    ],
)
def test_what_takes_several_reads_is_stored_before_a_transpose(
    write: Callable[[Written], str], order: tuple[int, ...], is_stored: bool
) -> None:
    w = Written(x=SHAPE, table=(8, 6))
    made = write(w)
    turned = w.add("Transpose", made, shape=tuple(SHAPE[axis] for axis in order), perm=order)
    assert values_to_materialize(w.graph(turned)) == ((made,) if is_stored else ())


def swapped(w: Written, source: str) -> str:
    low, high = (w.add("Slice", source, shape=(2, 8, 3)) for _ in range(2))
    return w.add("Concat", w.add("Neg", high, shape=(2, 8, 3)), low, axis=-1)


def rotated(w: Written, made: str) -> str:
    return w.add("Add", w.add("Mul", made, "table"), swapped(w, made))


@cases(
    "write, steps",
    [
        (lambda w: rotated(w, w.add("Tanh", "x")), OPERATORS["Tanh"].steps),
        (lambda w: rotated(w, w.add("Tanh", w.add("Abs", "x"))), OPERATORS["Tanh"].steps + 1),
        (lambda w: swapped(w, w.add("Tanh", "x")), 0),
        (lambda w: rotated(w, "x"), 0),
        (gate, 0),
        (lambda w: rotated(w, w.add("RmsNorm", "x")), 0),
    ],
    ids=["both", "both, of two", "swapped alone", "of memory", "one place", "a row that is kept"],
)
def test_what_is_read_directly_and_swapped_is_computed_twice(
    write: Callable[[Written], str], steps: int
) -> None:
    w = Written(x=SHAPE, table=(8, 6))
    made = write(w)
    assert recomputed_steps(w.graph(made)) == steps * ELEMENTS


def test_what_is_stored_is_computed_once_for_two_readers() -> None:
    w = Written(x=SHAPE, table=(8, 6))
    made = w.add("Add", w.add("Tanh", "x"), w.add("Tanh", "table", shape=(8, 6)))
    turned = w.add("Transpose", made, shape=(2, 6, 8), perm=(0, 2, 1))
    low, high = (w.add("Slice", turned, shape=(2, 3, 8)) for _ in range(2))
    both = w.add(
        "Add", turned, w.add("Concat", high, low, shape=(2, 6, 8), axis=1), shape=(2, 6, 8)
    )
    assert values_to_materialize(w.graph(both)) == (made,)
    assert recomputed_steps(w.graph(both)) == 0
