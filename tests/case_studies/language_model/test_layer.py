"""Both layers match formula and gradient: float32 against NumPy in float64."""

from __future__ import annotations

from collections.abc import Mapping

import numpy as np
import pytest

from tests.tbe_impl.tolerances import assert_close

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

from case_studies.language_model.layer import FusedTransformerLayer, TransformerLayer  # noqa: E402
from case_studies.language_model.model import with_weights  # noqa: E402
from case_studies.language_model.sizes import Size  # noqa: E402
from case_studies.language_model.stages import CUSTOM, LAYER, STAGES, UNFUSED, arrays  # noqa: E402
from tests.cases import FULL, cases  # noqa: E402

D_MODEL, HEADS, D_FF, CONTEXT, ROWS = 24, 3, 40, 7, 2
Weights = Mapping[str, np.ndarray]


def norm(x: np.ndarray, weights: Weights, name: str) -> np.ndarray:
    distance = x - x.mean(-1, keepdims=True)
    normal = distance / np.sqrt(x.var(-1, keepdims=True) + 1e-7)
    return normal * weights[f"{name}.gamma"] + weights[f"{name}.beta"]


def dense(x: np.ndarray, weights: Weights, name: str) -> np.ndarray:
    return x @ weights[f"{name}.weight"].T + weights[f"{name}.bias"]


def formula(x: np.ndarray, weights: Weights) -> np.ndarray:
    y = norm(x, weights, "attention_norm")
    query, key, value = (
        dense(y, weights, name).reshape(ROWS, CONTEXT, HEADS, -1).transpose(0, 2, 1, 3)
        for name in ("query", "key", "value")
    )
    scores = query @ key.swapaxes(-1, -2) / (D_MODEL // HEADS) ** 0.5
    scores = np.where(np.tril(np.ones((CONTEXT, CONTEXT), bool)), scores, -np.inf)
    shares = np.exp(scores - scores.max(-1, keepdims=True))
    mixed = (shares / shares.sum(-1, keepdims=True)) @ value
    x = x + dense(mixed.transpose(0, 2, 1, 3).reshape(x.shape), weights, "out")
    wide = dense(norm(x, weights, "feed_forward_norm"), weights, "wide")
    return x + dense(wide / (1 + np.exp(-wide)), weights, "narrow")


@cases(
    "mode", [ms.PYNATIVE_MODE, pytest.param(ms.GRAPH_MODE, marks=FULL)], ids=["PyNative", "graph"]
)
@cases("kind", [pytest.param(TransformerLayer, marks=FULL), FusedTransformerLayer])
def test_a_layer_is_its_formula_and_so_is_its_gradient(kind: type, mode: int) -> None:
    ms.set_context(mode=mode)
    random = np.random.default_rng(3)
    layer = with_weights(kind(D_MODEL, HEADS, D_FF, CONTEXT))
    for one in layer.get_parameters():  # larger ones, so that every part counts
        one.set_data(ms.Tensor((random.standard_normal(one.shape) * 0.3 + 0.1).astype(np.float32)))
    x, slope = (
        random.standard_normal((ROWS, CONTEXT, D_MODEL)).astype(np.float32) for _ in range(2)
    )
    weights = {one.name: one.asnumpy().astype(np.float64) for one in layer.get_parameters()}
    assert_close(layer(ms.Tensor(x)).asnumpy(), formula(x.astype(np.float64), weights), "float32")

    trainable = layer.trainable_params()
    of_x, of_weights = ms.ops.GradOperation(get_all=True, get_by_list=True, sens_param=True)(
        layer, trainable
    )(ms.Tensor(x), ms.Tensor(slope))
    found = {one.name: each.asnumpy() for one, each in zip(trainable, of_weights, strict=True)}
    step = 1e-5
    for name, gradient in {"x": of_x[0].asnumpy(), **found}.items():
        way = random.standard_normal(gradient.shape)

        def moved(distance: float, name: str = name, way: np.ndarray = way) -> float:
            if name == "x":
                return float((formula(x + distance * way, weights) * slope).sum())
            other = {**weights, name: weights[name] + distance * way}
            return float((formula(x.astype(np.float64), other) * slope).sum())

        wanted = (moved(step) - moved(-step)) / (2 * step)
        # rounding errors; the gradient of the keys' bias is 0, but its summands are not
        limit = 2e-5 * float(np.linalg.norm(way) * (np.linalg.norm(gradient) + 1))
        assert abs(float((gradient * way).sum()) - wanted) <= limit, name


@FULL
def test_a_layer_trained_alone_learns_the_same_of_either_kind() -> None:
    ms.set_context(mode=ms.GRAPH_MODE)
    size, losses = Size(D_MODEL, HEADS, D_FF, 1, CONTEXT, ROWS, steps=0), {}
    inputs = tuple(map(ms.Tensor, arrays(LAYER, size, step=0)))
    for name in (UNFUSED, CUSTOM):
        step = STAGES[name].training_step(LAYER, size)
        losses[name] = [float(step(*inputs).asnumpy()) for _ in range(4)]
    np.testing.assert_allclose(losses[CUSTOM], losses[UNFUSED], rtol=1e-5)
    assert losses[UNFUSED] == sorted(losses[UNFUSED], reverse=True)


def test_both_layers_have_the_same_weights() -> None:
    layers = [
        with_weights(kind(D_MODEL, HEADS, D_FF, CONTEXT))
        for kind in (TransformerLayer, FusedTransformerLayer)
    ]
    one, other = (
        {each.name: each.asnumpy() for each in layer.get_parameters()} for layer in layers
    )
    assert one.keys() == other.keys() and len(one) == 16
    for name, value in one.items():
        np.testing.assert_array_equal(value, other[name])
