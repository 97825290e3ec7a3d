"""Document 004, sections 3.3, 5.2 and 6: manual schedules, timing and tuning of an operator."""

from __future__ import annotations

import random
import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest
from click.testing import CliRunner

import tbe_impl.tuning
from ms_fusion.cli.main import cli
from tbe_impl import compat
from tbe_impl.compat.auto_tune import AUTO_TUNE
from tbe_impl.errors import FusionError, InputError
from tbe_impl.kernel import Kernel
from tbe_impl.loading.operator import load_operator
from tbe_impl.tuning import measurement, search
from tests.cases import cases

SWISH = """\
import te.lang.cce
from te import tvm
from topi import generic
{imports}

def swish_compute(input_x, beta, output_y):
    sigmoid = te.lang.cce.vrec(
        te.lang.cce.vadds(te.lang.cce.vexp(te.lang.cce.vmuls(input_x, -beta)), 1.0)
    )
    return te.lang.cce.vmul(input_x, sigmoid)


def SwishImpl(input_x, output_y, beta=1.0, kernel_name="SwishImpl"):
    shape = input_x.get("shape")
    dtype = input_x.get("dtype").lower()
    data = tvm.placeholder(shape, name="data", dtype=dtype)
    with tvm.target.cce():
        res = swish_compute(data, float(beta), output_y)
        sch = generic.auto_schedule(res)
        {by_hand}
    config = {{"name": kernel_name, "tensor_list": [data, res]}}
    te.lang.cce.cce_build_code(sch, config)
"""
"""`swish_impl.py` with the intended sigmoid, and a placeholder for each optimisation."""

SHAPE = (64, 72)


def swish(place: Path, by_hand: str = "pass", imports: str = "") -> Path:
    file = place / "swish_impl.py"
    file.write_text(SWISH.format(by_hand=by_hand, imports=imports))
    return file


def built(file: Path) -> Kernel:
    x = {"shape": SHAPE, "dtype": "float16"}
    return load_operator(file, "SwishImpl").build(x, x, 1.0)


def is_right(kernel: Kernel) -> bool:
    x = np.linspace(-4, 4, 64 * 72).astype(np.float16).reshape(64, 72)
    wanted = x.astype(np.float64) / (1 + np.exp(-x.astype(np.float64)))
    return bool(np.abs(kernel(x) - wanted).max() < 4e-3)


def warnings_of(kernel: Kernel) -> list[str]:
    return [f"{one.place.rpartition(':')[2]} {one.what}" for one in kernel.report().warnings]


LINE = 1 + SWISH.splitlines().index("        {by_hand}")


@cases(
    "call, says",
    [
        # the document's own
        ("sch[res].compute_at(sch[data], data.op.axis[0])", "An input has no loops. A stage"),
        ("sch[res].compute_at(sch[data], res.op.axis[0])", "An input has no loops. A stage"),
        ("sch[res].compute_at(sch[res], res.op.axis[0])", "cannot be computed inside itself"),
        ("sch[res].compute_at(res, res.op.axis[0])", "expected schedule[tensor], got Tensor"),
        ("sch[res].compute_at(sch[res])", "missing 1 required positional argument"),
        ("sch[res].set_scope(0)", 'expected such as "local.UB", got 0'),
        ("sch[res.op.input_tensors[1]].set_scope('UB')", "The nearest one is 'local.UB'"),
        ("sch[res].storage_align(res.op.axis[2], 2, 1)", "expected one of its axes (0: i0, 1: i1)"),
        ("sch[res].storage_align(res.op.reduce_axis[0], 2, 1)", "has no op.reduce_axis[0]"),
        ("sch[res].storage_align(0, 2, 1)", ".op.axis[0] for the first"),
        ("sch[res].storage_align(res.op.axis[0], 0)", "elements from 1 on, got 0"),
        ("sch[res].storage_align(res.op.axis[0], 16, -1)", "elements from 0 on, got -1"),
        ("sch[res].storage_align(res.op.axis[0], 1.5)", "got 1.5"),
        ("sch[res].storage_align(res.op.axis[0])", "missing 1 required positional argument"),
        ("sch[res].parallel(0)", ".op.axis[0] for the first"),
        ("te.lang.cce.cce_util.set_global_shift()", "has no counterpart here"),
    ],
)
def test_3_3_misuse_is_refused_with_its_line(call: str, says: str, tmp_path: Path) -> None:
    file = swish(tmp_path, call)
    with pytest.raises(FusionError) as caught:
        built(file)
    assert type(caught.value).__name__ != "IndexError"
    assert f"{file}:{LINE}" in str(caught.value) and says in str(caught.value)


def test_3_3_an_axis_that_is_missing_is_an_index_error_too() -> None:
    with compat.installed():
        from te import tvm

        data = tvm.placeholder((4, 8), name="data")
        with pytest.raises(IndexError, match=r"data, an input, has no op\.axis\[0\]"):
            _ = data.op.axis[0]
        assert [*data.op.axis] == [] and data.op.axis[:1] == ()


