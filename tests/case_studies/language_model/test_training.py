"""Losses are equal in every stage and with two workers, and fusion leaves few kernels."""

from __future__ import annotations

import xml.etree.ElementTree as ET
from math import log

import numpy as np
import pytest

pytestmark = pytest.mark.mindspore
pytest.importorskip("mindspore")

from case_studies.language_model import curves, story, two_workers  # noqa: E402
from case_studies.language_model.sizes import SIZES  # noqa: E402
from case_studies.language_model.stages import CUSTOM, MODEL, SERVER, UNFUSED  # noqa: E402
from case_studies.language_model.tokens import characters  # noqa: E402
from case_studies.language_model.training import Trained, in_turns  # noqa: E402
from tests.cases import FULL  # noqa: E402

STEPS = 10
WAYS = [UNFUSED, SERVER, CUSTOM]
NEAR = 1e-5
"""Largest relative difference of losses after these steps: the order of sums differs."""


@pytest.fixture(scope="module")
def trained() -> dict[str, Trained]:
    return in_turns(WAYS, MODEL, "quick", steps=STEPS, at_once=4)


@FULL
def test_every_stage_learns_the_same(trained: dict[str, Trained]) -> None:
    unfused = trained[UNFUSED].losses
    assert unfused[0] == pytest.approx(log(len(characters())), rel=0.02)
    assert unfused[-1] < 0.9 * unfused[0]
    for name in WAYS:
        assert len(trained[name].losses) == len(trained[name].seconds) == STEPS
        np.testing.assert_allclose(trained[name].losses, unfused, rtol=NEAR)
    assert trained[SERVER].losses != unfused, "MindSpore's own kernels were computed"


@FULL
def test_the_ledger_tells_how_many_kernels_are_left(trained: dict[str, Trained]) -> None:
    ledgers = {
        name: story.ledger_of(name, MODEL, SIZES["quick"], measure=False)
        for name in (SERVER, CUSTOM)
    }
    assert not any(
        "in this process" in note for ledger in ledgers.values() for note in ledger.notes
    )
    unfused, server, custom = story.rows(trained, ledgers, SIZES["quick"], settled=STEPS // 2)
    for before, after in ((unfused, server), (unfused, custom)):
        assert before.launches is not None and after.launches is not None
        assert before.bytes_moved is not None and after.bytes_moved is not None
        assert after.launches < 0.7 * before.launches
        assert after.bytes_moved < 0.9 * before.bytes_moved
    assert unfused.times == 1 and unfused.differs == 0 < custom.differs <= NEAR
    said = story.describe_kernels(ledgers)
    assert "2 × ScaledDotProductAttention," in said and "1 × FusedAdam" in said
    assert "BatchMatMul + Div + Add + Softmax + MatMul + BiasAdd" in said
    assert all(
        row.stage in story.table([unfused, server, custom]) for row in (unfused, server, custom)
    )


@FULL
def test_two_workers_learn_what_one_process_does(trained: dict[str, Trained]) -> None:
    found = two_workers.train(WAYS, "quick", steps=STEPS)
    assert list(found) == WAYS
    for one in found.values():
        np.testing.assert_allclose(one.losses, trained[UNFUSED].losses, rtol=NEAR)
        assert one.step_s > 0


@FULL
def test_a_worker_that_fails_is_told_of_with_its_words(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MS_NODE_TIMEOUT", "5")  # else the scheduler waits half a minute
    with pytest.raises(RuntimeError, match=r"(?s)a worker failed:.*KeyError: 'no such stage'"):
        two_workers.train(["no such stage"], "quick", steps=1)


@FULL
def test_a_stage_that_dies_is_named(capfd: pytest.CaptureFixture[str]) -> None:
    with pytest.raises(RuntimeError, match="the process of no such stage ended"):
        in_turns(["no such stage"], MODEL, "quick", steps=1, at_once=1)
    assert "KeyError: 'no such stage'" in capfd.readouterr().err


def test_curves_are_a_picture_with_a_line_for_each_stage() -> None:
    losses = {"one & only": [4.0, 3.0, 2.5], "other": [4.0, 3.0001, 2.5]}
    root = ET.fromstring(curves.picture(losses))
    lines = root.findall("{http://www.w3.org/2000/svg}polyline")
    assert len(lines) == 3, "two losses and one difference"
    assert "one & only" in [item.text for item in root.iter("{http://www.w3.org/2000/svg}text")]
    heights = [float(point.split(",")[1]) for point in lines[0].attrib["points"].split()]
    assert heights == sorted(heights), "losses fall"
