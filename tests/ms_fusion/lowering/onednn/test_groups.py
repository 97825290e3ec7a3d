"""Groups with matrix products and convolutions, against the formulas in float64."""

from __future__ import annotations

import ctypes
import subprocess
import sys
from collections.abc import Mapping, Sequence
from typing import Any

import msgspec
import numpy as np
import pytest

from custom_ops.onednn import Prepared, why_missing
from ms_fusion.accuracy.replay import replay
from ms_fusion.kernel_server import host_preparation, sequence_loader
from ms_fusion.kernel_server.compile_cache import StoredSequence
from ms_fusion.kernel_server.driver import compile_kernel
from ms_fusion.kernel_server.sequence_assembly import assemble, compile_own
from ms_fusion.lowering.composite_lowering import IN_PLACE_OPERATORS
from ms_fusion.readers.composite import CompositeKernel
from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.errors import InputError
from tests.cases import FULL, cases
from tests.ms_fusion.kernel_server.composites import Text, close

needs_onednn = pytest.mark.skipif(bool(why_missing()), reason="oneDNN is not there")
CONVOLUTION = {
    "stride": [1, 1, 1, 1],
    "pad_list": [1, 1, 1, 1],
    "dilation": [1, 1, 1, 1],
    "group": 1,
}


def check(kernel: CompositeKernel, inputs: Mapping[str, np.ndarray]) -> list[str]:
    """Compares the chain with the formulas by buffer; returns the kernel sequence: library
    operators, or ``own``.
    """
    graph, chain = kernel.graph, assemble(kernel)
    given = {
        name: np.asarray(array, dtype_of(graph.values[name].dtype).numpy)
        for name, array in inputs.items()
    }
    wanted = replay(graph, given)
    held = {name: array.copy() for name, array in given.items()}
    made = chain(*held.values())
    found = dict(zip(graph.outputs, made if isinstance(made, tuple) else (made,), strict=True))
    for name in graph.outputs:
        node = graph.producers[name]
        written = node.op in IN_PLACE_OPERATORS
        array = held[node.inputs[0]] if written else found[name]
        close(array, wanted[name], str(array.dtype), what=name)
    check_row(kernel, given, [*held.values(), *(found[name] for name in graph.outputs)])
    return [
        step.kernel.operator if isinstance(step.kernel, Prepared) else "own" for step in chain.steps
    ]


def check_row(
    kernel: CompositeKernel, given: Mapping[str, np.ndarray], wanted: Sequence[np.ndarray]
) -> None:
    """The serialized chain for the user's process is bit-identical in every used buffer."""
    _, row = compile_own(kernel)
    assert row is not None
    made = sequence_loader.load_sequence(
        msgspec.json.decode(msgspec.json.encode(row), type=StoredSequence)
    )
    assert made is not None
    buffers = [array.copy() for array in given.values()]
    buffers += [np.zeros_like(array) for array in wanted[len(buffers) :]]
    addresses = (ctypes.c_void_p * len(buffers))(*(one.ctypes.data for one in buffers))
    assert host_preparation.RUN(made.address)(made.state, addresses) == 0
    names = (*kernel.graph.inputs, *kernel.graph.outputs)
    for name, buffer, array in zip(names, buffers, wanted, strict=True):
        node = kernel.graph.producers.get(name)
        if node is None or node.op not in IN_PLACE_OPERATORS:
            np.testing.assert_array_equal(buffer, array, err_msg=name)


def normal(*shape: int) -> np.ndarray:
    return np.random.default_rng(list(shape)).standard_normal(shape)


@needs_onednn
def test_a_product_with_a_number() -> None:
    text = Text("Fused_number")
    a = text.input((9, 1), "float32")
    number = {**text.constant(2.5, "float32"), "shape": [1, 1]}
    product = text.step("MatMul", [a, number], (9, 1), "float32")
    other = text.step("MatMul", [number, a], (1, 9), "float32", transpose_b=True)
    own = text.step("Exp", [product], (9, 1), "float32")
    assert check(text.kernel(own, other), {a: normal(9, 1)}).count("own") == 2


