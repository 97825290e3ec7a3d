"""Nets are sent to another process: functions, closures, script classes, notebook cells."""

import importlib
import linecache
import subprocess
import sys
import threading
import types
from pathlib import Path

import pytest

ms = pytest.importorskip("mindspore", reason="needs MindSpore")

import custom_ops  # noqa: E402
from ms_fusion.capture.explain_net import explain  # noqa: E402
from ms_fusion.capture.net_serialization import NotSerializableError, pack, unpack  # noqa: E402
from tests import nets  # noqa: E402
from tests.cases import FULL, cases  # noqa: E402
from tests.fork_server import run_program  # noqa: E402

pytestmark = pytest.mark.mindspore

REPOSITORY = Path(__file__).parents[3]

KINDS = ("Cell", "step", "decorated", "closure", "overloaded")
SCRIPT = (REPOSITORY / "tests" / "programs" / "capture" / "user_script.py").read_text("utf-8")


@FULL
@cases("home", ["script", "module"], per_item=5)
@cases("name", KINDS)
def test_what_a_script_holds_is_looked_at_in_a_child(name, home, tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT)
    if home == "script":
        program, variables = tmp_path / "train.py", environment(tmp_path)
        said = run_program(program, name, cwd=tmp_path, environment=variables).output
    else:
        command = [sys.executable, "-c", "import train; train.main()", name]
        told = subprocess.run(
            command, cwd=tmp_path, env=environment(tmp_path), capture_output=True, text=True
        )
        said = told.stdout or told.stderr
    assert "['captured', 'seeded', 'edges'] []" in said.splitlines(), said


def environment(place):
    """A process that can import only the repository."""
    return {"PATH": "/usr/bin:/bin", "HOME": str(place), "PYTHONPATH": str(REPOSITORY)}


@cases("name", KINDS)
def test_what_a_script_holds_can_be_carried(name, tmp_path):
    script = f"user_with_{name}"
    (tmp_path / f"{script}.py").write_text(SCRIPT)
    with pytest.MonkeyPatch.context() as patch:
        patch.syspath_prepend(tmp_path)
        held = importlib.import_module(script).table()[name]
        content = pack(held, ())
        sys.modules.pop(script)
        if name != "Cell":  # its class is imported; functions are serialized whole
            sys.path.remove(str(tmp_path))
        carried, inputs = unpack(content)
        sys.modules.pop(script, None)
    assert inputs == () and callable(carried) and carried is not held
    assert type(carried).__name__ == type(held).__name__


def packed_step(name, text, place):
    """The packed step of a script that is imported by this name."""
    (place / f"{name}.py").write_text(text)
    sys.path.insert(0, str(place))
    try:
        return pack(importlib.import_module(name).step, ())
    finally:
        sys.path.remove(str(place))
        sys.modules.pop(name, None)


def test_an_optimizer_of_ours_is_carried_by_its_name(tmp_path):
    """Whether the package is installed or lies beside the script."""
    text = SCRIPT.replace("nn.Adam", "__import__('custom_ops').Adam")
    step, _ = unpack(packed_step("user_ours", text, tmp_path))
    assert type(step.__globals__["optimizer"]) is custom_ops.Adam


def test_the_step_of_a_script_in_graph_mode_can_be_carried(tmp_path):
    """There the gradient is a compiled function, with C++ functions among its globals."""
    import mindspore

    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    assert packed_step("user_graph", SCRIPT, tmp_path)


def test_the_nets_that_globals_hold_go_with_their_weights(tmp_path):
    content = packed_step("user_train", SCRIPT, tmp_path)
    (tmp_path / "net.parcel").write_bytes(content)
    (tmp_path / "user_train.py").unlink()
    program = REPOSITORY / "tests" / "programs" / "capture" / "unpack_a_step.py"
    told = run_program(program, cwd=tmp_path, environment=environment(tmp_path))
    assert told.output.splitlines()[0] == "True 7.0", told.output


def test_a_function_of_a_notebook_takes_its_source_text_along(monkeypatch):
    text = "from mindspore import ops\ndef cell(x):\n    return ops.add(ops.mul(x, 2.0), 1.0)\n"
    name = "/nowhere/ipykernel_1/123.py"
    monkeypatch.setitem(linecache.cache, name, (len(text), None, text.splitlines(True), name))
    notebook = types.ModuleType("__main__")
    monkeypatch.setitem(sys.modules, "__main__", notebook)
    exec(compile(text, name, "exec"), vars(notebook))  # noqa: S102
    ledger = explain(notebook.cell, nets.floats(8, 8), preset="basic", measure=False)
    assert ledger.kernels[0].accuracy[0].inputs == "captured"
    assert [source.code for source in ledger.kernels[0].sources] != []


def net_with_a_lock():
    net = nets.MyNet()
    net.lock = threading.Lock()
    return net


def test_a_net_that_holds_a_lock_is_not_carried():
    with pytest.raises(NotSerializableError, match=r"_thread\.lock"):
        pack(net_with_a_lock(), ())


@FULL
def test_a_net_that_is_not_carried_is_looked_at_here():
    """The ledger records it."""
    ledger = explain(net_with_a_lock(), nets.floats(8, 8), preset="basic", measure=False)
    assert any("in this process" in note and "_thread.lock" in note for note in ledger.notes)
    assert [entry.inputs for entry in ledger.kernels[0].accuracy] == ["seeded", "edges"]
