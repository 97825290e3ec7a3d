"""Time of arithmetic: counted elements and steps per operator."""

from __future__ import annotations

from ms_fusion.cost.vector_steps import vector_steps
from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ops import OPERATORS
from tests.cases import cases


def steps(op: str, *shapes: tuple[int, ...], exponent: object = None, **attributes: object) -> int:
    """Steps of an operator on float32 inputs; the last shape is the result's, `exponent` the second
    input.
    """
    names = [f"x{number}" for number in range(len(shapes) - 1)]
    values = {
        name: Value(name, shape, "float32", "input")
        for name, shape in zip((*names, "y"), shapes, strict=True)
    }
    if exponent is not None:
        values["x1"] = Value("x1", (1,), "float32", "constant", exponent)
    node = Node("n", op, tuple(names), ("y",), tuple(sorted(attributes.items())))
    return vector_steps(node, Graph("g", (node,), values, tuple(names), ("y",)))


@cases("op, wanted", [("Add", 1), ("Exp", 10), ("Tanh", 26), ("Reshape", 0), ("Nobody", 1)])
def test_each_element_takes_the_steps_of_its_operator(op: str, wanted: int) -> None:
    assert steps(op, (4, 5), (4, 5)) == 20 * wanted


def test_a_reduction_takes_every_element_that_it_reads() -> None:
    assert steps("ReduceMean", (4, 5), (4, 1)) == 20 * OPERATORS["ReduceMean"].steps


@cases("exponent, wanted", [(2.0, 2), ((3.0,), 2), (((0.5,),), 2), (1.7, 120), (None, 120)])
def test_a_power_of_a_small_number_is_a_product(exponent: object, wanted: int) -> None:
    assert steps("Pow", (4, 5), (1,), (4, 5), exponent=exponent) == 20 * wanted


def test_rows_that_stay_whole_are_copied() -> None:
    assert steps("Transpose", (2, 3, 4), (3, 2, 4), perm=(1, 0, 2)) == 24
    assert (
        steps("Transpose", (2, 3, 4), (2, 4, 3), perm=(0, 2, 1))
        == 24 * OPERATORS["Transpose"].steps
    )
