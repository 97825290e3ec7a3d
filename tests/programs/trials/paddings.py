"""Pads in fused nets and takes gradients in several calls; prints failures and the case count.

With ``all`` it runs all cases, each in several dtypes.
"""

import sys

import mindspore as ms
import numpy as np
from mindspore import Tensor, nn, ops

import ms_fusion as mf

CASES = [
    ((7,), (1, 2), 0.5),
    ((7,), (1, 2), None),
    ((7,), (-1, 2), 0.5),
    ((7,), (1, -2), np.inf),
    ((7,), (-2, -3), np.nan),
    ((3, 4), (1, 0, 0, 2), -1.5),
    ((3, 4), (2, 2), 3),
    ((2, 3, 4), (0, 1, -1, 2), 0),
    ((2, 3, 4, 5), (1, 1, 2, 2), 0.0),
    ((2, 3, 4, 5), (1, 1, 2, 2, 0, 1, 1, 0), 0.25),
]
DTYPES = (ms.float32, ms.float16, ms.float64, ms.int32)


class Padded(nn.Cell):
    def __init__(self, padding, value):
        super().__init__()
        self.padding, self.value = padding, value

    def construct(self, x):
        return ops.pad(x, self.padding, mode="constant", value=self.value)


class Gradient(nn.Cell):
    def __init__(self, net):
        super().__init__()
        self.gradient = ops.GradOperation(sens_param=True)(net)

    def construct(self, x, dy):
        return self.gradient(x, dy)


def expected(x, padding, value):
    """NumPy reference: cropping, then padding."""
    pairs = [(0, 0)] * (x.ndim - len(padding) // 2)
    pairs += reversed(list(zip(padding[::2], padding[1::2], strict=True)))
    kept = tuple(
        slice(max(-before, 0), size - max(-behind, 0))
        for (before, behind), size in zip(pairs, x.shape, strict=True)
    )
    around = [(max(before, 0), max(behind, 0)) for before, behind in pairs]
    return np.pad(x[kept], around, constant_values=value or 0), kept, around


def tried(shape, padding, value, dtype):
    """The failure; empty if right."""
    count = int(np.prod(shape))
    x = Tensor((np.arange(count).reshape(shape) - 3) * 2, dtype)
    number = int(value) if dtype == ms.int32 and value is not None else value
    net = Padded(padding, number)
    want, kept, around = expected(x.asnumpy(), padding, number)
    found = net(x).asnumpy()
    if found.dtype != want.dtype or not np.array_equal(found, want, equal_nan=True):
        return "forward"
    if dtype == ms.int32:
        return ""
    dy = np.arange(want.size).reshape(want.shape).astype(want.dtype) + 1
    inner = tuple(
        slice(before, size - behind)
        for (before, behind), size in zip(around, want.shape, strict=True)
    )
    slope = np.zeros(shape, want.dtype)
    slope[kept] = dy[inner]
    gradient = Gradient(net)
    calls = [gradient(x, Tensor(dy)).asnumpy() for _ in range(4)]
    return "" if all(np.array_equal(one, slope) for one in calls) else "gradient"


def main():
    ms.set_context(mode=ms.GRAPH_MODE)
    mf.enable()
    count, every = 0, sys.argv[1:] == ["all"]
    for shape, padding, value in CASES if every else CASES[::3]:
        for dtype in DTYPES if every else DTYPES[:1]:
            if dtype == ms.int32 and value is not None and not np.isfinite(value):
                continue
            try:
                expected(np.zeros(shape), padding, 0)
                wrong = tried(shape, padding, value, dtype)
            except (ValueError, RuntimeError) as error:
                wrong = f"refused: {error}"[:200]
            if wrong:
                print("WRONG", shape, padding, value, dtype, wrong)
            count += 1
    print("tried:", count)


main()
