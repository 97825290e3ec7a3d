"""A net is carried to another process as the user holds it: functions, closures, classes of a script, notebook cells."""

import importlib
import linecache
import subprocess
import sys
import textwrap
import threading
import types
from pathlib import Path

import pytest

ms = pytest.importorskip("mindspore", reason="needs MindSpore")

import custom_ops  # noqa: E402
from ms_fusion.capture.front import explain  # noqa: E402
from ms_fusion.capture.parcel import NotCarriedError, pack, unpack  # noqa: E402
from tests import nets  # noqa: E402

pytestmark = pytest.mark.mindspore

REPOSITORY = Path(__file__).parents[3]

SCRIPT = """
import numpy as np
import mindspore as ms
from mindspore import Tensor, nn, ops

class Net(nn.Cell):
    def __init__(self):
        super().__init__()
        self.dense = nn.Dense(16, 16)
        self.bias = ms.Parameter(Tensor(np.full(16, 5.0), ms.float32), name="shift")

    def construct(self, x):
        return ops.add(ops.mul(self.dense(x), 2.0), self.bias)

net = Net()
net.bias.set_data(Tensor(np.full(16, 7.0), ms.float32))
optimizer = nn.Adam(net.trainable_params(), 1e-3)

def forward(x, y):
    return ops.mean(ops.square(net(x) - y))

gradients = ms.value_and_grad(forward, None, optimizer.parameters)

def step(x, y):
    loss, found = gradients(x, y)
    optimizer(found)
    return loss

@ms.jit
def decorated(x, y):
    loss, found = gradients(x, y)
    optimizer(found)
    return loss

halve = ops.MultitypeFuncGraph("halve")

@halve.register("Tensor", "Tensor")
def halve_one(share, x):
    return ops.add(ops.mul(x, share), 1.0)

def overloaded(x, y):
    return ops.HyperMap()(ops.partial(halve, y), (x, net(x)))

def closure():
    inner, scale = Net(), 3.0
    def scaled(x, y):
        return ops.add(ops.mul(inner(x), scale), y)
    return scaled

def table():
    return {"Cell": net, "step": step, "decorated": decorated, "closure": closure(), "overloaded": overloaded}
"""

ASK = """
def main():
    import sys
    import ms_fusion as mf
    from ms_fusion.capture.parcel import pack
    x = Tensor(np.random.randn(8, 16), ms.float32)
    before = net.dense.weight.asnumpy().copy()
    name = sys.argv[1]
    ledger = mf.explain(table()[name], *((x,) if name == "Cell" else (x, x)), preset="basic", measure=False)
    assert np.array_equal(net.dense.weight.asnumpy(), before)
    print([entry.inputs for entry in ledger.kernels[0].accuracy], [n for n in ledger.notes if "this process" in n])
"""


@pytest.mark.parametrize("name", ["Cell", "step", "decorated", "closure", "overloaded"])
@pytest.mark.parametrize("home", ["script", "module"])
def test_what_a_script_holds_is_looked_at_in_a_child(name, home, tmp_path):
    (tmp_path / "train.py").write_text(SCRIPT + ASK + '\nif __name__ == "__main__":\n    main()\n')
    command = {"script": ["train.py"], "module": ["-c", "import train; train.main()"]}[home]
    told = subprocess.run(
        [sys.executable, *command, name],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
    )
    assert told.stdout.split("\n")[-2:] == ["['captured', 'seeded', 'edges'] []", ""], told.stderr


def packed_step(name, text, place):
    """The step of a script that is imported by this name, packed."""
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
    """There the gradient is a compiled function, with functions in C++ among its globals."""
    import mindspore

    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    assert packed_step("user_graph", SCRIPT, tmp_path)


def test_the_nets_that_globals_hold_go_with_their_weights(tmp_path):
    content = packed_step("user_train", SCRIPT, tmp_path)
    (tmp_path / "net.parcel").write_bytes(content)
    (tmp_path / "user_train.py").unlink()
    code = textwrap.dedent(
        """
        from pathlib import Path
        from ms_fusion.capture.parcel import unpack
        step, _ = unpack(Path("net.parcel").read_bytes())
        names = step.__globals__
        bias = names["net"].bias
        print(any(item is bias for item in names["optimizer"].parameters), bias.asnumpy()[0])
        """
    )
    told = subprocess.run(
        [sys.executable, "-c", code],
        cwd=tmp_path,
        env={"PATH": "/usr/bin:/bin", "HOME": str(tmp_path), "PYTHONPATH": str(REPOSITORY)},
        capture_output=True,
        text=True,
    )
    assert told.stdout.split() == ["True", "7.0"], told.stderr


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


def test_a_net_that_holds_a_lock_is_looked_at_here_and_the_ledger_says_so():
    net = nets.MyNet()
    net.lock = threading.Lock()
    with pytest.raises(NotCarriedError, match=r"_thread\.lock"):
        pack(net, ())
    ledger = explain(net, nets.floats(8, 8), preset="basic", measure=False)
    assert any("in this process" in note and "_thread.lock" in note for note in ledger.notes)
    assert [entry.inputs for entry in ledger.kernels[0].accuracy] == ["seeded", "edges"]
