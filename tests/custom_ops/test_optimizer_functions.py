"""Optimizer steps as functions.

Tensors and Parameters, in graph mode and PyNative, with the same results as on arrays.
"""

from __future__ import annotations

import re

import numpy as np
import pytest

from custom_ops import functional
from tbe_impl.errors import InputError
from tests.cases import FULL, cases

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

RULES = {
    "adam": (4, {"count": 3, "weight_decay": 0.1, "use_nesterov": True}),
    "adam_weight_decay": (4, {"weight_decay": 0.1}),
    "momentum": (3, {"momentum": 0.9}),
}
"""Name → number of lists, and other arguments."""


def lists(count):
    rng = np.random.default_rng(count)
    dtypes = [np.float32, np.float16, np.float32]
    return [
        [
            rng.uniform(0.5, 1, shape).astype(dtype)
            for shape, dtype in zip([(3, 4), (5,), ()], dtypes, strict=True)
        ]
        for _ in range(count)
    ]


class Step(ms.nn.Cell):
    def __init__(self, name, own, given):
        super().__init__()
        self.function, self.given = getattr(functional, name), given
        self.own = [tuple(kind) for kind in own]

    def construct(self, *gradients):
        return self.function(gradients, *self.own, **self.given)


@cases(
    "name, mode",
    [
        pytest.param(name, mode, marks=FULL if mode == "GRAPH_MODE" and name != "adam" else [])
        for name in RULES
        for mode in ("GRAPH_MODE", "PYNATIVE_MODE")
    ],
)
def test_a_step_on_tensors_equals_the_step_on_arrays(name, mode):
    ms.set_context(mode=getattr(ms, mode))
    count, given = RULES[name]
    gradients, *own = lists(count)

    def kept(array, kind, number):
        made = ms.Tensor(array.copy())
        return ms.Parameter(made, name=f"p{kind}_{number}") if number % 2 else made

    tensors = [
        [kept(one, place, number) for number, one in enumerate(kind)]
        for place, kind in enumerate(own)
    ]
    Step(name, tensors, {"learning_rate": 0.1, **given})(*map(ms.Tensor, gradients))
    before = [[one.copy() for one in kind] for kind in own]
    getattr(functional, name)(gradients, *own, learning_rate=0.1, **given)
    for found, want, was in zip(tensors, own, before, strict=True):
        for one, other, old in zip(found, want, was, strict=True):
            assert not np.array_equal(other, old)
            np.testing.assert_array_equal(one.asnumpy(), other)


def test_rates_may_be_tensors():
    ms.set_context(mode=ms.PYNATIVE_MODE)
    (gradient, weight, moment) = ([ms.Tensor([1.0])] for _ in range(3))
    functional.momentum(
        gradient, weight, moment, learning_rate=ms.Tensor(0.5), momentum=ms.Tensor(1.0)
    )
    assert weight[0].asnumpy() == 0


def test_what_does_not_fit_is_named():
    given = [ms.Tensor([1.0])], [ms.Tensor([1.0, 2.0])], [ms.Tensor([1.0])]
    with pytest.raises((InputError, RuntimeError), match="Momentum: tensor 0 does not match"):
        functional.momentum(*given, learning_rate=0.5, momentum=0.9)


def test_rates_of_arrays_may_be_tensors_too():
    gradient, weight, moment1, moment2 = ([np.ones(3, np.float32)] for _ in range(4))
    functional.adam(
        gradient, weight, moment1, moment2, count=np.array(1), learning_rate=ms.Tensor(0.1)
    )
    assert np.all(weight[0] < 1)


WRONG = [
    ("adam", {"count": 0}, "Adam: count is out of range; expected 1 or more, got 0"),
    ("adam", {"count": -3}, "Adam: count is out of range; expected 1 or more, got -3"),
    (
        "adam",
        {"count": 1, "beta1": 2.0},
        "Adam: beta1 is out of range; expected 0 <= beta1 < 1, got 2.0",
    ),
    (
        "adam",
        {"count": 1, "learning_rate": "a"},
        "Adam: learning_rate is not a number; expected a number, got 'a'",
    ),
    (
        "adam_weight_decay",
        {"beta2": 1.0},
        "AdamWeightDecay: beta2 is out of range; expected 0 <= beta2 < 1, got 1.0",
    ),
    (
        "momentum",
        {"momentum": "a"},
        "Momentum: momentum is not a number; expected a number, got 'a'",
    ),
    (
        "momentum",
        {"momentum": 0.9, "weight_decay": None},
        "Momentum: weight_decay is not a number; expected a number, got None",
    ),
]


@cases(
    "name, wrong, said, how",
    [
        pytest.param(*one, how, marks=FULL if how == "GRAPH_MODE" and number != 2 else [])
        for number, one in enumerate(WRONG)
        for how in ("arrays", "GRAPH_MODE", "PYNATIVE_MODE")
    ],
)
def test_numbers_that_are_none_or_out_of_range_are_named(name, wrong, said, how):
    """No argument is written."""
    gradients, *own = lists(RULES[name][0])
    before = [[one.copy() for one in kind] for kind in own]
    given = {"learning_rate": 0.1, **wrong}
    if how != "arrays":
        ms.set_context(mode=getattr(ms, how))
        gradients, *own = ([ms.Tensor(one) for one in kind] for kind in (gradients, *own))
    with pytest.raises(InputError, match=re.escape(said)):
        if how == "GRAPH_MODE":
            Step(name, own, given)(*gradients)
        else:
            getattr(functional, name)(gradients, *own, **given)
    for kind, old in zip(own, before, strict=True):
        for one, was in zip(kind, old, strict=True):
            np.testing.assert_array_equal(one if how == "arrays" else one.asnumpy(), was)
