"""Swish, and its faulty form from tutorials."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import pytest

import tbe_impl
from tbe_impl.errors import InputError
from tbe_impl.ops.formulas import FORMULAS
from tests.tbe_impl.ops.calls import describe
from tests.tbe_impl.tolerances import assert_close

BETA = 1.5
TUTORIAL = '''"""Swish as tutorials have it."""

import te.lang.cce
from te import tvm
from topi import generic


def swish(x, y, beta=1.0, kernel_name="swish"):
    data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
    with tvm.target.cce():
        power = te.lang.cce.vexp(te.lang.cce.vmuls(data, -beta))
        res = te.lang.cce.vexp(te.lang.cce.{word}(te.lang.cce.vadds(power, 1.0), -1.0))
        schedule = generic.auto_schedule(res)
    te.lang.cce.cce_build_code(schedule, {{"name": kernel_name, "tensor_list": [data, res]}})
'''
LINE = 1 + next(number for number, line in enumerate(TUTORIAL.splitlines()) if "{word}" in line)


def _built(folder: Path, word: str) -> Any:
    file = folder / "swish.py"
    file.write_text(TUTORIAL.format(word=word), "utf-8")
    tensor = describe((16, 33), "float32")
    return tbe_impl.load_operator(file, "swish").build(tensor, tensor, BETA)


def test_a_scalar_for_vmul_is_refused_with_the_word_to_take(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        _built(tmp_path, "vmul")
    error = caught.value
    assert error.place == f"{tmp_path / 'swish.py'}:{LINE}"
    assert "vmul takes tensors only" in error.what
    assert error.got == "the scalar -1.0"
    assert error.remedy is not None and "`vmuls` takes a tensor and a scalar" in error.remedy


def test_the_text_so_repaired_computes_something_else(tmp_path: Path) -> None:
    x = np.linspace(-4, 4, 16 * 33, dtype=np.float32).reshape(16, 33)
    found = _built(tmp_path, "vmuls")(x)
    wide = x.astype(np.float64)
    assert_close(found, np.exp(-(1 + np.exp(-BETA * wide))), "float32")
    wanted = FORMULAS["swish"](wide, beta=BETA)
    with pytest.raises(AssertionError, match="Max absolute difference"):
        assert_close(found, wanted, "float32")
    # at x = 4 swish is nearly 4 and the repaired text nearly 1/e
    assert np.abs(found - wanted).max() == pytest.approx(
        4 / (1 + np.exp(-6)) - np.exp(-(1 + np.exp(-6))), rel=1e-4
    )
