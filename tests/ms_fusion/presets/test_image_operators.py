"""Operators of convolutional nets in our groups, through real MindSpore: results and gradients as they are unfused."""

from __future__ import annotations

from typing import Any

import numpy as np
import pytest

from tests.ms_fusion.presets.mindspore_child import run

BODY = """
ms.set_context(mode=ms.GRAPH_MODE)
shrunk, larger = ops.ResizeNearestNeighbor((3, 4)), ops.ResizeNearestNeighbor((14, 24))

def activated(x):
    y = ops.relu6(x * 3.0) + ops.hardswish(x * 2.0) - ops.hardsigmoid(x * 2.0)
    return y * ops.elu(x) + ops.mish(x) * 0.5

def resized(x):
    y = larger(x * 2.0) * 0.5
    return ops.adaptive_avg_pool2d(y, (4, 5)) + ops.adaptive_avg_pool2d(x * x, (4, 5))

def smaller(x):
    return shrunk(x * 2.0) + 1.0

def stacked(x):
    return ops.stack((x * 2.0, ops.tanh(x)), 1) * 3.0

counted = nn.AvgPool2d(3, 2, pad_mode="pad", padding=1)
inside = nn.AvgPool2d(3, 2, pad_mode="pad", padding=1, count_include_pad=False, ceil_mode=True)
ceiled = nn.AvgPool2d(3, 2, pad_mode="pad", padding=1, ceil_mode=True)
divided = nn.AvgPool3d(2, 2, divisor_override=5)
same = nn.AvgPool3d(3, 2, pad_mode="same")
most, most_same = nn.MaxPool3d(2, 2), nn.MaxPool3d(3, 2, pad_mode="same")
rows, middles = nn.MaxPool1d(3, 2), nn.AvgPool1d(3, 2)

def pooled(x):
    return counted(x * 2.0) + 1.0, inside(x * 2.0) + 1.0, ceiled(x * 2.0) + 1.0

def pooled_3d(x):
    wide = x.reshape(2, 1, 4, 7, 12)
    return divided(wide * 2.0) + 1.0, same(wide * 2.0) + 1.0, most(wide * 2.0) + 1.0, most_same(wide * 2.0) + 1.0

def pooled_1d(x):
    row = x.reshape(8, 7, 12)
    return rows(row * 2.0) + 1.0, middles(row * 2.0) + 1.0

def gradient(function):
    def total(x):
        found = function(x)
        if not isinstance(found, tuple):
            found = (found,)
        result = 0.0
        for one in found:
            result = result + ops.sum(one * one)
        return result
    return ms.jit(ms.grad(total))

x = Tensor(np.random.default_rng(0).standard_normal((2, 4, 7, 12)).astype(np.float32))
cases = {f.__name__: f for f in (activated, resized, smaller, stacked, pooled, pooled_3d, pooled_1d)}
for fused in (True, False):
    with mf.fusion("auto" if fused else "off", generator="ms_fusion"):
        for name, function in cases.items():
            found = ms.jit(function)(x)
            found = list(found) if isinstance(found, tuple) else [found]
            try:
                found.append(gradient(function)(x))
            except (RuntimeError, TypeError) as error:
                RESULT.setdefault("failed", []).append([name, fused, str(error)[:400]])
            RESULT[f"{name} {fused}"] = [one.asnumpy().tolist() for one in found]
RESULT["groups"] = [sorted({step["name"] for step in body["op_desc"]}) for body in bodies()]
RESULT["built"] = [len(bodies()), len(kernels())]
"""
EXPECTED = """ReLU6 ReLU6Grad HSwish HSwishGrad HSigmoid HSigmoidGrad Elu EluGrad Mish ResizeNearestNeighbor
    ResizeNearestNeighborGrad AdaptiveAvgPool2D AdaptiveAvgPool2DGrad Stack AvgPool3D AvgPool3DGrad MaxPool3D MaxPool3DGrad MaxPool
    AvgPool""".split()


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(BODY, tmp_path_factory.mktemp("images") / "work").result


@pytest.mark.mindspore
def test_they_are_in_the_groups(seen: dict[str, Any]) -> None:
    assert not seen.get("failed")
    assert {name for group in seen["groups"] for name in group} >= set(EXPECTED)
    bodies, built = seen["built"]
    assert built == bodies


@pytest.mark.mindspore
@pytest.mark.parametrize("name", "activated resized smaller stacked pooled pooled_3d pooled_1d".split())  # fmt: skip
def test_results_and_gradients_are_those_of_the_unfused_net(seen: dict[str, Any], name: str) -> None:  # fmt: skip
    for fused, unfused in zip(seen[f"{name} True"], seen[f"{name} False"], strict=True):
        np.testing.assert_allclose(fused, unfused, rtol=2e-4, atol=1e-4)
