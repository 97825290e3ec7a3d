"""Each of these errors names object, place, expectation, actual value, and remedy."""

from __future__ import annotations

import errno
import shutil
from collections import namedtuple
from collections.abc import Callable
from pathlib import Path
from typing import Any

import numpy as np
import onnx
import pytest
from onnx import TensorProto, helper, numpy_helper

import custom_ops
import ms_fusion as mf
from custom_ops.core.registry import formula, register_operator
from ms_fusion.capture.explain_net import explain_target
from ms_fusion.cli import doctor
from ms_fusion.cli.main import run
from ms_fusion.mindspore.flags.preset_table import check_preset
from ms_fusion.readers.onnx_file import open_model
from tbe_impl import load_operator
from tbe_impl.errors import FusionError, InputError, MissingError
from tbe_impl.runtime import compiler
from tests import nets
from tests.cases import cases
from tests.ms_fusion.report.ledgers import transformer_ledger
from tests.trials.operators import described


def refused(call: Callable[[], Any], **parts: str) -> FusionError:
    """The error of a call, checked for these parts and all five elements."""
    with pytest.raises(FusionError) as caught:
        call()
    error = caught.value
    for name in ("what", "place", "expected", "got", "remedy"):
        said = getattr(error, name)
        assert said and "\n" not in said, (name, error)
        assert parts.get(name, "") in said, (name, error)
    return error


@pytest.mark.mindspore
@cases(
    "inputs, place, got",
    [
        ((np.ones((4, 8), np.float32),), "input 0", "numpy.ndarray of float32 (4, 8)"),
        (("tensor", [1, np.float16(2)]), "input 1, 1", "numpy.float16 of float16 ()"),
    ],
    ids=lambda row: row[1],
)
@cases("call", ["explain", "check", "tune"])
def test_arrays_of_numpy_are_no_tensors(
    call: str, inputs: tuple[Any, ...], place: str, got: str
) -> None:
    given = [nets.floats(4, 8) if isinstance(one, str) else one for one in inputs]
    refused(
        lambda: getattr(mf, call)(nets.MyNet(), *given),
        place=place,
        expected="Tensor",
        got=got,
        remedy="mindspore.Tensor(",
    )


def test_weights_that_lie_elsewhere(tmp_path: Path) -> None:
    weight = numpy_helper.from_array(np.ones(512, np.float32), "w")
    value = helper.make_tensor_value_info("x", TensorProto.FLOAT, [512])
    graph = helper.make_graph(
        [helper.make_node("Add", ["x", "w"], ["y"])],
        "g",
        [value],
        [helper.make_tensor_value_info("y", TensorProto.FLOAT, [512])],
        [weight],
    )
    model = helper.make_model(graph, opset_imports=[helper.make_opsetid("", 17)], ir_version=9)
    file = tmp_path / "model.onnx"
    onnx.save(model, file, save_as_external_data=True, location="weights.bin", size_threshold=0)
    open_model(file)
    (tmp_path / "weights.bin").unlink()
    refused(
        lambda: open_model(file),
        place=str(file),
        expected="weights.bin beside the model",
        remedy="Put weights.bin beside the model",
    )


Usage = namedtuple("Usage", "total used free")


def test_a_full_disk_is_not_one_without_execution(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path / "cache"))
    assert doctor.check_cache().status == "ok"
    monkeypatch.setattr(shutil, "disk_usage", lambda place: Usage(1 << 30, 1 << 30, 4096))
    found = doctor.check_cache()
    assert (
        found.status == "warning"
        and "is full; expected at least 16777216 bytes free, got 4096" in found.what
    )
    assert (
        found.remedy
        == "Free some space there, or set MS_FUSION_CACHE_DIR to a directory on another disk."
    )


@cases(
    "what, remedy",
    [
        ("is mounted noexec", "not mounted noexec."),
        ("cannot be written", "a directory of your own."),
    ],
)
def test_other_caches_have_remedies_of_their_own(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, what: str, remedy: str
) -> None:
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path / "cache"))
    with monkeypatch.context() as patch:
        patch.setattr("tbe_impl.runtime.machine.is_noexec", lambda place: "noexec" in what)
        patch.setattr("tbe_impl.runtime.store_directory._can_write", lambda root: "noexec" in what)
        found = doctor.check_cache()
    assert what in found.what and found.remedy.endswith(remedy)
    assert "noexec" in found.remedy or "noexec" not in what


def test_a_check_that_finds_no_space_says_where_it_is_needed() -> None:
    def check_something() -> doctor.Check:
        raise OSError(errno.ENOSPC, "No space left on device")

    (found,) = doctor.diagnose([check_something]).checks
    assert found.status == "broken" and found.remedy.startswith("Free some space in ")


@cases(
    "keywords",
    [{"flags": 5}, {"flags": ["--opt_level=2"]}, {"flags": True}, {"flags": b"--opt_level=2"}],
    ids=str,
)
@cases(
    "call",
    [
        mf.enable,
        lambda **asked: mf.patch(None, **asked),
        lambda **asked: mf.fusion(**asked).__enter__(),
    ],
    ids=["enable", "patch", "fusion"],
)
def test_flags_are_a_text(call: Callable[..., Any], keywords: dict[str, Any]) -> None:
    refused(
        lambda: call(**keywords),
        place="flags",
        expected="--opt_level=2",
        got=repr(keywords["flags"]),
    )


@cases("preset", [5, ["auto"], None], ids=str)
def test_presets_are_names(preset: Any) -> None:
    with pytest.raises(InputError, match="there is no such preset; expected auto or"):
        check_preset(preset)


