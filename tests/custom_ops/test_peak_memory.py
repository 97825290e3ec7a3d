"""Memory that operators take inside MindSpore, forward and backward, beside that of basic operators."""

from __future__ import annotations

import pytest

from tests.peak_memory import needs_linux, peak_bytes

pytestmark = [pytest.mark.mindspore, needs_linux]
ATTENTION = """
import numpy as np, mindspore as ms
from custom_ops import ScaledDotProductAttention

def once(tokens):
    made = [ms.Tensor(np.ones((1, 1, tokens, 64), np.float32)) for _ in range(3)]
    for one in ms.grad(cell, (0, 1, 2))(*made):
        one.asnumpy()

cell = ScaledDotProductAttention(route="{route}")
once(64)
"""
CROSS_ENTROPY = """
import numpy as np, mindspore as ms
from custom_ops import LinearCrossEntropy

def once(rows):
    hidden, labels = ms.Tensor(np.ones((rows, 64), np.float32)), ms.Tensor(np.zeros(rows, np.int32))
    value, (slope, _) = derive(hidden, labels)
    value.asnumpy(), slope.asnumpy()

cell = LinearCrossEntropy(64, 4000, route="{route}")
derive = ms.value_and_grad(cell, 0, cell.trainable_params())
once(64)
"""


@pytest.mark.parametrize(
    ("before", "measured", "share"),
    [(ATTENTION, "once(4096)", 8), (CROSS_ENTROPY, "once(2048)", 4)],
    ids=["attention", "linear cross entropy"],
)
def test_peak_is_a_share_of_the_unfused(before, measured, share):
    pytest.importorskip("mindspore")
    ours, unfused = (
        peak_bytes(before.format(route=route), measured) for route in ("native", "composite")
    )
    assert ours * share <= unfused, (ours, unfused)
