"""Operators of convolutional nets, unfused and fused, in the named functions."""

import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf
from tests.programs.presets.child import RESULT, answer, bodies, kernels

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
    return (
        divided(wide * 2.0) + 1.0,
        same(wide * 2.0) + 1.0,
        most(wide * 2.0) + 1.0,
        most_same(wide * 2.0) + 1.0,
    )


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
cases = {
    f.__name__: f for f in (activated, resized, smaller, stacked, pooled, pooled_3d, pooled_1d)
}
cases = {name: cases[name] for name in sys.argv[2:]}
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

answer()
