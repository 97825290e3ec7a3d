"""Operators of convolutional nets as single nodes: activations, resizing, stacks, windows."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from ms_fusion.graph import Node, Value
from ms_fusion.ops import OPERATORS
from ms_fusion.ops.call import Call
from ms_fusion.ops.resizing_formulas import adaptive_window_bounds
from tbe_impl.errors import InputError, ParseError
from tests.cases import FULL, cases
from tests.ms_fusion.kernel_server.composites import Text, check, run

SHAPE = (3, 37)
ACTIVATIONS = """ReLU ReLU6 ReLU6Grad HSigmoid HSigmoidGrad HSwish HSwishGrad Elu EluGrad SeLU
    Softsign     FastGeLU FastGeLUGrad GeLUGrad SoftplusGrad Mish""".split()
EDGES = np.float32([np.nan, np.inf, -np.inf, 0.0, -0.0, 3, -3, 6, 1, -1, 2.5, 1e-30, -40, 90])


def formula_of(name: str, *inputs: np.ndarray) -> np.ndarray:
    """Applies the NumPy formula of an activation."""
    rule: Any = OPERATORS[name].formula
    output = Value("y", inputs[0].shape, "float64")
    return rule(Call(Node(name, name, (), ("y",)), inputs, output, np.dtype(np.float64)))


@cases("dtype", ["float32", "float16", "float64"])
def test_activations_and_their_gradients(dtype: str, full: bool) -> None:
    """`make test` compiles the half-precision ones."""
    text, outputs = Text(f"Fused_activations_{dtype}"), []
    x, dy = text.input(SHAPE, dtype), text.input(SHAPE, dtype)
    for name in ACTIVATIONS:
        inputs = [dy, x] if name.endswith("Grad") else [x]
        inputs += [text.constant(1.0, "float32")] if name == "Elu" else []
        outputs.append(text.step(name, inputs, SHAPE, dtype))
    random = np.random.default_rng(0)
    given = {x: 3 * random.standard_normal(SHAPE), dy: random.standard_normal(SHAPE)}
    check(text.kernel(*outputs), given, built=full or dtype == "float16")


def test_activations_at_the_edges_in_one_kernel() -> None:
    text = Text("Fused_all_edges")
    x, dy = text.input(EDGES.shape, "float32"), text.input(EDGES.shape, "float32")
    made = [
        text.step(name, [dy, x] if name.endswith("Grad") else [x], EDGES.shape, "float32")
        for name in sorted(ACTIVATIONS)
    ]
    doubled = [text.step("Add", [one, one], EDGES.shape, "float32") for one in made]
    check(text.kernel(*doubled), {x: EDGES, dy: np.ones_like(EDGES)})


@FULL
@cases("name", sorted(ACTIVATIONS))
def test_activations_at_the_edges(name: str) -> None:
    """Each in its own kernel; `test_activations_at_the_edges_in_one_kernel` has the same values."""
    text = Text("Fused_edges")
    x, dy = text.input(EDGES.shape, "float32"), text.input(EDGES.shape, "float32")
    made = text.step(name, [dy, x] if name.endswith("Grad") else [x], EDGES.shape, "float32")
    check(
        text.kernel(text.step("Add", [made, made], EDGES.shape, "float32")),
        {x: EDGES, dy: np.ones_like(EDGES)},
    )


def test_activations_are_what_is_written_of_them() -> None:
    x = np.array([-7.0, -3, -2, 0, 2, 3, 6, 7])
    wanted = {
        "ReLU6": [0, 0, 0, 0, 2, 3, 6, 6],
        "HSigmoid": [0, 0, 1 / 6, 0.5, 5 / 6, 1, 1, 1],
        "HSwish": [0, 0, -1 / 3, 0, 5 / 3, 3, 6, 7],
        "Elu": [*np.expm1(x[:3]), 0, 2, 3, 6, 7],
    }
    for name, found in wanted.items():
        np.testing.assert_allclose(formula_of(name, x), found, atol=1e-12, err_msg=name)
    gradients = {
        "ReLU6Grad": [0, 0, 0, 0, 1, 1, 0, 0],
        "HSigmoidGrad": [0, 0, 1 / 6, 1 / 6, 1 / 6, 0, 0, 0],
        "HSwishGrad": [0, 0, -1 / 6, 0.5, 7 / 6, 1, 1, 1],
    }
    for name, slope in gradients.items():
        np.testing.assert_allclose(formula_of(name, np.ones(8), x), slope, atol=1e-12, err_msg=name)
    assert np.isnan(formula_of("HSwishGrad", np.ones(1), np.array([np.nan]))).all()


@cases("dtype", ["float32", "float16"])
@cases("sizes, counts", [((8, 7), (2, 3)), ((3, 5), (4, 5)), ((6, 6), (1, 1)), ((5, 3), (7, 11))])
def test_means_of_even_shares(sizes: Any, counts: Any, dtype: str, full: bool) -> None:
    """`make test` compiles those that do not divide."""
    text = Text("Fused_shares")
    x, dy = text.input((2, 3, *sizes), dtype), text.input((2, 3, *counts), dtype)
    twice = text.step("Add", [x, x], (2, 3, *sizes), dtype)
    mean = text.step("AdaptiveAvgPool2D", [twice], (2, 3, *counts), dtype, output_size=[*counts])
    back = text.step("AdaptiveAvgPool2DGrad", [dy], (2, 3, *sizes), dtype)
    random = np.random.default_rng(0)
    given = {x: random.standard_normal((2, 3, *sizes)), dy: random.standard_normal((2, 3, *counts))}
    kernel = text.kernel(mean, text.step("Neg", [back], (2, 3, *sizes), dtype))
    check(kernel, given, built=full or (sizes, dtype) == ((8, 7), "float32"))


def test_shares_overlap_where_they_do_not_divide() -> None:
    assert adaptive_window_bounds(7, 3) == [(0, 3), (2, 5), (4, 7)] and adaptive_window_bounds(
        8, 2
    ) == [(0, 4), (4, 8)]
    assert adaptive_window_bounds(2, 3) == [(0, 1), (0, 2), (1, 2)]


def _nearest(
    text: Text, name: str, source: Any, shape: Any, dtype: str, *, same: bool = True
) -> str:
    """In MindSpore's format: the two flags have no values, and equal tensors appear once."""
    flags = [
        {"tensor_name": f"input_flag_{number * (not same)}", "shape": [1], "data_type": "bool"}
        for number in range(2)
    ]
    size = (
        text.constant(list(shape[2:]), "int64")
        if name == "ResizeNearestNeighbor"
        else {"tensor_name": "input_size", "shape": [2], "data_type": "int64"}
    )
    return text.step(name, [source, size, *flags], shape, dtype)


