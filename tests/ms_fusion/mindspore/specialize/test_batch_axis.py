"""The padding proof for batches: MindSpore front-end graphs, and results for each verdict."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import replace
from typing import Any, NamedTuple

import numpy as np
import pytest

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.mindspore.presets import net_checks
from ms_fusion.mindspore.specialize import padding
from ms_fusion.mindspore.specialize.batch_axis import BatchAxis, prove
from ms_fusion.mindspore.state import mindspore_state
from tests.cases import FULL, cases

mindspore = pytest.importorskip("mindspore")
ops = mindspore.ops

SAMPLES, PADDED = 3, 8
RNG = np.random.default_rng(7)
WEIGHT = RNG.standard_normal((5, 4)).astype(np.float32)
ROW = RNG.standard_normal((1, 5)).astype(np.float32)


def chain(x):
    return ops.tanh(x) * 2.0 + ops.exp(-x)


def rows_normalised(x):
    return x / x.sum(-1, keepdims=True), ops.softmax(x, -1)


def reshaped(x):
    n, s, d = x.shape
    return x.reshape(n * s, d), x.reshape(n, s * d), x.transpose(1, 0, 2), ops.expand_dims(x, 0)


def heads(x):
    n, s, d = x.shape
    y = x.reshape(n, s, 2, d // 2).transpose(0, 2, 1, 3)
    return ops.matmul(y, y.transpose(0, 1, 3, 2)).reshape(n * 2, s, s)


def taken(x):
    return x[:, 0], x[:, 1:, ::1], x[..., -1:]


def made(x):
    zeros = ops.broadcast_to(x.new_ones((1, 1, 2)), (x.shape[0], x.shape[1], 2))
    return ops.concat((x, zeros), axis=-1)


def along_others(x):
    return ops.cumsum(x, 1), ops.max(x, axis=2)[0], ops.split(x, 2, axis=1)[0]


def images(x):
    return (
        ops.max_pool2d(x, 2, return_indices=True),
        ops.adaptive_avg_pool2d(x, 1),
        ops.stack((x, x), 0),
    )


def minor(x):
    """After this reshape the samples are the inner part of an axis, not contiguous."""
    y = x.transpose(1, 0, 2)
    return y.reshape(-1, y.shape[2])


def over_batch(x):
    return ops.softmax(x, 0)


def normed_from(x, axis):
    norm = ops.LayerNorm(begin_norm_axis=axis, begin_params_axis=2)
    return norm(x, x.new_ones(6), x.new_zeros(6))[0]


def each_normed(x):
    return normed_from(x, 1)


def all_normed(x):
    return normed_from(x, 0)


def summed(x):
    return x.sum(0)


def mean_of_all(x):
    return x - x.mean()


def reversed_batch(x):
    return x[::-1]


def first_sample(x):
    return x - x[0]


def one_row(x):
    return x[0, : x.shape[0], 0]


def counted(x):
    return x / x.shape[0]


def numbered(x):
    return x + ops.arange(x.shape[0]).reshape(-1, 1, 1)


def picked(x):
    """By a constant tensor of the graph with one value per sample."""
    numbers = ()
    for number in range(x.shape[0]):
        numbers = (*numbers, number)
    return ops.gather(x, mindspore.Tensor(numbers), 0) * 2.0


def tiled(x):
    return ops.tile(x, (2, 1, 1))


def beside(x):
    return ops.concat((x, x), axis=0)


def cumulated(x):
    return ops.cumsum(x, 0)


def gram(x):
    y = x.reshape(x.shape[0], -1)
    return ops.matmul(y, y.T)


def contracted(x):
    y = x.reshape(x.shape[0], -1)
    return ops.matmul(y.T, y)


def branched(x):
    if x.shape[0] > 4:
        return x * 2.0
    return x + 0.0


def sorted_samples(x):
    return ops.sort(x, axis=0)[0]


def together(x):
    return (
        chain(x),
        rows_normalised(x),
        each_normed(x),
        reshaped(x),
        heads(x),
        taken(x),
        made(x),
        along_others(x),
    )


APART = (chain, rows_normalised, each_normed, reshaped, heads, taken, made, along_others)
MIXED = (
    minor,
    over_batch,
    all_normed,
    summed,
    mean_of_all,
    reversed_batch,
    first_sample,
    one_row,
    counted,
    numbered,
    picked,
    tiled,
    beside,
    cumulated,
    gram,
    contracted,
    branched,
    sorted_samples,
)
ALIKE = (
    summed,
    first_sample,
    counted,
    one_row,
    cumulated,
    contracted,
    sorted_samples,
    mean_of_all,
    numbered,
    beside,
)
"""Further cases of `make test-all`: others have the same refusal."""


@pytest.fixture(autouse=True)
def graph_mode() -> None:
    mindspore_state.set_mode(mindspore_state.mindspore_module().GRAPH_MODE)


def proof_of(function: Callable[..., Any], inputs: np.ndarray) -> tuple[Any, Any, Any]:
    """The proof, the inputs and the padded inputs."""
    inputs = mindspore_state.mindspore_module().Tensor(inputs)
    longer = padding.pad_batch((inputs,), (0,), PADDED)[0]
    small, large = (
        net_checks.front_end_graph(function, (item,), mindspore_state.dump_front_end_graph)
        for item in (inputs, longer)
    )
    return prove(small, large, SAMPLES, PADDED), inputs, longer


def tensors_of(result: Any) -> list[Any]:
    if not isinstance(result, tuple | list):
        return [result]
    return [tensor for item in result for tensor in tensors_of(item)]


@cases(
    "function, shape",
    [
        (together, (SAMPLES, 4, 6)),
        (images, (SAMPLES, 2, 4, 4)),
        *(pytest.param(function, (SAMPLES, 4, 6), marks=FULL) for function in APART),
    ],
)
def test_samples_that_stay_apart_are_proved_to(function, shape):
    proof, inputs, longer = proof_of(function, RNG.standard_normal(shape).astype(np.float32))
    assert not proof.reason
    # for any content of the other samples
    others = longer.asnumpy().copy()
    others[SAMPLES:] = np.nan
    result = function(mindspore_state.mindspore_module().Tensor(others))
    got = padding.cut(result, iter(proof.results), SAMPLES)
    for ours, wanted in zip(tensors_of(got), tensors_of(function(inputs)), strict=True):
        np.testing.assert_allclose(ours.asnumpy(), wanted.asnumpy(), rtol=1e-6, atol=1e-6)


@cases("function", [pytest.param(one, marks=FULL) if one in ALIKE else one for one in MIXED])
def test_samples_that_meet_are_found(function):
    proof, *_ = proof_of(function, RNG.standard_normal((SAMPLES, 4, 6)).astype(np.float32))
    assert proof.reason
    assert not proof.results


def test_proofs_name_the_axis_or_the_operator_and_its_place():
    proof, *_ = proof_of(over_batch, RNG.standard_normal((SAMPLES, 4)).astype(np.float32))
    assert proof.reason.startswith("Softmax")
    assert "test_batch_axis.py:" in proof.reason
    proof, *_ = proof_of(heads, RNG.standard_normal((SAMPLES, 4, 6)).astype(np.float32))
    assert proof.results == (BatchAxis(0, 2),)


class Sizes(NamedTuple):
    """A constant input: a number, or a vector in which ``"2n"`` is twice the batch size."""

    data: Any
    dtype: str = "int64"


NO_DATA = Sizes(None)
MIXES = "mixes the samples"


def at_batch(sizes: Sequence[int | str], batch: int) -> tuple[int, ...]:
    return tuple(batch * int(size[:-1] or 1) if isinstance(size, str) else size for size in sizes)


def graph_of(op: str, inputs: Sequence[Any], outputs: Sequence[Any], batch: int, **attrs) -> Graph:
    """A graph of one operator, with shapes as in `VERDICTS`."""
    values = {}
    for place, given in enumerate(inputs):
        name = f"in_{place}"
        if not isinstance(given, Sizes):
            values[name] = Value(name, at_batch(given, batch), "float32", "input")
            continue
        data = at_batch(given.data, batch) if isinstance(given.data, tuple) else given.data
        shape = (len(data),) if isinstance(data, tuple) else ()
        values[name] = Value(name, shape, given.dtype, "constant", data)
    names = tuple(values)
    for place, shape in enumerate(outputs):
        name = f"out_{place}"
        values[name] = Value(name, at_batch(shape, batch), "float32")
    node = Node("node", op, names, tuple(values)[len(names) :], tuple(sorted(attrs.items())))
    free = tuple(name for name in names if values[name].kind == "input")
    return Graph("net", (node,), values, free, node.outputs)


A, B, C = ("n", 4), (4, "n"), (3, "n", 8, 8)
IMAGE, CUBE = ("n", 3, 8, 8), ("n", 4, 6)
FLAT = BatchAxis(0), BatchAxis(1), BatchAxis(2)


def sliced(
    x: Sequence[int | str],
    strides: Sequence[int],
    result: Sequence[int | str],
    verdict: Any,
    masks: Sequence[int] = (0, 0, 0),
) -> tuple[Any, ...]:
    """A row of StridedSlice: all elements of `x` with these strides and last three masks."""
    given = [Sizes((0,) * len(x)), Sizes(tuple(x)), Sizes(tuple(strides))]
    numbers = [Sizes(number) for number in (0, 0, *masks)]
    return "StridedSlice", [x, *given, *numbers], [result], {}, verdict


VERDICTS = [
    # elementwise: the axes count from the last
    ("Add", [A, A], [A], {}, FLAT[0]),
    ("Add", [A, (4,)], [A], {}, FLAT[0]),
    ("Add", [(1, 4), A], [A], {}, FLAT[0]),
    ("Add", [B, ("n",)], [B], {}, FLAT[1]),
    ("Add", [(1, "n", 4), A], [(1, "n", 4)], {}, FLAT[1]),
    ("Add", [("2n", 4), (4,)], [("2n", 4)], {}, BatchAxis(0, 2)),
    ("Add", [A, A], [("2n", 4)], {}, MIXES),
    ("Add", [A, (4,)], [B], {}, MIXES),
    ("Add", [A, A], [(3, 4)], {}, MIXES),
    ("Add", [A, B], [A], {}, MIXES),
    ("Add", [("n", 1), ("n",)], [("n", "n")], {}, "becomes"),
    ("BroadcastTo", [(1, 4), Sizes(A)], [A], {}, FLAT[0]),
    ("BroadcastTo", [("n", 1), Sizes(A)], [A], {}, FLAT[0]),
    ("Ones", [Sizes(A)], [A], {}, FLAT[0]),
    ("NewOnes", [A, Sizes(("n", 7))], [("n", 7)], {}, FLAT[0]),
    ("Neg", [(4,)], [("n",)], {}, "makes a batch of something else"),
    ("Mul", [A, Sizes(("n",))], [A], {}, "computes with the size of the batch"),
    ("Mul", [A, Sizes((3.0,), "float32")], [A], {}, FLAT[0]),
    ("Mul", [A, Sizes(("n",), "float32")], [A], {}, "has a constant that depends on the batch"),
    ("Mul", [A, NO_DATA], [A], {}, FLAT[0]),
    ("Sort", [A], [A], {}, "is not known to keep samples apart"),
    ("Neg", [A], [("n", -1)], {}, "has a shape or dtype that is not known"),
    # along axes
    ("ReduceSum", [CUBE, Sizes((1,))], [("n", 6)], {}, FLAT[0]),
    ("ReduceSum", [CUBE, Sizes((-1, -2))], [("n",)], {}, FLAT[0]),
    ("ReduceSum", [CUBE, Sizes(1)], [("n", 6)], {}, FLAT[0]),
    ("ReduceSum", [CUBE], [("n", 6)], {"axis": (1,)}, FLAT[0]),
    ("ReduceSum", [CUBE], [("n", 6)], {}, MIXES),
    ("ReduceSum", [CUBE, Sizes((1, 2))], [()], {}, MIXES),
    ("ReduceSum", [CUBE, Sizes(())], [("n",)], {}, MIXES),
    ("CumSum", [CUBE, Sizes(-1)], [CUBE], {}, FLAT[0]),
    ("CumSum", [CUBE, Sizes(0)], [CUBE], {}, MIXES),
    ("CumSum", [CUBE, Sizes((1, -3))], [CUBE], {}, MIXES),
    ("CumSum", [CUBE, Sizes(1), CUBE], [CUBE], {}, MIXES),
    ("CumSum", [CUBE, CUBE], [CUBE], {"axis": 1}, MIXES),
    ("CumSum", [(3, 4, 6), Sizes(1), CUBE], [CUBE], {}, MIXES),
    ("Softmax", [A], [A], {}, FLAT[0]),
    ("Softmax", [A], [A], {"axis": (0,)}, MIXES),
    ("Softmax", [B], [B], {}, MIXES),
    ("Softmax", [B], [B], {"axis": (0,)}, FLAT[1]),
    # images
    ("MaxPool", [IMAGE], [("n", 3, 4, 4)], {}, FLAT[0]),
    ("Conv3D", [("n", 3, 8, 8, 8), (2, 3, 1, 1, 1)], [("n", 2, 8, 8, 8)], {}, FLAT[0]),
    ("Conv2D", [IMAGE, (3, 3, 1, 1)], [("2n", 3, 8, 8)], {}, MIXES),
    ("Conv2D", [(1, 3, 8, 8), ("n", 3, 1, 1)], [(1, "n", 8, 8)], {}, MIXES),
    ("Conv2D", [IMAGE, ("n", 3, 1, 1)], [IMAGE], {}, MIXES),
    ("MaxPool", [C], [C], {}, MIXES),
    ("MaxPool", [("n", 8, 8)], [("n", 4, 4)], {}, MIXES),
    # reshapes
    ("Reshape", [CUBE, Sizes(("n", 24))], [("n", 24)], {}, FLAT[0]),
    ("Reshape", [CUBE, Sizes(("4n", 6))], [("4n", 6)], {}, BatchAxis(0, 4)),
    ("Reshape", [(4, "n"), Sizes((2, 2, "n"))], [(2, 2, "n")], {}, FLAT[2]),
    ("Reshape", [(4, "n", 6), Sizes((4, "6n"))], [(4, "6n")], {}, BatchAxis(1, 6)),
    ("Reshape", [(4, "n", 6), Sizes(("4n", 6))], [("4n", 6)], {}, MIXES),
    ("Reshape", [(4, "n"), Sizes(("n", 4))], [("n", 4)], {}, MIXES),
    ("Reshape", [A, A], [A], {}, MIXES),
    ("Reshape", [(4, 6), A], [A], {}, MIXES),
    ("Reshape", [A, Sizes((12,))], [(12,)], {}, MIXES),
    # transposes
    ("Transpose", [CUBE, Sizes((1, 0, 2))], [(4, "n", 6)], {}, FLAT[1]),
    ("Transpose", [CUBE, Sizes((-2, -3, -1))], [(4, "n", 6)], {}, FLAT[1]),
    ("Transpose", [CUBE], [("n", 6, 4)], {"perm": (0, 2, 1)}, FLAT[0]),
    ("Transpose", [CUBE, Sizes((0, 2, 1))], [(4, "n", 6)], {}, MIXES),
    ("Transpose", [CUBE, Sizes((0, 1, 2))], [("2n", 4, 6)], {}, MIXES),
    ("Transpose", [CUBE, Sizes((0, 1, 2))], [(3, 4, 6)], {}, MIXES),
    ("Transpose", [CUBE], [CUBE], {}, MIXES),
    ("Transpose", [(3, 4, 6), CUBE], [CUBE], {"perm": (0, 1, 2)}, MIXES),
    # products: rows of the first, columns of the second, or an axis before them
    ("MatMul", [A, (4, 5)], [("n", 5)], {}, FLAT[0]),
    ("MatMul", [A, (5, 4), Sizes(False), Sizes(True)], [("n", 5)], {}, FLAT[0]),
    ("MatMul", [B, (4, 5)], [("n", 5)], {"transpose_a": True}, FLAT[0]),
    ("MatMul", [(3, 4), B], [(3, "n")], {}, FLAT[1]),
    ("MatMul", [(3, 4), A], [(3, "n")], {"transpose_b": True}, FLAT[1]),
    ("MatMul", [(3, 4), A, Sizes(False), Sizes(True)], [(3, "n")], {}, FLAT[1]),
    ("MatMul", [A, (3, 5)], [(4, 5)], {"transpose_a": True}, MIXES),
    ("MatMul", [A, (3, 5)], [("n", 5)], {"transpose_a": True}, MIXES),
    ("MatMul", [B, (7, 5)], [B], {}, MIXES),
    ("MatMul", [(5, 4), ("n", 7)], [("n", 7)], {}, MIXES),
    ("MatMul", [(5, 4), B], [(5, "n")], {"transpose_b": True}, MIXES),
    ("MatMul", [A, (4, 5)], [("2n", 5)], {}, MIXES),
    ("MatMul", [A, (4, 5)], [(5, "n")], {}, MIXES),
    ("MatMul", [A, (4, 5)], [(7, 5)], {}, MIXES),
    ("MatMul", [A, (4,)], [("n",)], {}, MIXES),
    ("MatMul", [(4,), B], [("n",)], {}, MIXES),
    ("MatMul", [A, (4, 5), ("n",)], [("n", 5)], {}, MIXES),
    ("BatchMatMul", [("n", 3, 4), ("n", 4, 5)], [("n", 3, 5)], {}, FLAT[0]),
    ("BatchMatMul", [("n", 3, 4), (4, 5)], [("n", 3, 5)], {}, FLAT[0]),
    ("BatchMatMul", [("n", 3, 4), ("n", 5, 4)], [("n", 3, 5)], {"transpose_b": True}, FLAT[0]),
    ("BatchMatMul", [(2, "n", 4), (2, 4, 5)], [(2, "n", 5)], {}, FLAT[1]),
    ("BatchMatMul", [(2, 4, "n"), (2, 4, 5)], [(2, "n", 5)], {"transpose_a": True}, FLAT[1]),
    ("BatchMatMul", [("n", 3, 4), ("n", 4, 5)], [(5, 3, "n")], {}, MIXES),
    ("MatMulExt", [A, (4, 5)], [("n", 5)], {"transpose_a": True}, FLAT[0]),
    ("MatMulExt", [A, (4, 5), Sizes(True)], [("n", 5)], {}, FLAT[0]),
    ("Dense", [A, (5, 4), (5,)], [A], {}, FLAT[0]),
    ("Dense", [(2, "n", 4), (5, 4)], [(2, "n", 5)], {}, FLAT[1]),
    ("Dense", [A, A], [A], {}, MIXES),
    ("Dense", [B, (5, 4)], [B], {}, MIXES),
    ("Dense", [A, (5, 4), ("n",)], [A], {}, MIXES),
    ("Dense", [A, (5, 4)], [("2n", 5)], {}, MIXES),
    ("Dense", [(4, 4), A], [A], {}, MIXES),
    # normalisations
    ("BatchNorm", [IMAGE, (3,)], [IMAGE], {"is_training": False}, FLAT[0]),
    ("BatchNorm", [IMAGE, *[(3,)] * 4, Sizes(False)], [IMAGE], {}, FLAT[0]),
    ("BatchNorm", [IMAGE, (3,)], [IMAGE], {"is_training": True}, MIXES),
    ("BatchNorm", [IMAGE, (3,)], [IMAGE], {}, MIXES),
    ("BatchNorm", [C, ("n",)], [C], {"is_training": False}, MIXES),
    ("BatchNorm", [IMAGE], [("2n", 3, 8, 8)], {"is_training": False}, MIXES),
    ("LayerNorm", [CUBE, (6,), (6,), Sizes(-1)], [CUBE], {}, FLAT[0]),
    ("LayerNorm", [CUBE, (6,), (6,), Sizes(1)], [CUBE], {}, FLAT[0]),
    ("LayerNorm", [CUBE, (6,), (6,), Sizes(0)], [CUBE], {}, MIXES),
    ("LayerNorm", [(4, "n", 6), (6,), (6,), Sizes(-2)], [(4, "n", 6)], {}, MIXES),
    ("LayerNorm", [CUBE, ("n",), (6,), Sizes(1)], [CUBE], {}, MIXES),
    ("LayerNorm", [(4, 6), CUBE, (6,), Sizes(1)], [CUBE], {}, MIXES),
    ("LayerNorm", [CUBE, (6,), (6,)], [CUBE], {}, MIXES),
    ("LayerNormExt", [CUBE, Sizes((6,))], [CUBE], {}, FLAT[0]),
    ("LayerNormExt", [CUBE, Sizes((4, 6))], [CUBE], {}, FLAT[0]),
    ("LayerNormExt", [(4, "n", 6), Sizes((3, 6))], [(4, "n", 6)], {}, MIXES),
    ("LayerNormExt", [CUBE], [CUBE], {}, MIXES),
    ("LayerNormExt", [CUBE, CUBE], [CUBE], {"normalized_shape": (6,)}, MIXES),
    ("LayerNormExt", [CUBE, Sizes((6,)), ("n",)], [CUBE], {}, MIXES),
    ("LayerNormExt", [(4, 6), Sizes((6,)), CUBE], [CUBE], {}, MIXES),
    # the last axis
    ("TopK", [A, Sizes(2)], [("n", 2), ("n", 2)], {}, FLAT[0]),
    ("TopK", [A, Sizes(2)], [("n", 2), (2,)], {}, FLAT[0]),
    ("TopK", [B, Sizes(2)], [B, B], {}, MIXES),
    ("TopK", [("n",), Sizes(2)], [("n",)], {}, MIXES),
    ("TopK", [A, ("n",)], [A], {}, MIXES),
    ("TopK", [A, Sizes(2)], [(2, "n")], {}, MIXES),
    ("TopK", [(4, 4), A], [A], {}, MIXES),
    # joins
    ("Concat", [A, ("n", 6), Sizes(1)], [("n", 10)], {}, FLAT[0]),
    ("Concat", [A, ("n", 6), Sizes(-1)], [("n", 10)], {}, FLAT[0]),
    ("Concat", [A, ("n", 6)], [("n", 10)], {"axis": 1}, FLAT[0]),
    ("Concat", [A, A, Sizes(0)], [("2n", 4)], {}, MIXES),
    ("Concat", [A, A, Sizes(-2)], [A], {}, MIXES),
    ("Concat", [A, (3, 4), Sizes(1)], [("n", 8)], {}, MIXES),
    ("Concat", [A, B, Sizes(1)], [("n", 8)], {}, MIXES),
    ("Concat", [A, A, Sizes(1)], [(7, 8)], {}, MIXES),
    ("Concat", [A, A], [("n", 8)], {}, MIXES),
    ("Stack", [A, A], [(2, "n", 4)], {}, FLAT[1]),
    ("Stack", [A, A], [("n", 2, 4)], {"axis": 1}, FLAT[0]),
    ("Stack", [A, A], [("n", 4, 2)], {"axis": -1}, FLAT[0]),
    ("Stack", [B, B], [(4, 2, "n")], {"axis": 1}, FLAT[2]),
    ("Stack", [A, A], [(2, "n", 4)], {"axis": 2}, MIXES),
    ("Stack", [A, A], [(2, "2n", 4)], {}, MIXES),
    ("Stack", [A, A], [(2, 5, 4)], {}, MIXES),
    ("Stack", [A, (3, 4)], [(2, "n", 4)], {}, MIXES),
    ("Stack", [A, ("2n", 4)], [(2, "n", 4)], {}, MIXES),
    # choices
    ("Gather", [(10, 6), ("n", 5), Sizes(0)], [("n", 5, 6)], {}, FLAT[0]),
    ("Gather", [(6, 10), ("n", 5), Sizes(-1)], [(6, "n", 5)], {}, FLAT[1]),
    ("Gather", [(6, 10), (5, "n"), Sizes(1)], [(6, 5, "n")], {}, FLAT[2]),
    ("Gather", [(6, 10), ("n", 5), Sizes(1)], [("n", 5, 6)], {}, MIXES),
    ("Gather", [(6, 10), ("n", 5), Sizes(0)], [("2n", 5, 6)], {}, MIXES),
    ("Gather", [(10, 6), ("n", 5)], [("n", 5, 6)], {}, FLAT[0]),
    ("Gather", [(10, 6), ("n", 5), Sizes((0,))], [("n", 5, 6)], {}, MIXES),
    ("Gather", [(10, 6), ("n", 5), Sizes(0), Sizes(1)], [("n", 5, 6)], {}, MIXES),
    ("Gather", [(10, 6), ("n", 5), Sizes(0)], [("n", 5, 6)], {"batch_dims": 1}, MIXES),
    ("Gather", [("n", 10), (5,), Sizes(1)], [("n", 5)], {}, FLAT[0]),
    ("Gather", [("n", 10), (5,), Sizes(0)], [("n", 10)], {}, MIXES),
    ("Gather", [("n", 10), (5,), Sizes(1)], [(7, 5)], {}, MIXES),
    ("Gather", [("n", 10), ("n", 5), Sizes(0)], [("n", 5, 10)], {}, MIXES),
    ("Embedding", [("n", 5), (10, 6)], [("n", 5, 6)], {}, FLAT[0]),
    ("Embedding", [("n", 5), ("n", 6)], [("n", 5, 6)], {}, MIXES),
    ("Embedding", [(3, 5), ("n", 6)], [("n", 5, 6)], {}, MIXES),
    ("Embedding", [("n", 5), (10, 6)], [(5, "n", 6)], {}, MIXES),
    ("OneHot", [("n",), Sizes(10), Sizes(1), Sizes(0)], [("n", 10)], {}, FLAT[0]),
    ("OneHot", [("n",), Sizes(10)], [("2n", 10)], {}, MIXES),
    ("OneHot", [("n",), Sizes(10)], [(3, 10)], {}, MIXES),
    ("OneHot", [("n",), Sizes(10), ("n",)], [("n", 10)], {}, MIXES),
    ("OneHot", [(3,), Sizes(10), ("n",)], [("n", 10)], {}, MIXES),
    ("OneHot", [("n",), ("n",)], [("n", 10)], {}, MIXES),
    # slices: only shrink_axis_mask may remove axes
    sliced(CUBE, (1, 1, 1), CUBE, FLAT[0]),
    sliced(CUBE, (1, 1, 1), ("n", 6), FLAT[0], (0, 0, 2)),
    sliced((4, "n", 6), (1, 1, 1), ("n", 6), FLAT[0], (0, 0, 1)),
    sliced(CUBE, (1, 1, 1), (4, "n"), MIXES, (0, 0, 1)),
    sliced((4, "n", 6), (1, 1, 1), (4, "n"), FLAT[1], (0, 0, 4)),
    sliced((4, "n", 6), (1, 1, 1), ("n", 6), MIXES, (0, 0, 4)),
    sliced(CUBE, (1, 1, 1), CUBE, MIXES, (1, 0, 0)),
    sliced(CUBE, (1, 1, 1), CUBE, MIXES, (0, 1, 0)),
    sliced(CUBE, (-1, 1, 1), CUBE, MIXES),
    sliced(CUBE, (1, 1, 1), ("2n", 4, 6), MIXES),
    sliced(CUBE, (1, 1, 1), (3, 4, 6), MIXES),
    ("StridedSlice", [A, *[Sizes((1, 1))] * 3], [A], {}, FLAT[0]),
    ("StridedSlice", [A, *[Sizes((1, 1))] * 3], [A], {"new_axis_mask": 2}, MIXES),
    ("StridedSlice", [A, *[Sizes((1, 1))] * 3, A], [A], {}, MIXES),
    ("StridedSlice", [(3, 4), *[Sizes((1, 1))] * 3, A], [A], {}, MIXES),
    ("StridedSlice", [A, A, *[Sizes((1, 1))] * 2], [A], {}, MIXES),
    ("StridedSlice", [A], [A], {}, MIXES),
    ("Tile", [A, Sizes((1, 2))], [("n", 8)], {}, FLAT[0]),
    ("Tile", [A, Sizes((2,))], [("n", 8)], {}, FLAT[0]),
    ("Tile", [A, Sizes((2, 1, 1))], [(2, "n", 4)], {}, FLAT[1]),
    ("Tile", [A, Sizes((2, 1))], [("2n", 4)], {}, MIXES),
    ("Tile", [B, Sizes((2,))], [(4, "2n")], {}, MIXES),
    ("Tile", [A], [A], {"multiples": (1, 1)}, FLAT[0]),
    ("Tile", [A], [A], {}, MIXES),
    ("Tile", [A, Sizes((1, 1))], [(3, 4)], {}, MIXES),
]
"""Operator, inputs, outputs, attributes, and the batch axis of the first result or the refusal.

