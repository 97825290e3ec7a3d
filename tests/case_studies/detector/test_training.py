"""The loss against its float64 formula, and a training whose loss decreases."""

import numpy as np
import pytest

ms = pytest.importorskip("mindspore")

import ms_fusion as mf  # noqa: E402
from case_studies.detector.design import Design  # noqa: E402
from case_studies.detector.training import Loss, batches, train_detector  # noqa: E402
from tests.cases import FULL, cases  # noqa: E402

pytestmark = pytest.mark.mindspore
TINY = Design(size=32, width=4, blocks=(0, 0, 0, 0, 0), classes=3)


class Said(ms.nn.Cell):
    """A net that predicts fixed values."""

    def __init__(self, predictions):
        super().__init__()
        self.fine, self.middle, self.coarse = predictions

    def construct(self, x):
        """Ignores the images."""
        return self.fine, self.middle, self.coarse


def test_the_loss_is_that_of_float64():
    random = np.random.default_rng(3)
    images, *wanted = next(batches(TINY, 2, 1, 4))
    made = [3 * random.standard_normal(one.shape).astype(np.float32) for one in wanted[::2]]
    loss = Loss(Said([ms.Tensor(one) for one in made]))(images, *wanted)
    expected = 0.0
    for y, target, weight in zip(made, wanted[::2], wanted[1::2], strict=True):
        y, target, weight = (
            np.asarray(one, np.float64) for one in (y, target.asnumpy(), weight.asnumpy())
        )
        each = np.logaddexp(0, y) - y * target
        each[..., 2:4] = (y - target)[..., 2:4] ** 2
        expected += (weight * each).sum() / 2
    np.testing.assert_allclose(float(loss.asnumpy()), expected, rtol=1e-5)


@cases(
    "mode", [ms.PYNATIVE_MODE, pytest.param(ms.GRAPH_MODE, marks=FULL)], ids=["PyNative", "graph"]
)
def test_two_steps_of_a_training_change_the_loss(mode):
    ms.set_context(mode=mode)
    net, losses = train_detector(TINY, steps=2, batch=2)
    assert not net.training
    assert len(losses) == 2 and np.isfinite(losses).all() and losses[0] != losses[1]


@FULL
def test_training_learns():
    ms.set_context(mode=ms.GRAPH_MODE)
    with mf.fusion(generator="ms_fusion"):
        net, losses = train_detector(TINY, steps=100, batch=8)
    assert not net.training
    assert np.mean(losses[-20:]) < 0.8 * np.mean(losses[:10]), losses
