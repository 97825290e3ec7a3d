"""Cells and functions in a net that `ms.amp` rewrites at level O1, which copies source code."""

from __future__ import annotations

import numpy as np
import pytest

import custom_ops
from custom_ops import functional
from tests.cases import FULL, cases
from tests.custom_ops.modes import MODES, set_mode

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

from tests.custom_ops.nets import Functions, Wrapper  # noqa: E402
from tests.custom_ops.test_functional import CASES as FUNCTIONS  # noqa: E402

X, Y = np.random.default_rng(0).standard_normal((2, 4, 8)).astype(np.float32)
IMAGE = np.random.default_rng(1).standard_normal((2, 4, 5, 5)).astype(np.float32)
IDS = np.int32([1, 0, 3, 1])
CELLS = {
    "AddLayerNorm": (((8,),), (X, Y)),
    "AddRMSNorm": (((8,),), (X, Y)),
    "BatchNorm": ((4,), (IMAGE,)),
    "Conv2d": ((4, 4, 3), (IMAGE,)),
    "ConvBNLeakyReLU": ((4, 4, 3), (IMAGE,)),
    "ConvBNReLU": ((4, 4, 3), (IMAGE,)),
    "ConvBNSiLU": ((4, 4, 3), (IMAGE,)),
    "Dense": ((8, 8, None, None, True, "silu"), (X,)),
    "GroupNorm": ((2, 4), (IMAGE,)),
    "LayerNorm": (((8,),), (X,)),
    "LayerNormLinear": ((8, 4), (X,)),
    "LinearCrossEntropy": ((8, 5), (X, IDS)),
    "LinearResidual": ((8, 8), (X, Y)),
    "LogSoftmax": ((), (X,)),
    "MatMulBiasGELU": ((8, 8), (X,)),
    "MatMulBiasReLU": ((8, 8), (X,)),
    "MatMulBiasSiLU": ((8, 8), (X,)),
    "RMSNorm": (((8,),), (X,)),
    "Softmax": ((), (X,)),
    "SoftmaxCrossEntropy": ((), (X, IDS)),
    "TokenEmbedding": ((5, 8), (IDS,)),
}
"""Name → arguments of the Cell, and its inputs."""


def mean_of(net):
    """The sum of the means of the results."""

    def loss(*given):
        made = net(*given)
        if not isinstance(made, tuple):
            return made.mean()
        total = made[0].mean()
        for one in made[1:]:
            total = total + one.mean()
        return total

    return loss


@cases(
    "name, mode",
    [
        pytest.param(
            name, mode, marks=[] if (name, mode) == ("MatMulBiasSiLU", "pynative") else FULL
        )
        for name in CELLS
        for mode in MODES
    ],
)
def test_cells_in_a_rewritten_net_have_the_plain_gradients(name, mode, tmp_path, monkeypatch):
    """Weights and inputs have the gradients of the unmodified net."""
    monkeypatch.chdir(tmp_path)
    set_mode(mode)
    arguments, arrays = CELLS[name]
    plain = Wrapper(getattr(custom_ops, name)(*arguments))
    tensors = [ms.Tensor(array) for array in arrays]
    places = tuple(place for place, array in enumerate(arrays) if array.dtype != np.int32) or None
    weights = plain.trainable_params() or None
    found = []
    for net in (plain, ms.amp.auto_mixed_precision(plain, "O1")):
        found.append(ms.value_and_grad(mean_of(net), places, weights)(*tensors))
    for want, got in zip(*map(flat, found), strict=True):
        assert got.shape == want.shape
        assert np.allclose(got, want, rtol=1e-2, atol=1e-3)


def flat(made):
    """Every array in tuples of tuples."""
    if isinstance(made, (tuple, list)):
        return [array for one in made for array in flat(one)]
    return [made.asnumpy()]


def test_every_cell_that_is_made_from_another_is_tried():
    public = {name: getattr(custom_ops, name) for name in custom_ops.__all__}
    assert {name for name, one in public.items() if hasattr(one, "from_cells")} == set(CELLS)


@cases("name, arrays, keywords, cell", FUNCTIONS, quick=1, ids=lambda row: f"{row[0]}-{row[2]}")
def test_functions_in_a_rewritten_net_keep_their_results(
    name, arrays, keywords, cell, tmp_path, monkeypatch
):
    monkeypatch.chdir(tmp_path)
    ms.set_context(mode=ms.GRAPH_MODE)
    net = ms.amp.auto_mixed_precision(Functions(getattr(functional, name), keywords), "O1")
    got = net(*map(ms.Tensor, arrays)).asnumpy()
    assert np.allclose(got, cell(**keywords).forward(*arrays), rtol=2e-5, atol=1e-6)
