"""`ms-fusion tbe`: output, exit codes, and a one-sentence error for every wrong input.

A wrong input writes no file.
"""

from __future__ import annotations

import json
import shutil
import sys
import types
from collections.abc import Sequence
from pathlib import Path

import numpy as np
import pytest
from click.testing import CliRunner

from ms_fusion.cli import main, tbe_request
from ms_fusion.cli import tbe as cli_tbe
from tbe_impl.errors import InputError
from tests.cases import cases

pytestmark = pytest.mark.skipif(not shutil.which("cc"), reason="there is no C compiler")

HEAD = """
import te.lang.cce
from te import tvm
from te.utils.op_utils import *
from topi import generic

"""

SWISH = (
    HEAD
    + """
@check_op_params(REQUIRED_INPUT, REQUIRED_OUTPUT, OPTION_ATTR_FLOAT, KERNEL_NAME)
def swish(x, y, beta=1.0, kernel_name="swish"):
    check_dtype(x["dtype"], ("float16", "float32"), param_name="x")
    print("a word of the operator's own")
    data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
    with tvm.target.cce():
        res = te.lang.cce.{expression}
        sch = generic.auto_schedule(res)
    te.lang.cce.cce_build_code(sch, {{"name": kernel_name, "tensor_list": [data, res]}})
"""
)
RIGHT = (
    "vmul(data, te.lang.cce.vrec(te.lang.cce.vadds(te.lang.cce.vexp(te.lang.cce.vmuls(data, "
    "-beta)), 1)))"
)
HANDED = (
    "vexp(te.lang.cce.vmul(te.lang.cce.vadds(te.lang.cce.vexp(te.lang.cce.vmuls(data, -beta)), "
    "1.0), -1.0))"
)

OLDEST = (
    HEAD
    + """
def total(shape_x, shape_y, dtype, axis, kernel_name="total", need_build=False, need_print=False):
    x = tvm.placeholder(shape_x, name="x", dtype=dtype)
    y = tvm.placeholder(shape_y, name="y", dtype=dtype)
    with tvm.target.cce():
        res = te.lang.cce.sum(te.lang.cce.vadd(x, y), axis=axis)
        sch = generic.auto_schedule(res)
    if need_build:
        te.lang.cce.cce_build_code(sch, {"name": kernel_name, "tensor_list": [x, y, res]})
"""
)

DYNAMIC = """
from tbe import dsl, tvm
from tbe.common.register import register_operator
from tbe.common.utils import shape_util


@register_operator("Dynamic")
def dynamic(x, y, kernel_name="dynamic"):
    schedules, tensors = [], []
    for (given,) in dsl.classify([x], "elewise"):
        with dsl.compute():
            (shape,) = shape_util.variable_shape([given])
            data = tvm.placeholder(shape, x["dtype"], "data")
            res = dsl.vadds(dsl.vabs(data), 1.0)
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(res))
        tensors.append([data, res])
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
"""

TOO_LARGE = (
    HEAD.replace("topi import generic", "te.platform.cce_build import build_config")
    + """
def large(x, y, kernel_name="large"):
    data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
    res = te.lang.cce.vexp(data)
    sch = tvm.create_schedule(res.op)
    held = sch.cache_read(data, "local.UB", [res])
    with build_config:
        tvm.build(sch, [data, res], "cce", name=kernel_name)
"""
)

UNKNOWN = (
    HEAD
    + """
def odd(x, y, kernel_name="odd"):
    data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
    res = te.lang.cce.vsubs(data, 1)
    te.lang.cce.cce_build_code(generic.auto_schedule(res), {"tensor_list": [data, res]})
"""
)

FILES = {
    "dynamic.py": DYNAMIC,
    "swish.py": SWISH.format(expression=RIGHT),
    "handed.py": SWISH.format(expression=HANDED),
    "repaired.py": SWISH.format(
        expression=HANDED.replace("te.lang.cce.vmul(", "te.lang.cce.vmuls(")
    ),
    "total.py": OLDEST,
    "large.py": TOO_LARGE,
    "odd.py": UNKNOWN,
    "broken.py": "def op(x, y):\n    return (\n",
}
FORMULA = "x/(1+exp(-beta*x))"