@cases(
    "call, says",
    [
        ('sch[res].set_scope("local.UB")', "set_scope of"),
        ("sch[res].storage_align(res.op.axis[0], 2, 1)", "storage_align of"),
    ],
)
def test_3_3_and_6_what_has_no_effect_is_said(call: str, says: str, tmp_path: Path) -> None:
    kernel = built(swish(tmp_path, call))
    assert is_right(kernel)
    (warning,) = (text for text in warnings_of(kernel) if "has no effect" in text)
    assert warning.startswith(f"{LINE} {says}")


def test_3_3_a_split_by_hand_is_followed(tmp_path: Path) -> None:
    split = "sch = tvm.create_schedule(res.op); sch[res].split(res.op.axis[0], factor=16)"
    kernel = built(swish(tmp_path, split))
    assert is_right(kernel)
    assert any("split" in str(one) for one in kernel.report().outcomes)


TUNED = """
from tbe import auto_tune
auto_tune.enable = True
auto_tune.config = {"tuning_step": 1000, "verbose": True}
"""


@pytest.fixture
def tuning(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[dict[str, Any]]:
    """Fixed times, a separate cache; records the progress bar's calls."""
    if not shutil.which("cc"):
        pytest.skip("there is no C compiler")
    asked: dict[str, Any] = {"bars": []}
    generator, bar = random.Random(7), tbe_impl.tuning.show_progress

    def timed(bench: Any, item: measurement.Candidate) -> float:
        bench.taken += 1
        return (0.5 if item.choice.accumulators == 2 else 1.0) * (1 + 0.1 * generator.random())

    def shown(name: str, seconds: float, *, shown: bool) -> Any:
        asked["bars"].append((name, seconds, shown))
        return bar(name, seconds, shown=shown)

    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path / "cache"))
    monkeypatch.setattr(measurement.Bench, "measure_call", timed)
    monkeypatch.setattr(measurement, "PAUSE_S", 0.0)
    monkeypatch.setattr(search, "KNOBS", (("accumulators", (2,)),))
    monkeypatch.setattr(tbe_impl.tuning, "show_progress", shown)
    yield asked
    AUTO_TUNE.enable, AUTO_TUNE.config = False, {}


REDUCED = "res = te.lang.cce.sum(res, -1); sch = generic.auto_schedule(res)"


def test_6_auto_tune_tunes_when_it_is_built(tuning: dict[str, Any], tmp_path: Path) -> None:
    file = swish(tmp_path, REDUCED, TUNED)
    kernel = built(file)
    assert kernel.tuning is not None and kernel.options.accumulators == 2
    assert kernel.tuning.steps <= 1000
    assert tuning["bars"] == [("SwishImpl", 60.0, True)]
    again = built(file)
    assert again.tuning == kernel.tuning and len(tuning["bars"]) == 1


def test_6_auto_tune_has_limits_of_ones_own(tuning: dict[str, Any], tmp_path: Path) -> None:
    limits = '\nauto_tune.config = {"seconds": 5, "verbose": False}'
    built(swish(tmp_path, REDUCED, TUNED + limits))
    assert tuning["bars"] == [("SwishImpl", 5, False)]


def test_6_sizes_known_late_are_not_tuned(
    tuning: dict[str, Any], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    AUTO_TUNE.enable = True
    AUTO_TUNE.config = {}
    late = load_operator(swish(tmp_path), "SwishImpl")
    x = {"shape": (-1, 72), "dtype": "float16"}
    kernel = late.build(x, x, 1.0)
    assert kernel.tuning is None
    assert "SwishImpl is not tuned" in caplog.text


@cases(
    "statement, says",
    [
        ("auto_tune.enable = 1", "expected True or False, got 1"),
        ("auto_tune.enabel = True", "Did you mean enable?"),
        ("auto_tune.config = 1000", "expected a dict with tuning_step, seconds, verbose"),
        ('auto_tune.config = {"tuning_steps": 9}', "Did you mean tuning_step?"),
        ('auto_tune.config = {"tuning_step": 0}', "a positive whole number, got 0"),
        ('auto_tune.config = {"seconds": "1"}', "a positive number, got '1'"),
        ('auto_tune.config = {"verbose": 1}', "True or False, got 1"),
        ("auto_tune.run()", "has no counterpart here"),
    ],
)
def test_6_settings_of_auto_tune_are_checked(statement: str, says: str, tmp_path: Path) -> None:
    file = swish(tmp_path, imports=f"from tbe import auto_tune\n{statement}")
    with pytest.raises(FusionError) as caught:
        load_operator(file, "SwishImpl")
    assert f"{file}:5" in str(caught.value) and says in str(caught.value)


def test_6_a_wrong_setting_is_found_when_it_is_used(tuning: dict[str, Any], tmp_path: Path) -> None:
    file = swish(tmp_path, imports=f'{TUNED}\nauto_tune.config["tuning_step"] = "many"')
    with pytest.raises(InputError, match="got 'many'"):
        built(file)


def test_5_2_a_kernel_is_timed_over_a_thousand_calls(tmp_path: Path) -> None:
    file, shape = f"{swish(tmp_path)}:SwishImpl", "64x72:float16"
    arguments = ["tbe", "bench", file, "--input", shape, "--output", shape, "--loop", "1000"]
    done = CliRunner().invoke(cli, arguments)
    assert done.exit_code == 0 and "1,000" in done.output, done.output