``"2n"`` is twice the batch size. Some outputs have shapes that the operator never returns: the
proof must not rely on them.
"""


def edited(value: str = "", *, node: Any = None, value_fields: Any = None, **fields: Any) -> Any:
    """A function that changes a graph of `graph_of`: its node, one value, or its own fields."""

    def edit(graph: Graph) -> Graph:
        values = dict(graph.values)
        if value:
            values[value] = replace(values[value], **value_fields)
        nodes = tuple(replace(one, **(node or {})) for one in graph.nodes)
        return replace(graph, **{"nodes": nodes, "values": values, **fields})

    return edit


def twice(graph: Graph) -> Graph:
    return replace(graph, nodes=graph.nodes * 2)


OTHERS = "its operators are others at a batch of 8"
UNKNOWN = "has a shape or dtype that is not known"
NO_COMPARISON = "has a constant that cannot be compared"
DEPENDS = "has a constant that depends on the batch"
NOTHING = edited()
NO_VECTOR = edited("in_1", value_fields={"data": None, "shape": (2,)})


@cases(
    "small, large, reason",
    [
        (NOTHING, NOTHING, ""),
        (NOTHING, twice, OTHERS),
        (NOTHING, edited(inputs=("in_0", "in_1")), OTHERS),
        (NOTHING, edited(node={"op": "Sub"}), "Mul is Sub at a batch of 8"),
        (NOTHING, edited(node={"inputs": ("in_0",)}), "Mul is Mul at a batch of 8"),
        (NOTHING, edited(node={"outputs": ("out_0",) * 2}), "Mul is Mul at a batch of 8"),
        (NOTHING, edited(node={"attrs": (("axis", 1),)}), "Mul has other attributes"),
        (edited(node={"attrs": (("axis", 1),)}), NOTHING, "Mul has other attributes"),
        (NOTHING, edited(node={"attrs": (("instance name", "b"),)}), ""),
        (NOTHING, edited("in_0", value_fields={"dtype": "float16"}), UNKNOWN),
        (NOTHING, edited("in_0", value_fields={"shape": (-1, 4)}), UNKNOWN),
        (edited("in_0", value_fields={"shape": ("s", 4)}), NOTHING, UNKNOWN),
        (NOTHING, edited("in_0", value_fields={"shape": (8, 4, 1)}), "becomes (8, 4, 1)"),
        (NOTHING, edited("in_0", value_fields={"shape": (9, 4)}), "becomes (9, 4)"),
        (NOTHING, edited("in_0", value_fields={"shape": (8, 5)}), "becomes (8, 5)"),
        (edited("in_0", value_fields={"shape": (4, 4)}), NOTHING, "(4, 4) becomes (8, 4)"),
        (edited("in_0", value_fields={"shape": (0, 4)}), NOTHING, "(0, 4) becomes (8, 4)"),
        (*[edited("in_0", value_fields={"kind": "parameter"})] * 2, "weight of the batch's size"),
        (*[edited("in_1", value_fields={"data": None})] * 2, ""),
        (NO_VECTOR, NO_VECTOR, NO_COMPARISON),
        (NOTHING, edited("in_1", value_fields={"data": None}), NO_COMPARISON),
        (edited("in_1", value_fields={"data": None}), NOTHING, NO_COMPARISON),
        (NOTHING, edited("in_1", value_fields={"data": 3.0}), DEPENDS),
        (
            edited(node={"inputs": ("in_0", "in_0")}),
            edited(node={"inputs": ("in_0", "in_1")}),
            "Mul is connected otherwise at a batch of 8",
        ),
        (edited(outputs=("out_0", "in_0")), edited(outputs=("out_0", "in_0")), ""),
    ],
    ids=lambda row: row[2] or "proved",
)
def test_two_graphs_of_one_net(small, large, reason):
    """Of ``x · 2`` with the batch as first axis of x."""
    graphs = (
        graph_of("Mul", [A, Sizes(2.0, "float32")], [A], batch) for batch in (SAMPLES, PADDED)
    )
    proof = prove(
        *(edit(graph) for edit, graph in zip((small, large), graphs, strict=True)), SAMPLES, PADDED
    )
    assert reason in proof.reason
    assert bool(proof.reason) == bool(reason)
    assert bool(proof.results) == (not reason)


@cases("op, inputs, outputs, attrs, verdict", VERDICTS)
def test_verdict_of_each_operator(op, inputs, outputs, attrs, verdict):
    proof = prove(
        *(graph_of(op, inputs, outputs, batch, **attrs) for batch in (SAMPLES, PADDED)),
        SAMPLES,
        PADDED,
    )
    if isinstance(verdict, BatchAxis):
        assert not proof.reason
        assert proof.results[0] == verdict
    else:
        assert verdict in proof.reason
        assert not proof.results
