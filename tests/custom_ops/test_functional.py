"""The functions are the Cells, in graph mode and in PyNative."""

from __future__ import annotations

import numpy as np
import pytest

import custom_ops

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

X, Y = np.random.default_rng(0).standard_normal((2, 4, 8)).astype(np.float32)
MASK = Y > 0.5
# name of the function, its tensors, its keywords, the Cell
CASES = [
    ("add_relu", (X, Y), {}, custom_ops.AddReLU),
    ("mul_sigmoid", (X, Y), {}, custom_ops.MulSigmoid),
    ("my_op", (X, Y), {}, custom_ops.MyOp),
    ("swish", (X,), {"beta": 1.5}, custom_ops.Swish),
    ("gelu", (X,), {"approximate": False}, custom_ops.GELU),
    ("mish", (X,), {}, custom_ops.Mish),
    ("hard_swish", (X,), {}, custom_ops.HardSwish),
    ("swiglu", (X,), {}, custom_ops.SwiGLU),
    ("swiglu", (X, Y), {}, custom_ops.SwiGLU),
    ("geglu", (X,), {"approximate": False}, custom_ops.GeGLU),
    ("scale_mask_softmax", (X,), {"scale": 0.5}, custom_ops.ScaleMaskSoftmax),
    ("scale_mask_softmax", (X, MASK), {"scale": 0.5}, custom_ops.ScaleMaskSoftmax),
    ("scale_mask_softmax", (X, Y), {"scale": 0.5}, custom_ops.ScaleMaskSoftmax),
]


class Net(ms.nn.Cell):
    def __init__(self, name, keywords):
        super().__init__()
        from custom_ops import functional

        self.function = getattr(functional, name)
        self.keywords = keywords

    def construct(self, *tensors):
        return self.function(*tensors, **self.keywords)


@pytest.mark.parametrize("route", ["native", "composite"])
@pytest.mark.parametrize(("name", "arrays", "keywords", "cell"), CASES)
def test_a_function_is_its_cell(name, arrays, keywords, cell, route):
    tensors = [ms.Tensor(array) for array in arrays]
    want = cell(**keywords).forward(*arrays)
    for mode in (ms.GRAPH_MODE, ms.PYNATIVE_MODE):
        ms.set_context(mode=mode)
        got = Net(name, {**keywords, "route": route})(*tensors)
        assert np.allclose(got.asnumpy(), want, rtol=2e-5, atol=1e-6)


def test_dropout_with_a_key():
    from custom_ops import functional

    tensors = [ms.Tensor(array) for array in (X, X[0], Y)]
    one, same, other = (
        functional.bias_dropout_add(*tensors, ms.Tensor([key], ms.int32), p=0.25).asnumpy()
        for key in (1, 1, 2)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)
