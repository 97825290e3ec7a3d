"""Cells with weights: on arrays as in MindSpore, saved and loaded, with unknown shapes."""

from __future__ import annotations

import pickle
from functools import cache

import numpy as np
import pytest

import custom_ops

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

from custom_ops.operators import all_specs  # noqa: E402
from tests.cases import FULL, cases  # noqa: E402
from tests.custom_ops.core.test_amp_rewriting import CELLS, flat  # noqa: E402


def pickle_and_unpickle(written):
    """Saves and loads a Cell."""
    return pickle.loads(pickle.dumps(written))  # noqa: S301 - written here


def make_cell(name):
    """The Cell, its inputs, and its results, in graph mode from now on."""
    ms.set_context(mode=ms.GRAPH_MODE)
    return compiled(name)


@cache
def compiled(name):
    """The same, with one graph for all tests."""
    arguments, arrays = CELLS[name]
    cell = getattr(custom_ops, name)(*arguments)
    cell.set_train(False)
    tensors = [ms.Tensor(array) for array in arrays]
    return cell, tensors, flat(cell(*tensors))


def same(got, wanted):
    for one, want in zip(got, wanted, strict=True):
        np.testing.assert_allclose(one, want, rtol=1e-5, atol=1e-6)


IN_QUICK = ("MatMulBiasReLU", "RMSNorm")
"""Cells of `make test`.

The graph of each takes a second, and one test covers their common code.
"""
NAMES = [pytest.param(name, marks=[] if name in IN_QUICK else FULL) for name in CELLS]
ONE_NAME = [pytest.param(name, marks=[] if name == IN_QUICK[0] else FULL) for name in CELLS]


@cases("name", NAMES)
def test_on_arrays(name):
    cell, tensors, wanted = make_cell(name)
    got = cell.forward(*(one.asnumpy() for one in tensors))
    same(got if isinstance(got, tuple) else (got,), wanted)


@cases("name", ONE_NAME)
def test_pickled(name):
    cell, tensors, wanted = make_cell(name)
    same(flat(pickle_and_unpickle(cell)(*tensors)), wanted)


def test_an_operator_of_the_package_is_pickled_by_its_name():
    for spec in all_specs().values():
        assert pickle_and_unpickle(spec) is spec


@cases("name", ONE_NAME)
def test_nothing_is_known_of_shapes(name):
    """Checks the weights; another test covers weights that do not fit."""
    cell, tensors, wanted = make_cell(name)
    other = getattr(custom_ops, name)(*CELLS[name][0])
    other.set_train(False)
    ms.load_param_into_net(other, cell.parameters_dict())
    other.set_inputs(*(ms.Tensor(shape=[None] * one.ndim, dtype=one.dtype) for one in tensors))
    same(flat(other(*tensors)), wanted)


def test_nothing_is_known_of_boxes():
    ms.set_context(mode=ms.GRAPH_MODE)
    cell, boxes = custom_ops.IoU(), np.float32([[0, 0, 2, 2], [1, 0, 3, 2]])
    unknown = ms.Tensor(shape=[None, None], dtype=ms.float32)
    cell.set_inputs(unknown, unknown)
    same(flat(cell(ms.Tensor(boxes), ms.Tensor(boxes))), [cell.forward(boxes, boxes)])
