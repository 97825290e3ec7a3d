"""`ms-fusion ascendc`: what is printed and returned for right, wrong and impossible kernels."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from ms_fusion.cli.ascendc import parse_tiling
from ms_fusion.cli.main import run
from tbe_impl import environment
from tbe_impl.ascendc import native_build
from tbe_impl.errors import InputError
from tests.cases import cases

PROGRAMS = Path(__file__).resolve().parents[2] / "programs" / "ascendc"
SUM = str(PROGRAMS / "sum_tiles.cpp")
ARRAYS = ["--input", "5000:float32", "--input", "5000:float32", "--output", "5000:float32"]
TILING = ["--tiling", "length=5000,tile=512", "--blocks", "3"]


def test_a_right_kernel_ends_with_0(capfd, tmp_path):
    arguments = ["--check", "x0 + x1", "--save", str(tmp_path / "out"), "--seed", "7"]
    assert run(["ascendc", "run", SUM, *ARRAYS, *TILING, *arguments]) == 0
    printed = capfd.readouterr().out
    assert "3 cores of Ascend910B1" in printed
    assert "z agrees with its formula" in printed
    assert "no errors, no warnings" in printed
    assert "zQueue" in printed
    saved = np.load(tmp_path / "out" / "z.npy")
    random = [
        np.random.default_rng((7, number)).standard_normal(5000, np.float32) for number in (0, 1)
    ]
    np.testing.assert_array_equal(saved, random[0] + random[1])


def test_a_wrong_formula_ends_with_1(capfd):
    assert run(["ascendc", "run", SUM, *ARRAYS, *TILING, "--check", "x0 - x1"]) == 1
    assert "differs from its formula" in capfd.readouterr().out


def test_a_fault_ends_with_1_and_is_told_as_json(capfd):
    arguments = [*ARRAYS, "--tiling", "length=5000,tile=99000", "--blocks", "1", "--json"]
    assert run(["ascendc", "run", SUM, *arguments]) == 1
    found = json.loads(capfd.readouterr().out)
    assert found["exit_code"] == 1
    (fault,) = [one for one in found["findings"] if one["severity"] == "error"]
    assert fault["kind"] == "on_chip_overflow"
    assert fault["file"] == SUM
    assert "InitBuffer" in Path(SUM).read_text().splitlines()[fault["line"] - 1]


def test_files_are_inputs_and_json_is_tiling_data(capfd, tmp_path):
    x = np.arange(64, dtype=np.float32)
    np.save(tmp_path / "x.npy", x)
    (tmp_path / "tiling.json").write_text(json.dumps({"length": 64, "tile": 32}))
    arguments = ["--input", str(tmp_path / "x.npy"), "--input", str(tmp_path / "x.npy")]
    arguments += ["--output", "64:float32", "--tiling", str(tmp_path / "tiling.json")]
    assert run(["ascendc", "run", SUM, *arguments, "--blocks", "1", "--check", "2 * x"]) == 0
    assert "63" in capfd.readouterr().out


def test_a_host_file_sets_cores_and_tiling(capfd):
    arguments = [str(PROGRAMS / "axpb.cpp"), "--host", str(PROGRAMS / "axpb_host.cpp")]
    arguments += ["--input", "32x48:float32", "--output", "32x48:float32", "--attr", "alpha=-2"]
    arguments += ["--attr", "bias=1,0.5", "--check", "alpha * x0 + 0.5"]
    assert run(["ascendc", "run", *arguments]) == 0
    assert "y agrees with its formula" in capfd.readouterr().out


def test_what_does_not_compile_ends_with_2_and_its_line(capfd, tmp_path):
    text = Path(SUM).read_text().replace("Add(z, x, y, count);", "AddTwice(z, x, y, count);")
    (tmp_path / "wrong.cpp").write_text(text)
    assert run(["ascendc", "run", str(tmp_path / "wrong.cpp"), *ARRAYS, *TILING]) == 2
    told = capfd.readouterr().err
    line = 1 + text[: text.index("AddTwice")].count("\n")
    assert f"wrong.cpp:{line}" in told and "AddTwice is missing" in told
    assert "ms-fusion ascendc apis" in told


@cases(
    "arguments, message",
    [
        (["missing.cpp", *ARRAYS], "no such file"),
        ([SUM, *ARRAYS[:4]], "the kernel has no output"),
        ([SUM, *ARRAYS[2:], *TILING], "5 pointer parameters"),
        ([SUM, *ARRAYS, "--tiling", "length"], "this is not tiling data"),
        ([SUM, *ARRAYS, "--tiling", "length=1,width=2"], "has no field width"),
        (
            [SUM, *ARRAYS, "--tiling", "missing.json"],
            "missing.json: the file cannot be read: No such",
        ),
        ([SUM, *ARRAYS], "reads the tiling structure SumTiling"),
        (
            [str(PROGRAMS / "axpb.cpp"), *ARRAYS[2:]],
            "reads the tiling field partLength; expected its value. Give all fields: --tiling",
        ),
        ([SUM, *ARRAYS, "--soc", "Ascend1"], "unknown chip"),
        ([SUM, *ARRAYS, "--arg", "n"], "not of the form NAME=VALUE"),
        ([SUM, *ARRAYS, "--arg", "n=1"], "no scalar parameter n"),
        ([SUM, *ARRAYS, "--function", "other"], "no kernel function other"),
        ([SUM, *ARRAYS, "--include", "nowhere"], "no such directory"),
        ([SUM, *ARRAYS, *TILING, "--define", "1X"], "the form NAME or NAME=VALUE"),
        ([SUM, *ARRAYS, *TILING, "--check", "x9"], "--check: the formula names x9"),
        ([SUM, *ARRAYS, *TILING, "--check", "x0 +"], "--check: this is not a formula"),
        ([SUM, *ARRAYS, "--input", "axb:float32"], "--input axb"),
    ],
)
def test_bad_input_ends_with_2(capfd, arguments, message):
    assert run(["ascendc", "run", *arguments]) == 2
    assert message in capfd.readouterr().err


def test_a_tiling_file_that_is_no_json_is_named(capfd, tmp_path):
    path = tmp_path / "tiling.json"
    path.write_text('{"length": 5000,')
    assert run(["ascendc", "run", SUM, *ARRAYS, "--tiling", str(path)]) == 2
    assert f"--tiling {path}: the file is not JSON; got Expecting" in capfd.readouterr().err


def test_without_a_compiler_the_install_line_is_told(capfd, monkeypatch, tmp_path):
    monkeypatch.setenv("PATH", str(tmp_path))
    monkeypatch.setenv(environment.COMPILER.name, "")
    monkeypatch.setattr(native_build.importlib.util, "find_spec", lambda _: None)
    native_build._find.cache_clear()
    assert run(["ascendc", "run", SUM, *ARRAYS, *TILING]) == 2
    assert "pip install ziglang" in capfd.readouterr().err
    native_build._find.cache_clear()


def test_the_names_of_the_model_are_listed(capfd):
    assert run(["ascendc", "apis"]) == 0
    printed = capfd.readouterr().out
    for name in (
        "DataCopyPad",
        "TQue",
        "ReduceSum",
        "SoftMax",
        "Matmul",
        "GET_TILING_DATA",
        "Cast",
    ):
        assert name in printed.replace("\n", " ")
    assert run(["ascendc", "apis", "--json"]) == 0
    assert "Add" in json.loads(capfd.readouterr().out)["elementwise.h"]


def test_lists_and_several_options_are_joined():
    assert parse_tiling(["a=1,b=2,3", "c=4"]) == {"a": "1", "b": "2,3", "c": "4"}
    with pytest.raises(InputError, match="this is not tiling data"):
        parse_tiling([""])
