"""Named MindSpore groups: fully generated ones, and ones with library calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from ms_fusion.readers.composite import CompositeKernel, parse_kernel
from tests.ms_fusion.kernel_server.composites import Text, directory_of_recorded

F = "float32"
CONVOLUTION = {
    "stride": [1, 1, 1, 1],
    "pad_list": [1, 1, 1, 1],
    "dilation": [1, 1, 1, 1],
    "group": 1,
}

Make = Callable[["Writer"], Sequence[str]]


class Writer(Text):
    """Writes a group; the names of constants are deterministic."""

    def __init__(self, name: str):
        super().__init__(name)
        self.constants = 0

    def constant(self, value: Any, dtype: str = F) -> dict[str, Any]:
        """A scalar, or a list of scalars."""
        self.constants += 1
        return {**super().constant(value, dtype), "tensor_name": f"input_constant_{self.constants}"}

    def one(self, operator: str, *inputs: Any, shape: Sequence[int], **attributes: Any) -> str:
        """An operator of float32."""
        return self.step(operator, inputs, shape, F, **attributes)

    def reduced(self, operator: str, x: str, axes: Sequence[int], *, keep: bool = True) -> str:
        """A reduction."""
        sizes = list(self.made[x]["shape"])
        shape = [
            1 if at in axes else size for at, size in enumerate(sizes) if keep or at not in axes
        ]
        return self.one(
            operator, x, self.constant(list(axes), "int64"), shape=shape, keep_dims=keep
        )

    def turned(self, x: str, order: Sequence[int]) -> str:
        """A transpose."""
        shape = [self.made[x]["shape"][axis] for axis in order]
        return self.one("Transpose", x, self.constant(list(order), "int64"), shape=shape)


GROUPS: dict[str, tuple[str, Make]] = {}
"""Fully generated groups by name, with descriptions."""
CHAINS: dict[str, tuple[str, Make]] = {}
"""Groups with library calls."""


def group(table: dict[str, tuple[str, Make]]) -> Callable[[Make], Make]:
    """A decorator that adds a group to a table; its docstring is the description."""

    def decorate(make: Make) -> Make:
        table[make.__name__] = (make.__doc__ or "", make)
        return make

    return decorate


def composite(name: str, make: Make) -> CompositeKernel:
    """The parsed group."""
    text = Writer(f"Fused_{name}")
    return text.kernel(*make(text))


def recorded() -> dict[str, CompositeKernel]:
    """Distinct groups of the recorded nets with two operators or more, by place and name."""
    found: dict[str, CompositeKernel] = {}
    seen: set[tuple[Any, ...]] = set()
    for path in directory_of_recorded():
        kernel = parse_kernel(path.read_text("utf-8"), file=path.name)
        shapes = tuple((one.shape, one.dtype) for one in kernel.graph.values.values())
        key = (tuple(node.op for node in kernel.graph), shapes)
        if len(kernel.graph.nodes) > 1 and key not in seen:
            seen.add(key)
            found[f"{path.parents[1].name}/{path.stem}"] = kernel
    return found


# --- fully generated


@group(GROUPS)
def sums_both_ways(text: Writer) -> Sequence[str]:
    """Exponentials that are summed along rows and along columns: stored once."""
    value = text.input((256, 320), F)
    for _ in range(3):
        value = text.one("Exp", text.one("Neg", value, shape=(256, 320)), shape=(256, 320))
    return [text.reduced("ReduceSum", value, [axis], keep=False) for axis in (0, 1)]


@group(GROUPS)
def cheap_sums_both_ways(text: Writer) -> Sequence[str]:
    """What is cheap is computed twice."""
    value = text.one("Neg", text.input((256, 320), F), shape=(256, 320))
    return [text.reduced("ReduceSum", value, [axis], keep=False) for axis in (0, 1)]


@group(GROUPS)
def shares_of_rows(text: Writer) -> Sequence[str]:
    """Each element as a share of its row: one nest."""
    x = text.input((256, 320), F)
    return [text.one("RealDiv", x, text.reduced("ReduceSum", x, [1]), shape=(256, 320))]


@group(GROUPS)
def shares_in_turns(text: Writer) -> Sequence[str]:
    """Shares of rows and of columns in turns: sums that wait for one another."""
    value = text.one("Exp", text.input((19, 35), F), shape=(19, 35))
    for axis in (1, 0) * 5:
        value = text.one("RealDiv", value, text.reduced("ReduceSum", value, [axis]), shape=(19, 35))
    return [value]


@group(GROUPS)
def clipped_by_the_norm(text: Writer) -> Sequence[str]:
    """Sums over rows, each divided by the norm of all of them."""
    sums, squares = [], text.constant(1.0)
    for _ in range(6):
        sums.append(text.reduced("ReduceSum", text.input((256, 320), F), [0], keep=False))
        square = text.one("Mul", sums[-1], sums[-1], shape=(320,))
        squares = text.one("Add", text.reduced("ReduceSum", square, [0]), squares, shape=(1,))
    norm = text.one("Sqrt", squares, shape=(1,))
    return [text.one("RealDiv", one, norm, shape=(320,)) for one in sums]


@group(GROUPS)
def sums_of_each(text: Writer) -> Sequence[str]:
    """A chain, each step of which is summed both ways: a nest for each operator."""
    value, made = text.input((256, 320), F), []
    for _ in range(5):
        value = text.one("Exp", value, shape=(256, 320))
        made += [text.reduced("ReduceSum", value, [axis], keep=False) for axis in (0, 1)]
    return made


@group(GROUPS)
def softmax(text: Writer) -> Sequence[str]:
    """The softmax of rows."""
    x = text.input((64, 50), F)
    rest = text.one("Sub", x, text.reduced("ReduceMax", x, [1]), shape=(64, 50))
    power = text.one("Exp", rest, shape=(64, 50))
    return [text.one("RealDiv", power, text.reduced("ReduceSum", power, [1]), shape=(64, 50))]


@group(GROUPS)
def layer_norm(text: Writer) -> Sequence[str]:
    """Layer normalisation, and its deviation as a second result."""
    x, gamma = text.input((64, 50), F), text.input((50,), F)
    mean = text.one("Mul", text.reduced("ReduceSum", x, [1]), text.constant(0.02), shape=(64, 1))
    rest = text.one("Sub", x, mean, shape=(64, 50))
    square = text.reduced("ReduceSum", text.one("Mul", rest, rest, shape=(64, 50)), [1])
    scaled = text.one("Mul", square, text.constant(0.02), shape=(64, 1))
    factor = text.one("Rsqrt", scaled, shape=(64, 1))
    normal = text.one("Mul", rest, factor, shape=(64, 50))
    return [text.one("Mul", normal, gamma, shape=(64, 50)), factor]


@group(GROUPS)
def update_in_place(text: Writer) -> Sequence[str]:
    """A parameter is changed in place, and read besides."""
    weight, grad = text.input((40, 30), F), text.input((40, 30), F)
    step = text.one("Mul", grad, text.constant(0.1), shape=(40, 30))
    moved = text.one("Sub", weight, step, shape=(40, 30))
    done = text.one("Assign", weight, moved, shape=(1,))
    return [done, text.reduced("ReduceSum", step, [0, 1])]


@group(GROUPS)
def turned_and_summed(text: Writer) -> Sequence[str]:
    """A transpose between a chain and a sum."""
    x = text.one("Exp", text.input((24, 36), F), shape=(24, 36))
    return [text.reduced("ReduceSum", text.turned(x, (1, 0)), [1], keep=False), x]


# --- with a library


@group(CHAINS)
def product_between_ours(text: Writer) -> Sequence[str]:
    """A matrix product between kernels of ours."""
    a, b = text.input((9, 7), F), text.input((7, 5), F)
    half = text.one("Mul", a, text.constant(0.5), shape=(9, 7))
    product = text.one("MatMul", half, b, shape=(9, 5), transpose_a=False, transpose_b=False)
    return [text.one("Sub", product, text.reduced("ReduceMax", product, [1]), shape=(9, 5)), half]


@group(CHAINS)
def product_with_bias_and_relu(text: Writer) -> Sequence[str]:
    """A bias and ReLU are part of the product."""
    a, b, bias = text.input((9, 7), F), text.input((5, 7), F), text.input((5,), F)
    product = text.one("MatMul", a, b, shape=(9, 5), transpose_a=False, transpose_b=True)
    total = text.one("Add", product, bias, shape=(9, 5))
    return [text.one("Maximum", total, text.constant(0.0), shape=(9, 5))]


@group(CHAINS)
def product_that_is_read_twice(text: Writer) -> Sequence[str]:
    """What is handed out besides is no part of the product."""
    a, b, bias = text.input((4, 6), F), text.input((6, 5), F), text.input((5,), F)
    product = text.one("MatMul", a, b, shape=(4, 5), transpose_a=False, transpose_b=False)
    return [text.one("Add", product, bias, shape=(4, 5)), product]


@group(CHAINS)
def product_with_residual(text: Writer) -> Sequence[str]:
    """A residual is part of the product."""
    a, b, other = text.input((9, 7), F), text.input((7, 5), F), text.input((9, 5), F)
    product = text.one("MatMul", a, b, shape=(9, 5), transpose_a=False, transpose_b=False)
    return [text.one("Add", product, other, shape=(9, 5))]


@group(CHAINS)
def batches_of_products(text: Writer) -> Sequence[str]:
    """Products of batches, scaled."""
    a, b = text.input((2, 3, 4, 6), F), text.input((2, 3, 5, 6), F)
    product = text.one("BatchMatMul", a, b, shape=(2, 3, 4, 5), transpose_a=False, transpose_b=True)
    return [text.one("Mul", product, text.constant(0.5), shape=(2, 3, 4, 5))]


@group(CHAINS)
def attention(text: Writer) -> Sequence[str]:
    """Transposes around products of an attention are part of them."""
    query, key, value = (text.input((2, 33, 3, 16), F) for _ in "qkv")
    heads = (0, 2, 1, 3)
    turned = text.turned(text.turned(key, heads), (0, 1, 3, 2))
    scores = text.one("BatchMatMul", text.turned(query, heads), turned, shape=(2, 3, 33, 33))
    weights = text.one("Sigmoid", scores, shape=(2, 3, 33, 33))
    mixed = text.one("BatchMatMul", weights, text.turned(value, heads), shape=(2, 3, 33, 16))
    return [text.turned(mixed, heads)]


@group(CHAINS)
def convolution_with_bias_and_relu(text: Writer) -> Sequence[str]:
    """A bias of channels and ReLU are part of the convolution."""
    x, weight, bias = (
        text.input((2, 3, 8, 9), F),
        text.input((4, 3, 3, 3), F),
        text.input((1, 4, 1, 1), F),
    )
    made = text.one("Conv2D", x, weight, shape=(2, 4, 8, 9), **CONVOLUTION)
    made = text.one("Add", made, bias, shape=(2, 4, 8, 9))
    return [text.one("Maximum", made, text.constant(0.0), shape=(2, 4, 8, 9))]


@group(CHAINS)
def convolutions_in_a_row(text: Writer) -> Sequence[str]:
    """Two convolutions with Swish between lie with channels last."""
    x, one, other = (
        text.input((2, 8, 8, 8), F),
        text.input((8, 8, 3, 3), F),
        text.input((8, 8, 3, 3), F),
    )
    made = text.one("Conv2D", x, one, shape=(2, 8, 8, 8), **CONVOLUTION)
    made = text.one("Mul", made, text.one("Sigmoid", made, shape=(2, 8, 8, 8)), shape=(2, 8, 8, 8))
    made = text.one("Conv2D", made, other, shape=(2, 8, 8, 8), **CONVOLUTION)
    return [text.one("Add", made, x, shape=(2, 8, 8, 8))]


@group(CHAINS)
def gradients_of_a_convolution(text: Writer) -> Sequence[str]:
    """Both gradients of a convolution, and an update in place."""
    x, weight, grad = (
        text.input((2, 4, 8, 8), F),
        text.input((6, 4, 3, 3), F),
        text.input((2, 6, 8, 8), F),
    )
    doubled = text.one("Add", grad, grad, shape=(2, 6, 8, 8))
    shapes = [
        {"tensor_name": f"input_shape_{n}", "shape": [4], "data_type": "int64"} for n in range(2)
    ]
    of_weight = text.one(
        "Conv2DBackpropFilter", doubled, x, shapes[0], shape=(6, 4, 3, 3), **CONVOLUTION
    )
    step = text.one("Mul", of_weight, text.constant(0.1), shape=(6, 4, 3, 3))
    moved = text.one("Sub", weight, step, shape=(6, 4, 3, 3))
    done = text.one("Assign", weight, moved, shape=(1,))
    of_x = text.one(
        "Conv2DBackpropInput", doubled, weight, shapes[1], shape=(2, 4, 8, 8), **CONVOLUTION
    )
    return [text.one("Abs", of_x, shape=(2, 4, 8, 8)), done]


@group(CHAINS)
def feed_forward(text: Writer) -> Sequence[str]:
    """Two products with a gate between."""
    x, up, down = text.input((9, 8), F), text.input((8, 20), F), text.input((20, 8), F)
    inner = text.one("MatMul", x, up, shape=(9, 20), transpose_a=False, transpose_b=False)
    gated = text.one("Mul", inner, text.one("Sigmoid", inner, shape=(9, 20)), shape=(9, 20))
    made = text.one("MatMul", gated, down, shape=(9, 8), transpose_a=False, transpose_b=False)
    return [text.one("Add", made, x, shape=(9, 8))]