@pytest.fixture(scope="module")
def compiled(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Kernels of this file, compiled once."""
    return tmp_path_factory.mktemp("cache")


@pytest.fixture(autouse=True)
def place(tmp_path: Path, compiled: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working directory with operators."""
    work = tmp_path / "work"
    work.mkdir()
    for name, text in FILES.items():
        (work / name).write_text(text)
    monkeypatch.chdir(work)
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(compiled))
    return work


def everything_in(directory: Path) -> list[Path]:
    return sorted(directory.rglob("*"))


def call(*arguments: str, capfd: pytest.CaptureFixture[str]) -> tuple[int, str]:
    code = main.run(["tbe", *arguments])
    return code, capfd.readouterr().out


SMALL = ("--input", "4x40:float16")
WRONG = [
    (["run", "absent.py:op", *SMALL], ["absent.py", "no such operator file"]),
    (["run", "."], ["directory"]),
    (["run", "swish.py:swich", *SMALL], ["swish.py", "swich"]),
    (["run", "swish.py", "--input", "4x4:float31"], ["Did you mean float32?"]),
    (
        ["run", "dynamic.py", "--input", "-1x40@4x41"],
        ["--input -1x40@4x41", "with 40 where they are known"],
    ),
    (["run", "dynamic.py", "--input", "-2:float32"], ["-2@3x4:float32"]),
    (["run", "swish.py", *SMALL, "--output", "4xx4"], ["--output 4xx4", "not a shape"]),
    (["run", "swish.py", "--input", "4x4:int32"], ["swish.py:", "int32", "float16"]),
    (["run", "swish.py", *SMALL, *SMALL], ["swish.py:", "expected 1 (x), got 2"]),
    (["run", "swish.py"], ["swish.py:", "no input for x"]),
    (["run", "swish.py", *SMALL, "--attr", "betta=2"], ["Did you mean beta?"]),
    (["run", "swish.py", *SMALL, "--attr", "beta=two"], ["swish.py:", "beta", "a number", "'two'"]),
    (["run", "swish.py", *SMALL, "--attr", "beta"], ["expected name=value"]),
    (["run", "swish.py", *SMALL, "--attr", "beta=1", "--attr", "beta=2"], ["given twice"]),
    (["run", "swish.py", *SMALL, "--soc", "Ascend911"], ["Ascend910"]),
    (["run", "swish.py", *SMALL, "--search-path", "nowhere"], ["nowhere"]),
    (["run", "swish.py", *SMALL, "--formula", "x*betta"], ["betta", "Did you mean beta?"]),
    (["run", "swish.py", *SMALL, "--formula", "__import__('os')"], ["--formula"]),
    (["run", "handed.py", *SMALL], ["handed.py:14", "vmuls"]),
    (["run", "total.py", *SMALL, *SMALL], ["total.py:8", "--attr axis="]),
    (["run", "large.py", "--input", "1024x1024:float32"], ["large.py:12", "local.UB"]),
    (["run", "odd.py", *SMALL], ["odd.py:10", "vsubs"]),
    (["run", "broken.py", *SMALL], ["broken.py", "SyntaxError"]),
    (["show", "absent.py"], ["absent.py"]),
    (["bench", "swish.py", *SMALL, "--loop", "0"], ["--loop"]),
    (["walk"], ["No such command 'walk'"]),
]