@register_operator("Scaled30")
class Scaled:
    """x · factor."""

    @formula
    def forward(x: Any, *, factor: float = 2.0) -> Any:
        return x * factor


@cases("given, got", [((3.0,), "float"), ((np.ones(4), 1), "ndarray, int")])
def test_attributes_of_an_operator_are_named(given: tuple[Any, ...], got: str) -> None:
    refused(
        lambda: custom_ops.get("Scaled30")(*given),
        what="Scaled30 takes its attributes by name",
        place="test_30",
        expected="Scaled30(factor=…)",
        got=f"{got} without a name",
    )


def test_a_ledger_is_one_line_to_the_interpreter() -> None:
    ledger = transformer_ledger()
    assert repr(ledger).startswith(
        f"Ledger({ledger.title!r}, {len(ledger.kernels)} fused kernels, "
    )
    for one in (ledger, ledger.before, ledger.kernels[0]):
        assert len(repr(one)) < 4000 and "Node(" not in repr(one)


@cases(
    "chosen, remedy",
    [
        ("{cc} -O1", "Set MS_FUSION_CC={cc};"),
        ("ccache-of-30 gcc", None),
        ("no-such-compiler", None),
    ],
)
def test_a_compiler_is_named_without_options(
    monkeypatch: pytest.MonkeyPatch, chosen: str, remedy: str | None
) -> None:
    cc = compiler.find_compiler().command[0]
    value = chosen.format(cc=cc)
    with monkeypatch.context() as patch:
        patch.setenv("MS_FUSION_CC", value)
        with pytest.raises(MissingError) as caught:
            compiler.find_compiler()
        if remedy is None:
            assert caught.value.what == f"the C compiler {value} is not there"
            return
        refused(
            compiler.find_compiler,
            place="MS_FUSION_CC",
            expected="name or path",
            got=repr(value),
            remedy=remedy.format(cc=cc),
        )
        found = doctor.check_compiler()
        assert value in found.what and remedy.format(cc=cc) in found.remedy


SLIPS = [
    (
        "x['shape'][axis]",
        (2, 3),
        "IndexError: tuple index out of range",
        "Change the arguments, or the line",
    ),
    (
        "x['shape'].rank",
        (2, 3),
        "AttributeError: 'tuple' object has no attribute 'rank'",
        "Change the arguments",
    ),
    ("8 // x['shape'][0]", (0, 3), "ZeroDivisionError: integer", "Change the arguments"),
    ("x['size']", (2, 3), "KeyError: 'size'", "Change the arguments"),
    ("len(axis)", (2, 3), "TypeError: object of type 'int' has no len()", "Change the arguments"),
    (
        "shape_util.squeeze_shape(axis)",
        (2, 3),
        "TypeError: 'int' object is not iterable",
        "if both are right, report tbe_impl/compat/shape_util.py:",
    ),
]


def slip_file(tmp_path: Path, statement: str) -> Path:
    file = tmp_path / "slip.py"
    file.write_text(
        "from tbe.common.utils import shape_util\n\n"
        f"def slip(x, y, axis=0, kernel_name='slip'):\n    found = {statement}\n"
    )
    return file


@cases("statement, shape, what, remedy", SLIPS, ids=lambda row: row[0])
def test_slips_of_operator_files(
    tmp_path: Path,
    statement: str,
    shape: tuple[int, ...],
    what: str,
    remedy: str,
    capfd: pytest.CaptureFixture[str],
) -> None:
    file = slip_file(tmp_path, statement)
    x = described(shape)
    error = refused(
        lambda: load_operator(file).build(x, x, axis=5),
        what=f"slip fails: {what}",
        place=f"{file}:4",
        expected="arguments that the file is written for",
        got=f"x float16 {shape}, y float16 {shape}, axis=5, at `found = {statement}`",
        remedy=remedy,
    )
    capfd.readouterr()
    sizes = "x".join(map(str, shape))
    assert run(["tbe", "run", str(file), "--input", f"{sizes}:float16", "--attr", "axis=5"]) == 2
    out, err = capfd.readouterr()
    assert (out, err.count("\n")) == ("", 1) and error.what in err and "at `found" in err


def test_a_slip_while_a_file_is_imported(tmp_path: Path) -> None:
    file = tmp_path / "early.py"
    file.write_text("SIZES = (1, 2)\nLAST = SIZES[2]\n\ndef early(x, y, kernel_name):\n    pass\n")
    refused(
        lambda: load_operator(file),
        what="IndexError: tuple index",
        place=f"{file}:2",
        got="`LAST = SIZES[2]`",
    )


def test_long_arguments_are_cut(tmp_path: Path) -> None:
    file, x = slip_file(tmp_path, "x['size']"), described((2, 3))
    with pytest.raises(InputError) as caught:
        load_operator(file).build(x, x, axis=list(range(10000)))
    assert caught.value.got is not None and len(caught.value.got) < 400


MADE = """
from mindspore import nn

class Block(nn.Cell):
    def construct(self, x):
        return x * 2.0 + 1.0

def make():
    return Block()

def step(x):
    return x * 2.0 + 1.0
"""


@pytest.mark.mindspore
@cases("name, title", [("make", "Block"), ("Block", "Block"), ("step", "step")], quick=1)
def test_a_report_bears_the_name_of_the_net(tmp_path: Path, name: str, title: str) -> None:
    file = tmp_path / "made.py"
    file.write_text(MADE)
    ledger = explain_target(f"{file}:{name}", ["4x8"], measure=False, accuracy=False)
    assert ledger.title == title