@cases("dtype", ["float32", "bfloat16"])
@cases("sizes, counts", [((4, 5), (8, 10)), ((8, 6), (4, 2)), ((4, 6), (6, 15)), ((3, 3), (3, 9))])
def test_the_nearest_element(sizes: Any, counts: Any, dtype: str, full: bool) -> None:
    """`make test` compiles those with a fractional factor."""
    text = Text("Fused_nearest")
    x, dy = text.input((2, 3, *sizes), dtype), text.input((2, 3, *counts), dtype)
    made = _nearest(text, "ResizeNearestNeighbor", x, (2, 3, *counts), dtype)
    back = _nearest(text, "ResizeNearestNeighborGrad", dy, (2, 3, *sizes), dtype)
    random = np.random.default_rng(0)
    given = {x: random.standard_normal((2, 3, *sizes)), dy: random.standard_normal((2, 3, *counts))}
    kernel = text.kernel(text.step("Add", [made, dy], (2, 3, *counts), dtype), back)
    check(kernel, given, built=full or (sizes, dtype) == ((4, 6), "float32"))


def test_nearest_elements_that_are_not_known_are_refused() -> None:
    text = Text("Fused_aligned")
    x = text.input((1, 1, 4, 4), "float32")
    made = _nearest(text, "ResizeNearestNeighbor", x, (1, 1, 8, 8), "float32", same=False)
    with pytest.raises(
        ParseError, match=r"not computed by any operator|no earlier operator computes"
    ):
        text.kernel(made)
    text = Text("Fused_rounded")
    x = text.input((1, 1, 2, 4), "float32")
    made = _nearest(text, "ResizeNearestNeighbor", x, (1, 1, 82, 4), "float32")
    with pytest.raises(InputError, match="a matter of rounding"):
        run(text.kernel(made), {})


@cases("flags", [(True, False), (False, True)])
@cases("grad", ["", "Grad"])
def test_nearest_elements_of_aligned_images_are_refused(
    flags: tuple[bool, bool], grad: str
) -> None:
    text = Text("Fused_aligned")
    x, size = text.input((1, 1, 4, 4), "float32"), text.constant([4, 4], "int64")
    told = [text.constant(flag, "bool") for flag in flags]
    made = text.step(f"ResizeNearestNeighbor{grad}", [x, size, *told], (1, 1, 4, 4), "float32")
    with pytest.raises(InputError, match="aligned"):
        run(text.kernel(made), {})
    given = (np.ones((1, 1, 4, 4)), np.array([4, 4]), *map(np.bool_, flags))
    call = Call(
        Node("n", f"ResizeNearestNeighbor{grad}", (), ()),
        given,
        Value("y", (1, 1, 4, 4), "float32"),
        np.dtype(float),
    )
    with pytest.raises(InputError, match="aligned"):
        OPERATORS[call.node.op].formula(call)


