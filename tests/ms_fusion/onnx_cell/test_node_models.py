"""ONNX's own models of single operators, as Cells: what they are to give is part of them."""

from __future__ import annotations

import re
import warnings
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import mindspore as ms
import numpy as np
import onnx
import pytest
from onnx import numpy_helper
from onnx.backend.test.loader import load_model_tests

import ms_fusion as mf
from tbe_impl.errors import InputError
from tests.ms_fusion.onnx_fusion.test_corpus import IR_VERSION

KNOWN = {"CumSum": (1,), "Trilu": (1,), "ReduceLogSum": (1,), "ReduceLogSumExp": (1,), "Range": (0, 1, 2), "ConstantOfShape": (0,), "OneHot": (1,)}  # fmt: skip
"""Inputs that a Cell has to know beforehand: numbers of the model here, fed there."""
WANTED = (
    "acosh", "argmax", "argmin", "asinh", "atanh", "constantofshape", "cumsum", "depthtospace", "group_norm", "mod_(int|mixed|broadcast|uint8)",
    "onehot", "range_(float|int32)", "reduce_log_sum", "size", "spacetodepth", "tril", "triu", "xor",
)  # fmt: skip
REFUSED = re.compile("expanded|bfloat16|empty_set|zero$|mod_mixed_sign_float|_fmod_0")
"""Written with Loop or with sizes that are fed; of dtypes and shapes that MindSpore has no operator for."""


@pytest.fixture(scope="module")
def cases() -> dict[str, Any]:
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return {one.name: one for one in load_model_tests(kind="node")}


@pytest.fixture(scope="module", autouse=True)
def pynative() -> Iterator[None]:
    before = ms.get_context("mode")
    ms.set_context(mode=ms.PYNATIVE_MODE)
    yield
    ms.set_context(mode=before)


def model_of(case: Any, place: Path) -> tuple[Path, list[np.ndarray], list[np.ndarray]]:
    """A model with its inputs and outputs."""
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    model.ir_version = min(model.ir_version, IR_VERSION)
    ((inputs, outputs),) = case.data_sets
    known = KNOWN.get(model.graph.node[0].op_type, ())
    for number, (value, array) in enumerate(zip(list(model.graph.input), inputs, strict=True)):
        if number in known:
            model.graph.initializer.append(numpy_helper.from_array(np.asarray(array), value.name))
            model.graph.input.remove(value)
    onnx.save(model, place / "model.onnx")
    fed = [np.asarray(one) for number, one in enumerate(inputs) if number not in known]
    return place / "model.onnx", fed, [np.asarray(one) for one in outputs]


@pytest.mark.parametrize("kind", WANTED)
def test_it_gives_what_onnx_says(kind: str, cases: dict[str, Any], tmp_path: Path) -> None:
    wanted = [one for name, one in cases.items() if re.match(f"test_{kind}", name) and not REFUSED.search(name)]  # fmt: skip
    assert wanted
    for case in wanted:
        source, inputs, outputs = model_of(case, tmp_path)
        made = mf.from_onnx(source)(*map(ms.Tensor, inputs))
        made = made if isinstance(made, tuple) else (made,)
        for one, expected in zip(made, outputs, strict=True):
            found = one.asnumpy()
            assert found.dtype == expected.dtype, case.name
            np.testing.assert_allclose(found, expected, rtol=1e-4, atol=1e-5, err_msg=case.name)


def test_a_group_with_one_scale_is_refused(cases: dict[str, Any], tmp_path: Path) -> None:  # fmt: skip
    case = cases["test_group_normalization_example"]
    model = onnx.ModelProto.FromString(case.model.SerializeToString())
    model.ir_version, model.opset_import[0].version = IR_VERSION, 18
    onnx.save(model, tmp_path / "model.onnx")
    with pytest.raises(InputError, match="GroupNormalization has no Cell here: scales of groups"):
        mf.from_onnx(tmp_path / "model.onnx")