@cases("arguments, says", WRONG, ids=lambda row: " ".join(row[0])[:60])
def test_wrong_input_is_one_sentence_and_leaves_nothing(
    place: Path, arguments: list[str], says: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    before = everything_in(place)
    code = main.run(["tbe", *arguments])
    out, err = capfd.readouterr()
    err = err.replace("a word of the operator's own\n", "")
    assert (code, out) == (2, "")
    assert [text for text in says if text not in err] == [], err
    assert err.startswith("ms-fusion: ") and err.count("\n") == 1, err
    assert everything_in(place) == before


def test_a_run_says_what_went_in_and_what_came_out(
    place: Path, capfd: pytest.CaptureFixture[str]
) -> None:
    before = everything_in(place)
    code, out = call("run", "swish.py:swish", *SMALL, "--attr", "beta=1.5", capfd=capfd)
    assert code == 0
    rows = [line.split() for line in out.splitlines() if "float16" in line]
    assert [row[:4] for row in rows] == [
        ["in", "x", "4×40", "float16"],
        ["out", "y", "4×40", "float16"],
    ]
    assert "first call" in out and "warm call" in out and "swish.py" in out
    assert "\x1b" not in out and "a word of" not in out
    assert everything_in(place) == before


def test_a_check_compares_with_the_definition_and_with_a_formula(
    capfd: pytest.CaptureFixture[str],
) -> None:
    arguments = ("--attr", "beta=1.5", "--check", "--json", "--formula", FORMULA)
    code, out = call("run", "swish.py", *SMALL, *arguments, capfd=capfd)
    found = json.loads(out)
    assert (code, found["exit_code"]) == (0, 0)
    assert [item["against"] for item in found["differences"]] == ["definition", "formula"]
    assert all(item["within"] and item["max_ulp"] <= 1 for item in found["differences"])
    assert found["arrays"][1]["dtype"] == "float16" and found["backend"] == "cpu"


def test_a_text_that_computes_something_else_is_found(
    capfd: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """The circulating form, repaired so that it builds, is exp(−(1 + exp(−βx)))."""
    table = types.ModuleType("tbe_impl.ops.formulas")
    table.FORMULAS = {  # type: ignore[attr-defined]
        "swish": lambda x, beta=1.0: x / (1 + np.exp(-beta * x))
    }
    monkeypatch.setitem(sys.modules, "tbe_impl.ops.formulas", table)
    code, out = call("run", "repaired.py", *SMALL, "--check", capfd=capfd)
    assert code == 1
    assert "swish: y agrees with its definition" in out
    assert "swish: differs from its formula by at most" in out
    assert call("run", "swish.py", *SMALL, "--check", capfd=capfd)[0] == 0
    formula = ("--check", "--formula", "exp(-(1+exp(-beta*x)))")
    assert call("run", "repaired.py", *SMALL, *formula, capfd=capfd)[0] == 0


def test_the_oldest_style_is_called_with_shapes(capfd: pytest.CaptureFixture[str]) -> None:
    code, out = call(
        "run",
        "total.py",
        "--input",
        "4x40:float32",
        "--input",
        "4x40:float32",
        "--attr",
        "axis=1",
        "--check",
        "--formula",
        "sum(x+y, axis=1)",
        "--json",
        capfd=capfd,
    )
    found = json.loads(out)
    assert code == 0, found["differences"]
    assert [item["name"] for item in found["arrays"]] == ["x", "y", "output"]
    assert found["arrays"][2]["shape"] == [4]


def test_the_same_seed_gives_the_same_numbers(capfd: pytest.CaptureFixture[str]) -> None:
    def first(seed: str) -> list[float]:
        _, out = call("run", "swish.py", *SMALL, "--json", "--seed", seed, capfd=capfd)
        numbers: list[float] = json.loads(out)["arrays"][0]["first"]
        return numbers

    assert first("3") == first("3") != first("4")


def test_an_array_from_a_file(place: Path, capfd: pytest.CaptureFixture[str]) -> None:
    np.save(place / "x.npy", np.full((2, 8), np.nan, np.float32))
    code, out = call("run", "swish.py", "--input", "x.npy", "--check", "--json", capfd=capfd)
    arrays = json.loads(out)["arrays"]
    assert code == 0
    assert [(item["nan"], item["mean"], item["first"][0]) for item in arrays] == [
        (16, None, "nan")
    ] * 2


THRICE = """
from impl.util.mine import factor
from tbe import dsl, tvm

def thrice(x, y, kernel_name):
    from impl.util import late
    data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
    res = dsl.vmuls(data, factor() * late.one)
    with tvm.target.cce():
        sch = dsl.auto_schedule(res)
    dsl.build(sch, {"name": kernel_name, "tensor_list": [data, res]})
"""


@cases("folder", ["impl", "elsewhere"])
def test_helpers_of_a_tree_are_found_and_no_bytecode_is_left(
    place: Path, folder: str, capfd: pytest.CaptureFixture[str]
) -> None:
    tree = place / f"tree_{folder}"
    (tree / "impl" / "util").mkdir(parents=True)
    (tree / folder).mkdir(exist_ok=True)
    (tree / "impl" / "util" / "mine.py").write_text("def factor():\n    return 3.0\n")
    (tree / "impl" / "util" / "late.py").write_text("one = 1.0\n")
    (tree / folder / "thrice.py").write_text(THRICE)
    before = everything_in(place)
    options = [] if folder == "impl" else ["--search-path", tree.name]
    code, out = call(
        "run", f"{tree.name}/{folder}/thrice.py", *SMALL, *options, "--formula", "3*x", capfd=capfd
    )
    assert code == 0 and "agrees with its formula" in out
    assert everything_in(place) == before


def test_the_definition_can_compute(capfd: pytest.CaptureFixture[str]) -> None:
    _, out = call("run", "swish.py", *SMALL, "--backend", "numpy", "--json", capfd=capfd)
    assert json.loads(out)["backend"] == "numpy"


def test_show_prints_the_graph_the_loops_the_c_and_the_report(
    capfd: pytest.CaptureFixture[str],
) -> None:
    code, out = call("show", "swish.py", *SMALL, capfd=capfd)
    assert code == 0
    titles = [line for line in out.splitlines() if line.startswith("==== ")]
    assert titles == ["==== graph ====", "==== loops ====", "==== C ====", "==== report ===="]
    for text in (
        "vmuls(data, scalar=-1.0)",
        "for i0",
        "int k_swish(void **b",
        "local.UB at its fullest",
    ):
        assert text in out, text


@cases(
    "option, texts",
    [
        ("--ir", ("restrict i0 to begin..end:", "vector i0 in 0..")),
        (
            "--passes",
            ("-- vector-tails --", "+  rest:", "-- loop-fission where LOOP_FISSION is 1 --"),
        ),
    ],
)
def test_show_prints_the_loop_ir_on_request(
    option: str, texts: Sequence[str], capfd: pytest.CaptureFixture[str]
) -> None:
    code, out = call("show", "swish.py", *SMALL, option, capfd=capfd)
    assert code == 0 and "==== loop IR ====" in out
    assert [text for text in texts if text not in out] == []


def test_bench_gives_three_times(capfd: pytest.CaptureFixture[str]) -> None:
    code, out = call("bench", "swish.py", *SMALL, "--loop", "3", "--json", capfd=capfd)
    found = json.loads(out)
    assert code == 0 and found["bytes_moved"] == 2 * 4 * 40 * 2
    assert [(item["what"], item["calls"]) for item in found["timings"]] == [
        ("cpu", 3),
        ("numpy", 3),
        ("copy", 3),
    ]
    code, out = call("bench", "swish.py", *SMALL, "--loop", "3", capfd=capfd)
    assert "GB/s" in out and "of a copy" in out


@cases("file, more", [("dynamic.py", []), ("swish.py", ["--attr", "beta=2"])])
@cases("command", ["run", "bench"])
def test_sizes_that_the_operator_does_not_know(
    command: str, file: str, more: list[str], capfd: pytest.CaptureFixture[str]
) -> None:
    options = ["--check"] if command == "run" else ["--loop", "2"]
    code, out = call(command, file, "--input", "-1x40@5x40:float32", *more, *options, capfd=capfd)
    assert code == 0 and "sizes of -1" not in out and (command == "bench" or "5×40" in out)
    if command == "run":
        code, out = call(command, file, "--input", "-1x40:float32", *more, capfd=capfd)
        assert code == 0 and "sizes of -1 are 16 in the arrays: x (-1, 40) is (16, 40)" in out


def test_any_number_of_sizes(capfd: pytest.CaptureFixture[str]) -> None:
    for shape, shown in (("-2@3x4x5:float32", "3×4×5"), ("-2@7:float32", "7")):
        code, out = call("run", "dynamic.py", "--input", shape, "--check", capfd=capfd)
        assert code == 0 and shown in out and "agrees with its definition" in out


def test_colours_only_on_a_terminal() -> None:
    shown = CliRunner().invoke(cli_tbe.tbe, ["run", "swish.py", *SMALL], standalone_mode=False)
    assert "\x1b" not in shown.output


@cases(
    "text, shape, dtype, layout",
    [
        ("16x32:float16", (16, 32), "float16", "ND"),
        ("7", (7,), "float32", "ND"),
        (":int32", (), "int32", "ND"),
        ("1x1x4x4x16:float16:NC1HWC0", (1, 1, 4, 4, 16), "float16", "NC1HWC0"),
    ],
)
def test_descriptions(text: str, shape: tuple[int, ...], dtype: str, layout: str) -> None:
    found = tbe_request.description_of(text)
    assert (found.shape, found.dtype, found.format) == (shape, dtype, layout)


def test_a_file_that_is_no_array(place: Path) -> None:
    (place / "x.npy").write_text("no array")
    with pytest.raises(InputError, match="not an array"):
        tbe_request.description_of("x.npy")
