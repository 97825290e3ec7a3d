"""Nets with unfusable dtypes, shapes and operators run as unfused, with at most one warning."""

from __future__ import annotations

import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ms_fusion.compile_server import refusals
from ms_fusion.mindspore.flags.generator_limits import KernelRefusal
from ms_fusion.mindspore.flags.own_generator_flags import flags_for_own_generator
from ms_fusion.mindspore.presets import compile_retry
from tests.cases import FULL, cases
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, run, some

OPTIMIZERS = ("SGD", "Momentum", "Adam")
NETS = (
    "bfloat16",
    "complex128",
    "complex and real",
    "string",
    "sparse",
    "quantised",
    "open rank",
    "sizes by content",
    "several results",
)
OTHERS = ("complex128", "string", "sparse", "quantised", "open rank", "sizes by content")
"""Further cases of `make test-all`; the optimizers too."""


@pytest.fixture(scope="module")
def seen(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("again") / "work"
    names = [
        json.dumps(some(request, every, *full))
        for every, full in ((OPTIMIZERS, OPTIMIZERS), (NETS, OTHERS))
    ]
    return run(PROGRAMS / "unfusable_nets.py", place, *names).result


@pytest.mark.mindspore
def test_every_net_runs_unfused_with_one_warning_at_most(seen: dict[str, Any]) -> None:
    assert len(seen["nets"]) >= len(NETS) - len(OTHERS)
    assert {name: found[0] for name, found in seen["nets"].items()} == dict.fromkeys(
        seen["nets"], True
    )
    assert all(len(found[1]) <= 1 for found in seen["nets"].values()), seen["nets"]
    assert seen["other shapes"] == 0, "said already"
    # MindSpore writes the graph of a net that does not compile
    assert set(seen["left"]) <= {"rank_0"}


@pytest.mark.mindspore
def test_the_ledger_and_one_warning_say_what_stays_out(seen: dict[str, Any]) -> None:
    _, (warning,), notes, _, _ = seen["nets"]["bfloat16"]
    sentence = (
        "Mul and Add stay out of the groups, since MindSpore's fusion fails: it cannot hand over a "
        "number of bfloat16"
    )
    assert warning == f"Half: {sentence}."
    assert f"Left to MindSpore's own operators: {sentence}" in notes
    _, (warning,), notes, kernels, _ = seen["nets"]["complex and real"]
    assert "compiled without fusion" in warning and "CReal of complex64 is not built" in warning
    assert any("CReal of complex64 is not built" in note for note in notes) and kernels == 0


@pytest.mark.mindspore
def test_operators_with_several_results_are_kept_out_and_told(
    seen: dict[str, Any],
) -> None:
    right, said, _, kernels, edges = seen["nets"]["several results"]
    assert right and said == [] and kernels >= 4
    for operator in ("Split", "MaxPool3DWithArgmax"):
        said = [
            detail for producer, consumer, detail in edges if operator in f"{producer} {consumer}"
        ]
        assert any("it has several results" in detail for detail in said), (operator, said)


@pytest.mark.mindspore
def test_a_mistake_in_the_net_is_told_as_ever(seen: dict[str, Any]) -> None:
    assert seen["own mistake"].startswith(("ValueError", "RuntimeError"))
    assert "must be equal to shape2[-2]" in seen["own mistake"]


@pytest.mark.mindspore
def test_a_gradient_in_bfloat16_is_taken_in_pynative_mode(seen: dict[str, Any]) -> None:
    assert seen["slope"] == [[8.0] * 5] * 4


@FULL
@pytest.mark.mindspore
def test_float16_is_trained_without_casts_in_the_groups(seen: dict[str, Any]) -> None:
    for name, found in seen["steps"].items():
        for one, other in zip(found, seen["unfused steps"][name], strict=True):
            np.testing.assert_allclose(one, other, rtol=2e-3, atol=2e-3, err_msg=name)
    assert seen["of steps"] and all(
        "Cast stays out of the groups" in said for said in seen["of steps"]
    ), seen["of steps"]


FLAGS = flags_for_own_generator(2).render()
FAILS = (
    "Fail to parse [ValueNode<Primitive> PrimFunc_{}, …], the value type: bfloat16 is not in "
    "supported list: [].\n graph_kernel_json.cc"
)


class Net:
    """An object that supports weak references."""


def _tried(messages: list[str], place: Path, flags: str = FLAGS) -> list[str]:
    """The flags of each attempt of a net that fails with these messages in sequence."""
    tried: list[str] = []

    def once(attempt: compile_retry.Attempt) -> None:
        with compile_retry.supervise_attempt(attempt, flags, place):
            tried.append(attempt.apply_to(flags))
            if len(tried) <= len(messages):
                raise RuntimeError(messages[len(tried) - 1])

    compile_retry.retry_until_compiled(once, Net())
    return tried


def test_operators_are_taken_out_one_by_one_and_at_last_all(tmp_path: Path) -> None:
    first, second, third, last = _tried(
        [FAILS.format("Mul"), FAILS.format("Add"), FAILS.format("Add")], tmp_path
    )
    assert first == FLAGS
    assert "=ReduceAll,Mul " in f"{second.partition('--disable_cluster_ops')[2]} "
    assert "ReduceAll,Mul,Add" in third and "--opt_level=0" in last
    (recorded,) = refusals.read_since(tmp_path, 0)
    assert recorded.left and "compiled without fusion" in recorded.reason


def test_what_a_full_disk_cut_off_of_the_record_is_left_out(tmp_path: Path) -> None:
    refusals.record(tmp_path, [KernelRefusal("Mul", "why")])
    with (tmp_path / refusals.FILE).open("a") as stream:
        stream.write('["Add", "wh')
    (found,) = refusals.read_since(tmp_path, 0)
    assert found.op == "Mul"


def test_what_another_rank_was_refused_concerns_nobody_else(tmp_path: Path) -> None:
    def compiled(attempt: compile_retry.Attempt) -> str:
        with compile_retry.supervise_attempt(attempt, FLAGS, tmp_path):
            refusals.record(tmp_path, [KernelRefusal("Mul", "why")], process=os.getppid())
            raise RuntimeError("shapes differ, seen in infer.cc")

    with pytest.raises(RuntimeError, match="shapes"):
        compile_retry.retry_until_compiled(compiled, Net())
    assert not refusals.read_since(tmp_path, 0)


@cases(
    "message, flags",
    [
        ("shapes differ, seen in infer.cc", FLAGS),
        (FAILS.format("Mul"), "--opt_level=2"),
        (FAILS.format("Mul"), ""),
    ],
)
def test_what_is_not_ours_to_mend_is_raised(message: str, flags: str, tmp_path: Path) -> None:
    with pytest.raises(RuntimeError, match=message[:4]):
        _tried([message], tmp_path, flags)
