"""A child that answers, dies, hangs, or talks out of turn."""

from __future__ import annotations

import pytest

from ms_fusion.accuracy.worker import Worker, WorkerError

CHILD = """
import json, os, signal, sys, time
answers = os.fdopen(int(sys.argv[2]), "w", buffering=1)
print("noise on standard output", flush=True)
for line in sys.stdin:
    request = json.loads(line)
    if request["do"] == "die":
        os.kill(os.getpid(), signal.SIGSEGV)
    if request["do"] == "leave":
        sys.exit(3)
    if request["do"] == "hang":
        time.sleep(60)
    if request["do"] == "fail":
        print(json.dumps({"error": "it cannot"}), file=answers)
    else:
        print(json.dumps({"mode": sys.argv[1], "pid": os.getpid()}), file=answers)
"""


@pytest.fixture
def worker(tmp_path):
    (tmp_path / "obedient_child.py").write_text(CHILD)
    with Worker("obedient_child", "some", directory=tmp_path, restarts=2) as started:
        yield started


def test_one_child_answers_many_requests(worker):
    first, second = (worker.ask({"do": "tell"}, timeout_s=30) for _ in range(2))
    assert first == second
    assert first["mode"] == "some"


def test_an_error_is_an_answer(worker):
    before = worker.ask({"do": "tell"}, timeout_s=30)
    with pytest.raises(WorkerError, match="it cannot"):
        worker.ask({"do": "fail"}, timeout_s=30)
    assert worker.ask({"do": "tell"}, timeout_s=30) == before


@pytest.mark.parametrize(
    ("what", "said", "limit_s"),
    [
        ("die", "died of signal 11", 30),
        ("leave", "exit code 3", 30),
        ("hang", "no answer within", 0.5),
    ],
)
def test_after_a_death_there_is_another(worker, what, said, limit_s):
    before = worker.ask({"do": "tell"}, timeout_s=30)
    with pytest.raises(WorkerError, match=said):
        worker.ask({"do": what}, timeout_s=limit_s)
    assert worker.ask({"do": "tell"}, timeout_s=30)["pid"] != before["pid"]


def test_not_for_ever(worker):
    for _ in range(3):
        with pytest.raises(WorkerError, match="signal"):
            worker.ask({"do": "die"}, timeout_s=30)
    with pytest.raises(WorkerError, match="too often"):
        worker.ask({"do": "tell"}, timeout_s=30)
