"""Operators as methods: recorded attributes, kernel rebuilds, locks, and freed memory."""

from __future__ import annotations

import copy
import gc
import pickle
import threading
import weakref
from typing import Any

import numpy as np
import pytest

import custom_ops as cop
from custom_ops.core.arrays import computation_of
from custom_ops.core.kernel_interface import ArraySpec
from tests.cases import cases
from tests.custom_ops.modes import MODES, set_mode

pytestmark = pytest.mark.filterwarnings("ignore:.*back on the host")
TWO = np.float32([1, 2])


class Times(cop.Operator):
    """A kernel that reads attributes."""

    def __init__(self, factor: float) -> None:
        super().__init__()
        self._factor = factor

    @cop.formula
    def forward(self, x: Any) -> Any:
        self.kept = x * self._factor
        return self.kept + 1.0 if self.training else self.kept

    def backward(self, grad: Any) -> Any:
        return grad * self._factor


class Powers(cop.Operator):
    """Host methods."""

    def forward(self, x: Any, alpha: float = 1.0, *, beta: float = 2.0) -> Any:
        return x * x * alpha * beta

    def backward(self, grad: Any) -> Any:
        return grad * 2 * self.x * self.alpha * self.beta


def test_default_arguments_are_recorded() -> None:
    op = Powers()
    op.forward(TWO)
    assert np.array_equal(op.backward(np.float32([1, 1])), [4, 8])
    op.forward(TWO, alpha=5.0, beta=1.0)
    assert np.array_equal(op.backward(np.float32([1, 1])), [10, 20])
    op.forward(TWO)
    assert np.array_equal(op.backward(np.float32([1, 1])), [4, 8])


def test_a_description_keeps_what_was_recorded() -> None:
    op = Powers()
    op.forward(np.float32([5, 6]))
    computation_of(op.spec, ()).describe([ArraySpec((3, 2), "float32")])
    assert np.array_equal(op.backward(np.float32([1, 1])), [20, 24])


def test_a_changed_attribute_is_followed_on_arrays() -> None:
    op = Times(2.0)
    assert np.array_equal(op.forward(TWO), [2, 4])
    before = op.spec
    assert op.spec is before and "kept" not in vars(op)
    op._factor = 3.0
    assert np.array_equal(op.forward(TWO), [3, 6])
    assert np.array_equal(op.backward(TWO), [3, 6])
    op.set_train()
    assert np.array_equal(op.forward(TWO), [4, 7])


def pickled(op: Any) -> Any:
    return pickle.loads(pickle.dumps(op))  # noqa: S301 - its own bytes


@cases("how", [copy.copy, copy.deepcopy, pickled])
@cases("kind, changed", [(Times, "_factor"), (Powers, "")])
def test_a_copy_has_its_own_spec(how: Any, kind: Any, changed: str) -> None:
    op = kind(2.0) if changed else kind()
    op.forward(TWO)
    other = how(op)
    other.forward(TWO)
    assert other.spec is not op.spec


@pytest.mark.mindspore
@cases("mode", MODES)
def test_a_changed_attribute_and_a_cell(mode: str) -> None:
    """PyNative builds another kernel; a compiled graph keeps the values of its compilation."""
    ms = pytest.importorskip("mindspore")
    set_mode(mode)
    op, x = Times(2.0), ms.Tensor(TWO)
    first = op(x).asnumpy()
    spec = op.spec
    assert np.array_equal(first, [2, 4]) and np.array_equal(op(x).asnumpy(), first)
    assert op.spec is spec  # a call changes no attribute
    op._factor = 3.0
    assert np.array_equal(op(x).asnumpy(), [2, 4] if mode == "graph" else [3, 6])
    assert np.array_equal(op.forward(TWO), [3, 6])


@cases("kind", [Times, Powers])
def test_an_operator_on_arrays_is_freed(kind: Any) -> None:
    op = kind(2.0) if kind is Times else kind()
    op.forward(TWO)
    op.backward(TWO)
    computation = computation_of(op.spec, ())
    left = [weakref.ref(op), weakref.ref(op.spec), weakref.ref(computation)]
    del op, computation
    gc.collect()
    assert [one() for one in left] == [None, None, None]


def test_two_threads_compute_and_describe() -> None:
    """One computes on the host and needs a kernel; the other describes the same operator."""
    computing, describing = threading.Event(), threading.Event()
    kernel = cop.AddReLU()
    made: dict[str, Any] = {}

    class Mixed(cop.Operator):
        def forward(self, x: Any) -> Any:
            if threading.current_thread() is computes:
                computing.set()
                describing.wait(0.5)
            return kernel.forward(x, x)

    op = Mixed()

    def compute() -> None:
        out = np.zeros(2, np.float32)
        op._run_forward(TWO, out)
        made["computed"] = out

    def describe() -> None:
        computing.wait(5)
        computation = computation_of(op.spec, ())
        if computation.spec.describe is not None:
            describing.set()
        made["described"] = computation.describe([ArraySpec((4,), "float32")])

    computes = threading.Thread(target=compute, daemon=True)
    threads = [computes, threading.Thread(target=describe, daemon=True)]
    for one in threads:
        one.start()
    for one in threads:
        one.join(10)
    assert not any(one.is_alive() for one in threads)
    assert np.array_equal(made["computed"], [2, 4])
    assert made["described"] == (ArraySpec((4,), "float32"),)