@cases("axis", [0, pytest.param(1, marks=FULL), 3, -1])
def test_stacks(axis: int) -> None:
    text = Text("Fused_stack")
    shape = (2, 3, 5)
    x, y = text.input(shape, "float32"), text.input(shape, "float32")
    twice = text.step("Add", [x, x], shape, "float32")
    wide = list(shape)
    wide.insert(axis % 4, 2)
    made = text.step("Stack", [twice, y], wide, "float32", axis=axis)
    kernel = text.kernel(text.step("Neg", [made], wide, "float32"))
    check(kernel, {x: np.arange(30).reshape(shape), y: -np.arange(30).reshape(shape)})


WINDOWS = (
    ((4, 7, 9), (2, 3, 3), (2, 2, 2), "PAD", (0, 0, 1, 1, 1, 1), (2, 4, 5)),
    ((1, 6, 6), (1, 3, 3), (1, 2, 2), "PAD", (0, 0, 0, 0, 0, 1), (1, 3, 3)),
    ((4, 6, 6), (3, 3, 3), (2, 2, 2), "VALID", (0,) * 6, (1, 2, 2)),
    ((4, 6, 6), (2, 3, 2), (2, 1, 2), "SAME", (0, 0, 1, 1, 0, 0), (2, 6, 3)),
)


@cases("more", [{"count_include_pad": True}, {"count_include_pad": False}, {"divisor_override": 5}])
@cases("case", WINDOWS, per_item=6)
def test_windows_in_three_axes(case: Any, more: dict[str, Any], full: bool) -> None:
    """`make test` compiles the smallest."""
    sizes, spans, strides, mode, pads, counts = case
    text, shape, small = Text("Fused_windows"), (2, 3, *sizes), (2, 3, *counts)
    told = {
        "kernel_size": [1, 1, *spans],
        "strides": [1, 1, *strides],
        "pad_mode": mode,
        "pad_list": [*pads],
        "format": "NCDHW",
        **more,
    }
    x, dy = text.input(shape, "float32"), text.input(small, "float32")
    twice = text.step("Add", [x, x], shape, "float32")
    most = text.step("MaxPool3D", [twice], small, "float32", **told)
    middle = text.step("AvgPool3D", [twice], small, "float32", **told)
    back = text.step(
        "AvgPool3DGrad", [text.constant([*shape], "int64"), dy], shape, "float32", **told
    )
    to_most = text.step("MaxPool3DGrad", [twice, most, dy], shape, "float32", **told)
    random = np.random.default_rng(0)
    given = {x: np.rint(2 * random.standard_normal(shape)), dy: random.standard_normal(small)}
    kernel = text.kernel(text.step("Neg", [most], small, "float32"), middle, back, to_most)
    check(
        kernel, given, built=full or (case is WINDOWS[1] and more == {"count_include_pad": False})
    )


def test_means_with_and_without_the_padding() -> None:
    for include, wanted in ((True, [4 / 9, 6 / 9]), (False, [1, 1])):
        text = Text("Fused_counted")
        x = text.input((1, 1, 1, 3, 3), "float32")
        told = {
            "kernel_size": [1, 1, 1, 3, 3],
            "strides": [1, 1, 1, 1, 1],
            "pad_mode": "PAD",
            "pad_list": [0, 0, 1, 1, 1, 1],
            "format": "NCDHW",
            "count_include_pad": include,
        }
        made = text.step("AvgPool3D", [x], (1, 1, 1, 3, 3), "float32", **told)
        found = run(text.kernel(made), {x: np.ones((1, 1, 1, 3, 3))})[made]
        np.testing.assert_allclose(found[0, 0, 0, 0, :2], wanted, rtol=1e-6)


def test_what_mindspore_leaves_out_is_the_alpha_of_elu() -> None:
    text = Text("Fused_elu")
    x = text.input((4,), "float32")
    made = text.step(
        "Elu",
        [x, {"tensor_name": "input_alpha", "shape": [1], "data_type": "float32"}],
        (4,),
        "float32",
    )
    kernel = text.kernel(made)
    assert kernel.graph.values["input_alpha"].data == 1.0
    check(kernel, {x: np.float32([-1, 0, 1, -30])})
