"""Document 004, section 3: a user-written TBE primitive in its own files runs in a net."""

from __future__ import annotations

import importlib
import json
import os
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from tbe_impl import compat
from tbe_impl.errors import FusionError
from tests.cases import cases
from tests.fork_server import Ended, run_program

ROOT = Path(__file__).resolve().parents[2]
PROGRAMS = ROOT / "tests" / "programs" / "sources"
X = np.linspace(-3, 3, 12).reshape(3, 4)


def run(program: str, place: Path, *, fresh: bool = False, **variables: str) -> Ended:
    environment = {**os.environ, "PYTHONPATH": str(ROOT), "GLOG_v": "4", **variables}
    return run_program(PROGRAMS / program, cwd=place, environment=environment, fresh=fresh)


def answer(ended: Ended) -> dict[str, Any]:
    """The JSON line of a program's output."""
    assert ended.returncode == 0, ended.output
    line = next(one for one in ended.output.splitlines() if one.startswith("{"))
    found: dict[str, Any] = json.loads(line)
    return found


@pytest.fixture(scope="module")
def found(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Any]:
    return answer(run("tbe_primitive/in_nets.py", tmp_path_factory.mktemp("nets")))


def swish(x: np.ndarray, beta: float) -> np.ndarray:
    return x / (1 + np.exp(-beta * x))


def slope(x: np.ndarray, beta: float) -> np.ndarray:
    s = 1 / (1 + np.exp(-beta * x))
    return s + beta * x * s * (1 - s)


@cases("mode", ["graph", "pynative"])
def test_004_3_2_swish_runs_in_a_net_with_its_gradient(found: dict[str, Any], mode: str) -> None:
    assert np.allclose(found[mode]["net"], swish(X, 2.0), rtol=1e-6, atol=1e-6)
    assert np.allclose(found[mode]["grad"], slope(X, 2.0), rtol=1e-5, atol=1e-6)
    assert np.allclose(found["jit"], swish(X, 2.0), rtol=1e-6, atol=1e-6)


@cases("mode", ["graph", "pynative"])
def test_004_3_3_infer_dtype_that_gives_float16(found: dict[str, Any], mode: str) -> None:
    dtype, values = found[mode]["narrow"]
    assert dtype == "Float16" and np.allclose(values, swish(X, 2.0), atol=2e-3)
    dtype, values = found[mode]["grad of narrow"]
    assert dtype == "Float32" and np.allclose(values, slope(X, 2.0), atol=1e-5)


def test_004_6_infer_shape_that_raises_for_open_sizes(found: dict[str, Any]) -> None:
    assert found["dynamic, refused"].startswith("ValueError: Dynamic shape not supported")


def test_004_6_open_sizes_that_infer_shape_takes(found: dict[str, Any]) -> None:
    whole, part = found["dynamic"]
    assert np.allclose(whole, swish(X, 2.0), atol=1e-6)
    assert np.allclose(part, swish(X[:2], 2.0), atol=1e-6)


@cases("mode", ["graph", "pynative"])
def test_gradients_that_the_primitive_brings(found: dict[str, Any], mode: str) -> None:
    """`get_bprop`, `bprop`, and one registered with ``bprop_getters``."""
    assert found[mode]["own"] == [100, 200, 600]


@cases("mode", ["graph", "pynative"])
def test_004_3_2_ops_custom_takes_the_same_file(found: dict[str, Any], mode: str) -> None:
    assert np.allclose(found[mode]["custom"], swish(X, 1.0), atol=1e-6)
    assert np.allclose(found[mode]["grad of custom"], slope(X, 1.0), atol=1e-6)


@cases("mode", ["graph", "pynative"])
def test_what_is_refused_says_what_to_do(found: dict[str, Any], mode: str) -> None:
    assert (
        "Swish is not registered for these dtypes; expected float16 or float32, got int32"
        in found[mode]["int32"]
    )
    assert "no derivative of order 2" in found[mode]["twice"]
    assert "write `get_bprop(self)` in the primitive" in found[mode]["twice"]


def test_explain_shows_file_and_line(found: dict[str, Any]) -> None:
    name, place, is_apart = found["explained"]
    file, _, line = place.rpartition(":")
    text = Path(file).read_text().splitlines()[int(line) - 1]
    assert name == "Swish" and Path(file).name == "swish_impl.py" and "op_info_register" in text
    assert not is_apart
    assert all("TBE function: " in one and f"swish_impl.py:{line}" in one for one in found["texts"])


def test_nothing_is_left_in_the_working_directory(found: dict[str, Any]) -> None:
    assert found["left"] == []


def test_004_3_2_the_toolkit_before_mindspore(tmp_path: Path) -> None:
    found = answer(run("tbe_primitive/import_order.py", tmp_path, fresh=True))
    assert found["loaded by ms_fusion"] == []
    assert found["MindSpore's probe"] == [False, False]
    assert found["same"] == [1.0] and all(found["words"])


def test_004_3_2_swish_compute_as_it_is_printed(tmp_path: Path) -> None:
    """It multiplies a tensor by −1.0 with `vmul`."""
    ended = run("tbe_as_printed/wrong.py", tmp_path)
    lines = [one for one in ended.output.splitlines() if "swish_impl.py" in one]
    assert len(lines) == 2, ended.output
    for line in lines:
        assert "vmul takes tensors only" in line and "got the scalar -1.0" in line
        assert "`vmuls` takes a tensor and a scalar" in line


def test_004_3_3_set_global_shift_has_no_counterpart() -> None:
    """The toolkit has no such function either."""
    with compat.installed():
        cce = importlib.import_module("te.lang.cce")
        with pytest.raises(FusionError, match=r"cce_util\.set_global_shift` has no counterpart"):
            cce.cce_util.set_global_shift()


def test_off_leaves_the_names_out(tmp_path: Path) -> None:
    ended = run("tbe_as_printed/wrong.py", tmp_path, MS_FUSION="off")
    assert ended.output.count("ModuleNotFoundError: No module named 'te'") == 2, ended.output
