"""Attention whose scores have another shape where a mask is added: heads in the batch, windows of images."""

from __future__ import annotations

import numpy as np
import pytest

pytestmark = pytest.mark.mindspore
ms = pytest.importorskip("mindspore")

from custom_ops import patch  # noqa: E402
from tests.custom_ops.patching import nets  # noqa: E402

RNG = np.random.default_rng(3)
X = ms.Tensor(RNG.standard_normal((4, 6, 8)).astype(np.float32))
LATER = np.triu(np.full((6, 6), -1e9, np.float32), 1)
CASES = {
    "OPT": (lambda: nets.OptAttention(8, 2), np.broadcast_to(LATER, (4, 1, 6, 6)).copy()),
    "Swin": (lambda: nets.SwinAttention(8, 2, 6), np.where(RNG.random((2, 6, 6)) > 0.6, -100.0, 0.0).astype(np.float32)),
}  # fmt: skip


@pytest.mark.parametrize("mode", ["graph", "pynative"])
@pytest.mark.parametrize("masked", [True, False], ids=["masked", "plain"])
@pytest.mark.parametrize("name", CASES)
def test_reshaped_scores(name, masked, mode):
    ms.set_context(mode=ms.GRAPH_MODE if mode == "graph" else ms.PYNATIVE_MODE)
    make, mask = CASES[name]
    given = (X, ms.Tensor(mask)) if masked else (X,)
    net = make()
    want = net(*given).asnumpy()
    record = patch(net, *given)
    assert [one.before for one in record.replaced] == [("attention",)], str(record)
    np.testing.assert_allclose(net(*given).asnumpy(), want, atol=2e-6)
    other = ms.Tensor(RNG.standard_normal((2, 6, 8)).astype(np.float32))
    more = (other, ms.Tensor(mask[:2])) if masked else (other,)
    got = net(*more).asnumpy()
    record.undo()
    np.testing.assert_allclose(got, net(*more).asnumpy(), atol=2e-6)
