"""specialize(): dynamic shapes run fused, through real MindSpore."""

from __future__ import annotations

import pytest

import ms_fusion as mf
from ms_fusion.ledger import SeenShape
from tbe_impl.errors import InputError
from tests.cases import cases
from tests.ms_fusion.mindspore.presets.mindspore_child import ROOT, rows, run, some

PROGRAMS = ROOT / "tests" / "programs" / "specializing"


@pytest.fixture(scope="module")
def seen(request, tmp_path_factory):
    return run(
        PROGRAMS / "changing_shapes.py",
        tmp_path_factory.mktemp("specialised"),
        *some(request, "01", "1"),
    ).result


@pytest.mark.mindspore
@cases("mode", rows("01", "1"))
def test_results_are_the_nets_own(seen, mode):
    assert seen[f"error {mode}"] < 2e-6
    assert seen[f"names {mode}"] == ["dense.weight", "dense.bias", "norm.gamma", "norm.beta"]


@pytest.mark.mindspore
@cases("mode", rows("01", "1"))
def test_a_bucket_is_compiled_once(seen, mode):
    assert seen[f"seen {mode}"] == [
        ["1x16:float32", 4, 1, 1, ""],
        ["3x16:float32", 4, 2, 0, ""],
        ["4x16:float32", 0, 1, 0, ""],
        ["7x16:float32", 8, 1, 1, ""],
        ["9x16:float32", 0, 1, 1, "no bucket holds 9"],
    ]
    assert seen[f"shown {mode}"] == "<SpecializedNet of Net, shapes seen: 5>"


@pytest.mark.mindspore
@cases("mode", rows("01", "1"))
def test_what_was_used_least_recently_is_freed_first(seen, mode):
    assert seen[f"kept {mode}"] == [True, False, True]
    assert seen[f"freed {mode}"]


@pytest.mark.mindspore
def test_a_specialised_net_runs_fused(seen):
    assert seen["bodies"] > 0


@pytest.mark.mindspore
def test_training_is_not_padded(seen):
    assert seen["training"].startswith("Dropout")


@pytest.mark.mindspore
def test_the_ledger_says_which_shapes_were_seen(seen):
    title, shapes, kernels, text, page = seen["ledger"]
    assert title == "Net"
    assert shapes == 6
    assert kernels > 0
    assert "9x16:float32: 1 call, not padded: no bucket holds 9, compiled in" in text
    assert "Shapes seen" in page
    assert seen["again"]


@pytest.mark.mindspore
def test_what_another_thread_calls_meanwhile_runs(tmp_path):
    found = run(PROGRAMS / "meanwhile.py", tmp_path / "work").result
    assert found["padded to"] == 8
    assert len(found["ran"]) >= 4 and all(found["ran"])


def test_a_line_for_each_set_of_shapes():
    assert str(SeenShape("3x4:float32", padded_to=8, calls=1)) == "3x4:float32: 1 call, padded to 8"
    seen = SeenShape("3x4:float32", calls=2, compilations=2, seconds=3.04, kept=False)
    assert str(seen) == "3x4:float32: 2 calls, compiled 2 × in 3.0 s, dropped"


@cases(
    "arguments, word",
    [({"buckets": (0,)}, "bucket"), ({"buckets": (2.5,)}, "bucket"), ({"keep": 0}, "kept")],
)
def test_bad_arguments(arguments, word):
    with pytest.raises(InputError, match=word):
        mf.specialize(abs, **arguments)


@cases("net", [3, dict, None])
def test_what_is_no_net(net):
    with pytest.raises(InputError, match="specialised"):
        mf.specialize(net)
