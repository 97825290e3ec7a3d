"""``FILE.py:NAME`` and input texts: parsing, and a one-sentence error for each invalid one."""

from __future__ import annotations

import sys
from pathlib import Path

import numpy as np
import pytest

from ms_fusion import target as target_module
from ms_fusion.target import InputSpec, load_target, parse_input, split_target
from tbe_impl.errors import InputError, MissingError
from tests.cases import cases


@cases(
    "text, spec",
    [
        ("64x128:float32", InputSpec((64, 128), "float32")),
        ("64x128", InputSpec((64, 128), "float32")),
        ("7:int64", InputSpec((7,), "int64")),
        (":int32", InputSpec((), "int32")),
        ("0x4:bfloat16", InputSpec((0, 4), "bfloat16")),
        ("1x1x1x1:bool", InputSpec((1, 1, 1, 1), "bool")),
    ],
)
def test_an_input_text_is_a_shape_and_a_dtype(text: str, spec: InputSpec) -> None:
    assert parse_input(text) == spec


@cases(
    "text, says",
    [
        ("", "not a shape"),
        (":", "unknown dtype"),
        ("64,128:float32", "not a shape"),
        ("-1x4:float32", "not a shape"),
        ("4x:float32", "not a shape"),
        ("٣x4", "not a shape"),
        ("64x128:float31", "Did you mean float32"),
        ("64x128:object", "unknown dtype"),
        ("4:int4", "unknown dtype"),
        ("1x1x1x1x1x1x1x1x1", "too many dimensions"),
        ("9999999999999", "too large a size"),
        ("999999x999999:float64", "too large"),
        ("absent.npy", "no such file"),
        ("x" * 10_000, "not a shape"),
    ],
)
def test_a_wrong_input_text_is_one_sentence(text: str, says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        parse_input(text)
    assert "\n" not in str(caught.value)
    assert "--input" in str(caught.value)


@cases(
    "text, says",
    [
        ("", "does not name a net"),
        ("model.py", "does not name a net"),
        ("model.py:", "does not name a net"),
        (":Net", "does not name a net"),
        ("model.py:a b", "does not name a net"),
        ("absent.py:Net", "no such file"),
        (".:Net", "this is a directory"),
        ("notes.txt:Net", "not a Python file"),
    ],
)
def test_a_wrong_target_text_is_one_sentence(
    text: str, says: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.chdir(tmp_path)
    Path("notes.txt").write_text("")
    Path("model.py").write_text("")
    with pytest.raises(InputError, match=says):
        split_target(text)


def test_without_mindspore_the_install_line_is_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "model.py").write_text("")
    monkeypatch.setattr(target_module.importlib.util, "find_spec", lambda name: None)
    with pytest.raises(MissingError, match=r"pip install 'ms_fusion\[cpu\]'"):
        load_target(f"{tmp_path / 'model.py'}:Net")


MODEL = """
import neighbour
from mindspore import nn, ops, jit

class Net(nn.Cell):
    def construct(self, x, y):
        return ops.mul(x, y)

class Sized(nn.Cell):
    def __init__(self, width, depth=2):
        super().__init__()

class Broken(nn.Cell):
    def __init__(self):
        raise RuntimeError("no weights\\nhere")

class Plain:
    pass

def build(width=4):
    return Net()

def builds_nothing():
    return 3

def step(x):
    return x * 2.0

@jit
def compiled():
    return 1

net = Net()
number = 5
"""


@pytest.fixture
def model(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> str:
    (tmp_path / "own_model.py").write_text(MODEL)
    (tmp_path / "neighbour.py").write_text("")
    monkeypatch.setattr(sys, "path", list(sys.path))
    for name in ("own_model", "neighbour"):
        sys.modules.pop(name, None)
    return str(tmp_path / "own_model.py")


@pytest.mark.mindspore
@cases(
    "name, specs, kind",
    [
        ("Net", ("4x4:float32", "4x4:float32"), "Net"),
        ("net", ("4x4:float32", "4x4:float32"), "Net"),
        ("build", ("4x4:float32", "4x4:float32"), "Net"),
        ("step", ("4:float16",), "function"),
        ("compiled", (), "function"),
    ],
)
def test_what_a_name_may_be(model: str, name: str, specs: tuple[str, ...], kind: str) -> None:
    net, inputs = load_target(f"{model}:{name}", inputs=specs)
    assert type(net).__name__ == kind
    assert len(inputs) == len(specs)


@pytest.mark.mindspore
def test_nothing_is_written_beside_the_file(model: str) -> None:
    before = sorted(Path(model).parent.rglob("*"))
    load_target(f"{model}:Net", inputs=("4", "4"))
    assert sorted(Path(model).parent.rglob("*")) == before
    assert sys.dont_write_bytecode == (sys.flags.dont_write_bytecode == 1)


@pytest.mark.mindspore
@cases(
    "name, specs, says",
    [
        ("Nat", (), "the file defines no Nat. Did you mean Net?"),
        ("Sized", ("4",), r"constructor needs arguments \(width\).*function without arguments"),
        ("Broken", (), "fails when it is constructed: RuntimeError: no weights"),
        ("Plain", (), "not a mindspore.nn.Cell"),
        ("builds_nothing", (), "returns no net"),
        ("number", (), "this is not a net"),
        ("Net", ("4",), r"does not take these inputs; expected 2 \(x, y\), got 1"),
        ("step", (), r"does not take these inputs; expected 1 \(x\), got 0"),
    ],
)
def test_a_name_that_is_no_net(model: str, name: str, specs: tuple[str, ...], says: str) -> None:
    with pytest.raises(InputError, match=says) as caught:
        load_target(f"{model}:{name}", inputs=specs)
    assert "\n" not in str(caught.value)


@pytest.mark.mindspore
@cases(
    "text, says",
    [
        ("import no_such_module_anywhere", r":1: .*No module named 'no_such_module_anywhere'"),
        ("x = 1\nx = = 2", r":2: .*SyntaxError"),
        ("raise SystemExit(3)", "SystemExit: 3"),
        ("\n\n1 / 0", r":3: .*ZeroDivisionError"),
    ],
)
def test_a_file_that_fails_names_its_line(tmp_path: Path, text: str, says: str) -> None:
    path = tmp_path / "own_failing.py"
    path.write_text(text)
    with pytest.raises(InputError, match=says):
        load_target(f"{path}:Net")
    assert "own_failing" not in sys.modules


@pytest.mark.mindspore
def test_a_file_may_be_called_like_another_module(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(sys, "path", list(sys.path))
    json = sys.modules["json"]
    path = tmp_path / "json.py"
    path.write_text("def step(x):\n    return x\n")
    load_target(f"{path}:step", inputs=("4",))
    assert sys.modules["json"] is json


@pytest.mark.mindspore
def test_inputs_have_their_shapes_and_dtypes(
    model: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    array = np.arange(6, dtype=np.int16).reshape(2, 3)
    np.save(tmp_path / "array.npy", array)
    _, (x, y) = load_target(f"{model}:Net", inputs=(str(tmp_path / "array.npy"), ":bfloat16"))
    assert np.array_equal(x.asnumpy(), array)
    assert (x.dtype.__str__(), y.dtype.__str__(), y.shape) == ("Int16", "BFloat16", ())
    _, (first, second) = load_target(f"{model}:Net", inputs=("8x8", "8x8"))
    _, (again, _) = load_target(f"{model}:Net", inputs=("8x8", "8x8"))
    assert np.array_equal(first.asnumpy(), again.asnumpy())
    assert not np.array_equal(first.asnumpy(), second.asnumpy())


@pytest.mark.mindspore
@cases("content", [b"", b"not an array", b"\x93NUMPY\x01\x00\x10\x00garbage"])
def test_a_damaged_array_file(model: str, tmp_path: Path, content: bytes) -> None:
    (tmp_path / "bad.npy").write_bytes(content)
    with pytest.raises(InputError, match="not an array"):
        load_target(f"{model}:Net", inputs=(str(tmp_path / "bad.npy"), "4"))


@pytest.mark.mindspore
def test_pickled_objects_are_never_loaded(model: str, tmp_path: Path) -> None:
    np.save(tmp_path / "objects.npy", np.array([{}], dtype=object), allow_pickle=True)
    with pytest.raises(InputError, match="not an array"):
        load_target(f"{model}:Net", inputs=(str(tmp_path / "objects.npy"), "4"))