@cases(
    "turned",
    [
        pytest.param((False, False), marks=FULL),
        (True, False),
        (False, True),
        pytest.param((True, True), marks=FULL),
    ],
)
@needs_onednn
def test_a_product_between_kernels_of_ours(turned: tuple[bool, bool]) -> None:
    text = Text("Fused_product")
    a_shape, b_shape = ((9, 7)[:: -1 if turned[0] else 1], (7, 5)[:: -1 if turned[1] else 1])
    a, b = text.input(a_shape, "float32"), text.input(b_shape, "float32")
    half = text.step("Mul", [a, text.constant(0.5, "float32")], a_shape, "float32")
    product = text.step(
        "MatMul", [half, b], (9, 5), "float32", transpose_a=turned[0], transpose_b=turned[1]
    )
    level = text.step(
        "ReduceMax", [product, text.constant([1], "int64")], (9, 1), "float32", keep_dims=True
    )
    result = text.step("Sub", [product, level], (9, 5), "float32")
    parts = check(text.kernel(result, half), {a: normal(*a_shape), b: normal(*b_shape)})
    assert parts == ["own", "MatMul", "own"]


@needs_onednn
def test_batches_of_products() -> None:
    text = Text("Fused_batches")
    a, b = text.input((2, 3, 4, 6), "float32"), text.input((2, 3, 5, 6), "float32")
    product = text.step(
        "BatchMatMul", [a, b], (2, 3, 4, 5), "float32", transpose_a=False, transpose_b=True
    )
    parts = check(text.kernel(product), {a: normal(2, 3, 4, 6), b: normal(2, 3, 5, 6)})
    assert parts == ["BatchMatMul"]


@cases("relu", [False, True], sample=2)
@cases("reshaped", [False, True])
@needs_onednn
def test_bias_and_relu_are_part_of_the_convolution(relu: bool, reshaped: bool) -> None:
    text = Text("Fused_convolution")
    x, weight = text.input((2, 3, 8, 9), "float32"), text.input((4, 3, 3, 3), "float32")
    bias = text.input((4,) if reshaped else (1, 4, 1, 1), "float32")
    made = text.step("Conv2D", [x, weight], (2, 4, 8, 9), "float32", **CONVOLUTION)
    beside = (
        text.step("Reshape", [bias, text.constant([4, 1, 1], "int64")], (4, 1, 1), "float32")
        if reshaped
        else bias
    )
    made = text.step("Add", [made, beside], (2, 4, 8, 9), "float32")
    if relu:
        made = text.step("Maximum", [made, text.constant(0.0, "float32")], (2, 4, 8, 9), "float32")
    shape = (4,) if reshaped else (1, 4, 1, 1)
    parts = check(
        text.kernel(made), {x: normal(2, 3, 8, 9), weight: normal(4, 3, 3, 3), bias: normal(*shape)}
    )
    if reshaped:
        assert parts == ["Conv2D"]


def _activated(text: Text, x: str, how: str, shape: tuple[int, ...]) -> str:
    """In MindSpore's basic operators."""
    if how == "leaky_relu":
        less = text.step("Mul", [text.constant(0.1, "float32"), x], shape, "float32")
        return text.step("Maximum", [less, x], shape, "float32")
    if how == "swish":
        return text.step("Mul", [x, text.step("Sigmoid", [x], shape, "float32")], shape, "float32")
    return text.step(how, [x], shape, "float32")


@cases("product", [True, False], sample=4)
@cases("how", ["leaky_relu", "swish", "SiLU", "Sigmoid", "Tanh", "ReLU6", "Elu"])
@needs_onednn
def test_activations_behind_a_call_keep_nan_and_infinity(how: str, product: bool) -> None:
    text = Text("Fused_activated")
    shape = (9, 5) if product else (2, 4, 8, 9)
    given = ((9, 7), (7, 5)) if product else ((2, 3, 8, 9), (4, 3, 3, 3))
    a, b = (text.input(one, "float32") for one in given)
    made = (
        text.step("MatMul", [a, b], shape, "float32", transpose_a=False, transpose_b=False)
        if product
        else text.step("Conv2D", [a, b], shape, "float32", **CONVOLUTION)
    )
    last = _activated(text, made, how, shape)
    inputs = {a: normal(*given[0]), b: normal(*given[1])}
    inputs[a].reshape(-1)[:3] = np.nan, np.inf, -np.inf
    parts = check(text.kernel(last), inputs)
    assert parts == ["MatMul" if product else "Conv2D", "own"]


@needs_onednn
def test_a_sum_that_is_read_elsewhere_is_no_part_of_the_product() -> None:
    text = Text("Fused_read_twice")
    a, b, bias = (text.input(shape, "float32") for shape in ((4, 6), (6, 5), (5,)))
    product = text.step("MatMul", [a, b], (4, 5), "float32", transpose_a=False, transpose_b=False)
    total = text.step("Add", [product, bias], (4, 5), "float32")
    last = text.step("Maximum", [total, text.constant(0.0, "float32")], (4, 5), "float32")
    parts = check(text.kernel(last, product), {a: normal(4, 6), b: normal(6, 5), bias: normal(5)})
    assert parts == ["MatMul", "own"]


