"""`tune` through real MindSpore: what it measures is found by later compilations."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import pytest

import ms_fusion as mf
from tbe_impl.errors import InputError
from tests.cases import FULL
from tests.ms_fusion.presets.mindspore_child import run

BODY = """
from ms_fusion.formats.composite import parse_kernel
from ms_fusion.kernel_server import choose
from ms_fusion.kernel_server.assemble import own_kernels
from ms_fusion.presets import net_choices
from tests.ms_fusion.capture.tuned_nets import Net
ms.set_context(mode=ms.GRAPH_MODE)
net, x = Net(), ones(64, 32)
before = [one.asnumpy().copy() for one in net.trainable_params()]
found = mf.tune(net, x, seconds=0.1)
RESULT["least"] = [[one.name for one in found.variants], len(found.kernels)]
found = mf.tune(net, x, seconds=max(6 * found.seconds, 12.0))
RESULT["kernels"] = len(found.kernels)
RESULT["unchanged"] = all((a == b.asnumpy()).all() for a, b in zip(before, net.trainable_params()))
RESULT["table"] = str(found)
RESULT["variants"] = [one.name for one in found.variants]
RESULT["known"] = net_choices.recall(net, (x,)) == found.choice
net_choices.remember(net, (x,), net_choices.NetChoice(kept_out=("MatMul",), why="products are quicker alone.", losses=("everything is a loss.",)))
mf.enable()
Net()(x)
RESULT["kept out"] = [step["name"] for body in bodies() for step in body["op_desc"]]
ledger = mf.explain(net, x, measure=False, accuracy=False)
RESULT["notes"] = list(ledger.notes)
run = mf.specialize(net)
run(x)
RESULT["specialized"] = list(mf.explain(run, x, measure=False, accuracy=False).notes)
Net()(ones(48, 32))
RESULT["not tuned"] = [step["name"] for body in bodies() for step in body["op_desc"]]
RESULT["measured"] = [choose.chosen(*one).tuning is not None for body in bodies() for one in own_kernels(parse_kernel(json.dumps(body), file="body"))]
"""


@pytest.fixture(scope="module")
def seen(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return run(BODY, tmp_path_factory.mktemp("tune") / "work", own_cache=True).result


@FULL
@pytest.mark.mindspore
def test_a_net_is_measured_and_left_as_it_was(seen: dict[str, Any]) -> None:
    assert seen["unchanged"] and seen["known"]
    assert seen["variants"][:2] == ["everything", "without products"] and seen["kernels"]
    assert "without MatMul" not in seen["variants"], "that is without products"
    assert len(set(seen["variants"])) == len(seen["variants"]) >= 2, "more where the time allows"
    assert seen["table"].startswith("Net: tuned in")


@FULL
@pytest.mark.mindspore
def test_without_time_the_net_is_measured_once(seen: dict[str, Any]) -> None:
    variants, kernels = seen["least"]
    assert variants == ["everything"] and not kernels


@FULL
@pytest.mark.mindspore
def test_later_compilations_keep_out_what_tuning_says(seen: dict[str, Any]) -> None:
    assert seen["kept out"] and "MatMul" not in seen["kept out"]
    for notes in (seen["notes"], seen["specialized"]):
        assert "Tuning: products are quicker alone." in notes
        assert "Tuning: everything is a loss." in notes
    assert "MatMul" in seen["not tuned"]


@FULL
@pytest.mark.mindspore
def test_what_was_measured_of_a_group_is_found(seen: dict[str, Any]) -> None:
    assert any(seen["measured"]) and not all(seen["measured"])


QUICKLY = """
import functools
from ms_fusion.capture import front, tune
from ms_fusion.presets import net_choices
tune.captured = functools.partial(front.captured, isolate=False)
ms.set_context(mode=ms.GRAPH_MODE)
def net(x):
    return ops.relu(x * 2.0 + 1.0)
x = ones(64, 32)
found = mf.tune(net, x, seconds=0.1)
RESULT["variants"] = [[one.name, one.step_us > 0, one.unfused_us > 0] for one in found.variants]
RESULT["kernels"] = [one.name for one in found.kernels]
RESULT["table"] = str(found)
RESULT["known"] = net_choices.recall(net, (x,)) == found.choice
RESULT["built"] = len(bodies())
"""
"""Without a child process, and without time for a kernel by itself."""


@pytest.mark.mindspore
def test_a_small_net_is_measured_once_and_remembered(tmp_path: Path) -> None:
    seen = run(QUICKLY, tmp_path / "work").result
    assert seen["variants"] == [["everything", True, True]] and seen["kernels"] == []
    assert seen["built"] == 1 and seen["known"]
    assert seen["table"].startswith("net: tuned in")


def test_a_time_that_is_none(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="seconds=0"):
        mf.tune(lambda x: x, seconds=0)
