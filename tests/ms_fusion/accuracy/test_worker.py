"""A child that answers, dies, hangs, or writes unrequested output."""

from __future__ import annotations

from pathlib import Path

import pytest

from ms_fusion.accuracy.worker_process import Worker, WorkerError
from tests.cases import cases

PROGRAMS = Path(__file__).resolve().parents[2] / "programs" / "accuracy"


def started():
    """A worker with two restarts."""
    return Worker("obedient_child", "some", directory=PROGRAMS, restarts=2)


@pytest.fixture
def worker():
    with started() as one:
        yield one


def test_one_child_answers_many_requests(worker):
    first, second = (worker.ask({"do": "tell"}, timeout_s=30) for _ in range(2))
    assert first == second
    assert first["mode"] == "some"


def test_an_error_is_an_answer(worker):
    before = worker.ask({"do": "tell"}, timeout_s=30)
    with pytest.raises(WorkerError, match="it cannot"):
        worker.ask({"do": "fail"}, timeout_s=30)
    assert worker.ask({"do": "tell"}, timeout_s=30) == before


@cases(
    "what, said, limit_s",
    [
        ("die", "died of signal 11", 30),
        ("leave", "exit code 3", 30),
        ("hang", "no answer within", 0.5),
    ],
)
def test_after_a_death_there_is_another(what, said, limit_s):
    with started() as worker:
        before = worker.ask({"do": "tell"}, timeout_s=30)
        with pytest.raises(WorkerError, match=said):
            worker.ask({"do": what}, timeout_s=limit_s)
        assert worker.ask({"do": "tell"}, timeout_s=30)["pid"] != before["pid"]


def test_a_child_that_dies_too_often_is_not_replaced(worker):
    for _ in range(3):
        with pytest.raises(WorkerError, match="signal"):
            worker.ask({"do": "die"}, timeout_s=30)
    with pytest.raises(WorkerError, match="too often"):
        worker.ask({"do": "tell"}, timeout_s=30)