@cases(
    "how",
    [
        CONVOLUTION,
        {**CONVOLUTION, "stride": [1, 1, 2, 2], "pad_list": [0, 1, 0, 1]},
        {**CONVOLUTION, "dilation": [1, 1, 2, 2], "pad_list": [2, 2, 2, 2]},
        {**CONVOLUTION, "group": 2},
    ],
)
@needs_onednn
def test_both_gradients_of_a_convolution_and_an_update_in_place(how: dict[str, Any]) -> None:
    text, groups = Text("Fused_gradients"), how["group"]
    x, weight = text.input((2, 4, 8, 8), "float32"), text.input((6, 4 // groups, 3, 3), "float32")
    y_size = 4 if how["stride"][-1] == 2 else 8
    y_shape = (2, 6, y_size, y_size)
    grad = text.input(y_shape, "float32")
    doubled = text.step("Add", [grad, grad], y_shape, "float32")
    shapes: list[dict[str, Any]] = [
        {"tensor_name": f"input_shape_{n}", "shape": [4], "data_type": "int64"} for n in range(2)
    ]
    of_weight = text.step(
        "Conv2DBackpropFilter", [doubled, x, shapes[0]], (6, 4 // groups, 3, 3), "float32", **how
    )
    step = text.step(
        "Mul", [of_weight, text.constant(0.1, "float32")], (6, 4 // groups, 3, 3), "float32"
    )
    moved = text.step("Sub", [weight, step], (6, 4 // groups, 3, 3), "float32")
    done = text.step("Assign", [weight, moved], (1,), "float32")
    of_x = text.step(
        "Conv2DBackpropInput", [doubled, weight, shapes[1]], (2, 4, 8, 8), "float32", **how
    )
    last = text.step("Abs", [of_x], (2, 4, 8, 8), "float32")
    inputs = {x: normal(2, 4, 8, 8), weight: normal(6, 4 // groups, 3, 3), grad: normal(*y_shape)}
    parts = check(text.kernel(last, done), inputs)
    assert parts == ["own", "Conv2DBackpropFilter", "Conv2DBackpropInput", "own"]


@needs_onednn
def test_a_weight_that_is_read_after_its_update_is_written_last() -> None:
    text = Text("Fused_late")
    x, weight = text.input((4, 4), "float32"), text.input((4, 4), "float32")
    moved = text.step("Mul", [weight, text.constant(0.5, "float32")], (4, 4), "float32")
    done = text.step("Assign", [weight, moved], (1,), "float32")
    first = text.step(
        "MatMul", [x, weight], (4, 4), "float32", transpose_a=False, transpose_b=False
    )
    second = text.step(
        "MatMul", [first, weight], (4, 4), "float32", transpose_a=False, transpose_b=False
    )
    parts = check(text.kernel(second, done), {x: normal(4, 4), weight: normal(4, 4)})
    assert parts == ["own", "MatMul", "MatMul", "own"]


def test_what_cannot_be_built_is_known_when_it_is_compiled() -> None:
    text = Text("Fused_unknown")
    a, b = text.input((4, 6), "float32"), text.input((6, 5), "float32")
    product = text.step("MatMul", [a, b], (4, 5), "float32", transpose_a=False, transpose_b=False)
    odd = text.step("Fold", [product], (4, 5), "float32")
    with pytest.raises(InputError, match="Fold"):
        compile_kernel(text.kernel(odd))


CALL = """
import ctypes, sys
built = ctypes.CDLL(sys.argv[1])
threads = ctypes.c_int(1)
built.Fused_alone(None, ctypes.byref(threads), (ctypes.c_void_p * 3)())
"""


def test_a_kernel_outside_its_process_names_the_cause() -> None:
    text = Text("Fused_alone")
    a, b = text.input((4, 6), "float32"), text.input((6, 5), "float32")
    product = text.step("MatMul", [a, b], (4, 5), "float32", transpose_a=False, transpose_b=False)
    built = compile_kernel(text.kernel(product)).built
    done = subprocess.run(
        [sys.executable, "-c", CALL, str(built)], capture_output=True, text=True, check=False
    )
    assert done.returncode < 0
    assert "ms_fusion: kernel Fused_alone needs the process that built it" in done.stderr
