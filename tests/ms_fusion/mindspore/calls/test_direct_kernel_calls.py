"""A one-kernel graph is called directly; MindSpore runs every other graph."""

from __future__ import annotations

import json
from typing import Any

import numpy as np
import pytest

from ms_fusion.mindspore.calls import direct_kernel_calls, repeated_calls
from tests.cases import FULL, cases
from tests.ms_fusion.mindspore.presets.mindspore_child import PROGRAMS, rows, run, some

pytestmark = pytest.mark.mindspore
STAYS, MOVES = (
    "assign in_numpy one_number added trained".split(),
    "set_data assign_value loaded initialized".split(),
)
OF_ONE_KERNEL = {
    "Sums": ("Float32", [8, 16]),
    "Scalar": ("Float32", []),
    "Half": ("Float16", [8, 16]),
    "Normal": ("Float32", [8, 16]),
    "Layers": ("Float32", [8, 4]),
}
OF_MORE = "Counts Random GivesBack Nested Constant Sorted Branches Island Own Training".split()
SLOW = (
    "in_numpy added trained assign_value loaded Half Normal Random Nested Sorted Island Own "
    "Training"
).split()
"""Further nets of `make test-all`."""


@pytest.fixture(scope="module")
def found(
    request: pytest.FixtureRequest, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, Any]:
    place = tmp_path_factory.mktemp("direct") / "work"
    names = [
        json.dumps(some(request, every, *SLOW))
        for every in (STAYS + MOVES, [*OF_ONE_KERNEL, *OF_MORE])
    ]
    return run(PROGRAMS / "direct_calls.py", place, *names).result


NEAR = 1e-6


def test_the_kernel_is_tried_beside_the_ninth_call(found: Any) -> None:
    assert found["first"] == [False] * 8 + [True] * 4
    error, dtype, kind = found["result"]
    assert error < NEAR
    assert (dtype, kind) == ("Float32", "Tensor")


@cases(
    "change, moves",
    [
        pytest.param(name, name in MOVES, marks=FULL if name in SLOW else ())
        for name in (*STAYS, *MOVES)
    ],
)
def test_parameters_are_read_as_they_are_now(found: Any, change: str, moves: bool) -> None:
    """After a kernel change MindSpore makes some calls first."""
    first, later = found["changes"][change]
    assert (first[0], later[0]) == (not moves, True)
    for _, error, before in (first, later):
        assert error < NEAR
        assert before > 100 * NEAR


def test_results_stay_what_they_are(found: Any) -> None:
    assert found["tensors kept"] < NEAR
    assert found["arrays kept"] < NEAR
    assert found["fed back"] < NEAR
    straight, error, kept = found["written to"]
    assert straight
    assert error < NEAR
    assert kept == 5.0


def test_memory_of_results_is_taken_again(found: Any) -> None:
    """One more array than the pool holds; one after all are released."""
    assert found["held"] == {"1": 2, "2": 3, "3": 4}
    assert found["given back"] == 1


@cases(
    "share",
    "slice row reshape transpose split tensor parameter copy deepcopy pickle detached numpy "
    "set_data pending".split(),
)
def test_what_shares_a_result_stays_what_it_is(found: Any, share: str) -> None:
    assert found["shares"][share]


@cases(
    "argument, straight",
    [
        ("transposed", False),
        ("rows", True),
        ("parameter", False),
        ("numpy", True),
        ("shape", False),
        ("pending", True),
    ],
)
def test_every_argument_is_read_where_it_lies(found: Any, argument: str, straight: bool) -> None:
    was, error = found["arguments"][argument]
    assert was == straight
    assert error < NEAR


def test_threads_do_not_disturb_each_other(found: Any) -> None:
    count, worst = found["threads"]
    assert count == 800
    assert worst < NEAR


@cases("net", rows([*OF_ONE_KERNEL], *SLOW))
def test_nets_of_one_kernel_are_it(found: Any, net: str) -> None:
    dtype, shape = OF_ONE_KERNEL[net]
    assert found["nets"][net] == [True, True, dtype, shape]


@cases("net", rows(OF_MORE, *SLOW))
def test_what_is_more_than_a_kernel_is_left_to_mindspore(found: Any, net: str) -> None:
    assert not found["nets"][net][0]


def test_a_branch_is_taken_at_each_call(found: Any) -> None:
    assert found["branch"] == 0


def test_what_changes_the_net_happens_at_each_call(found: Any) -> None:
    assert found["counted"] == 32


@cases("what", ["parameter", "argument", "listed", "kernel behind"])
def test_nothing_is_taken_for_what_lies_at_the_same_place(found: Any, what: str) -> None:
    assert found["taken for another"][what] < NEAR


def test_one_tensor_may_be_two_arguments(found: Any) -> None:
    straight, error = found["same twice"]
    assert straight
    assert error < 16 * NEAR


@cases(
    "around, straight",
    [
        ("as usual", True),
        ("own call", True),
        *((name, False) for name in "mode jit training cache".split()),
        ("own compile", False),
        ("too many", True),
        ("name", True),
        ("construct", False),
        ("no cache", False),
        ("own phase", False),
        ("compile_and_run", True),
        *(
            (f"other {name}", False)
            for name in "compile_and_run _check_construct_args _self_check _predict".split()
        ),
    ],
)
def test_a_call_is_made_as_mindspore_would_make_it_now(
    found: Any, around: str, straight: bool
) -> None:
    was, error = found["around"][around]
    assert was == straight
    # MindSpore's own operators are less accurate
    assert error < NEAR if straight else error < 10 * NEAR


def test_a_net_is_forgotten_when_it_is_gone(found: Any) -> None:
    assert found["gone"] == [True, True, False]


def test_a_net_is_watched_once(found: Any) -> None:
    """Independent of the number of lookups of its kernel."""
    assert len(set(found["watched for its end"])) == 1


def test_another_call_is_not_replaced() -> None:
    from mindspore import nn

    own = nn.Cell.__call__
    assert repeated_calls.is_known_call(getattr(own, "__wrapped__", own))
    assert not repeated_calls.is_known_call(nn.SequentialCell.construct)
    assert not repeated_calls.is_known_call(print)


def test_a_profiler_sees_the_kernel(found: Any) -> None:
    assert not found["profiled"]
    assert found["profiled after"]


def test_one_at_a_time_watches_one_launch(found: Any) -> None:
    assert found["watched"] == [1, 0, True]
    assert found["watched twice"] == 0


def test_an_array_is_one_call_s_from_the_moment_it_is_made() -> None:
    """Also before it is in a tensor."""
    result = direct_kernel_calls.KernelResult((3,), np.dtype(np.float32), [])
    held = [
        direct_kernel_calls._take_array(result)
        for _ in range(direct_kernel_calls.MAX_OUTPUT_ARRAYS + 2)
    ]
    assert len({address for _, address in held}) == len(held)
    first = held[0][1]
    del held
    assert direct_kernel_calls._take_array(result)[1] == first
