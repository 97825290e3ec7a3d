"""The functions equal the Cells, in graph mode and in PyNative."""

from __future__ import annotations

import numpy as np
import pytest

import custom_ops
from tests.cases import FULL, cases
from tests.custom_ops.modes import MODES, set_mode
from tests.custom_ops.spec_cases import run_by

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


QUICK = {
    2: [("native", "pynative"), ("native", "graph")],
    **{number: [("composite", "pynative")] for number in (1, 3, 5, 6)},
}
"""Case → selection of `make test`; the others run in PyNative. `test_operator_specs` covers every
composite.
"""


@cases(
    "name, arrays, keywords, cell, route, mode",
    [
        pytest.param(
            *case,
            route,
            mode,
            id=f"{case[0]}-{len(case[1])}-{route}-{mode}",
            marks=[] if (route, mode) in QUICK.get(number, [("native", "pynative")]) else FULL,
        )
        for number, case in enumerate(CASES)
        for route in ("native", "composite")
        for mode in MODES
    ],
)
def test_a_function_is_its_cell(name, arrays, keywords, cell, route, mode):
    tensors = [ms.Tensor(array) for array in arrays]
    want = wanted(cell(**keywords), arrays, route)
    set_mode(mode)
    got = Net(name, {**keywords, "route": route})(*tensors)
    assert np.allclose(got.asnumpy(), want, rtol=2e-5, atol=1e-6)


def wanted(op, arrays, route):
    """The results of a Cell on arrays; one-operator Cells use basic operators, no kernels."""
    if route == "composite" and hasattr(op, "spec"):
        return run_by("numpy", op.spec, op.attributes, *arrays)[0]
    return op.forward(*arrays)


def test_dropout_with_a_key():
    from custom_ops import functional

    tensors = [ms.Tensor(array) for array in (X, X[0], Y)]
    one, same, other = (
        functional.bias_dropout_add(*tensors, ms.Tensor([key], ms.int32), p=0.25).asnumpy()
        for key in (1, 1, 2)
    )
    assert np.array_equal(one, same)
    assert not np.array_equal(one, other)


Q, TABLE, IMAGE, ROW = np.random.default_rng(1).uniform(0.5, 1, (4, 2, 3, 5, 4)).astype(np.float32)
WITHOUT_GRADIENT = {
    "rotary_embedding": ((Q, TABLE[0, 0], TABLE[0, 0]), (1, 2)),
    "scaled_dot_product_attention": ((Q, Q, Q, np.zeros((5, 5), np.float32)), (3,)),
    "batch_norm": (
        (IMAGE, ROW[0, 0, :3, 0], ROW[0, 0, :3, 1], ROW[0, 0, :3, 2], ROW[0, 0, :3, 3]),
        (3, 4),
    ),
    "softmax_cross_entropy": ((Q[0, 0], TABLE[0, 0]), (1,)),
}
"""Floating-point arguments that the kernels do not differentiate."""


@cases(
    "name",
    [
        pytest.param(name, marks=FULL if name == "softmax_cross_entropy" else [])
        for name in WITHOUT_GRADIENT
    ],
)
def test_arguments_without_a_gradient(name):
    """Zeros from a kernel, the gradient from basic operators, as documented."""
    from custom_ops import functional

    ms.set_context(mode=ms.PYNATIVE_MODE)
    arrays, places = WITHOUT_GRADIENT[name]
    for route in ("native", "composite"):

        def call(*given, route=route):
            return getattr(functional, name)(*given, route=route)

        found = ms.grad(call, grad_position=places)(*map(ms.Tensor, arrays))
        for one in found if isinstance(found, tuple) else (found,):
            assert bool(np.any(one.asnumpy())) == (route == "composite")
