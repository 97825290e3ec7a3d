"""The TBE operators that operators name: registered in MindSpore's form, and of the same meaning."""

from __future__ import annotations

import json

import numpy as np
import pytest

from tbe_impl import ops
from tests.custom_ops.spec_cases import SPECS, arrays_of
from tests.custom_ops.test_specs import close, run
from tests.tbe_impl.ops.calls import describe

pytestmark = pytest.mark.mindspore
pytest.importorskip("mindspore")

from custom_ops.ascend import AscendPrimitive, attributes_of, registration  # noqa: E402
from tbe_impl.errors import MissingError  # noqa: E402

NAMED = [pytest.param(spec, id=name) for name, spec in SPECS.items() if spec.tbe]


def test_the_table_is_not_empty():
    assert {"GELU", "HardSwish", "LogSoftmax", "Mish", "Softmax", "Swish"} <= {
        name for name, spec in SPECS.items() if spec.tbe
    }


@pytest.mark.parametrize("spec", NAMED)
def test_registration(spec):
    info = registration(spec, spec.tbe)
    info = info if isinstance(info, dict) else json.loads(info)
    assert info["op_name"] == spec.name
    assert f"{spec.tbe}.so" in str(info)
    assert [one["name"] for one in info["inputs"]] == list(spec.inputs)
    assert [one["name"] for one in info["outputs"]] == list(spec.outputs)
    assert [one["name"] for one in info["attr"]] == attributes_of(spec)
    assert AscendPrimitive(spec, {}).name == spec.name


@pytest.mark.parametrize("dtype", ["float16", "float32"])
@pytest.mark.parametrize("spec", NAMED)
def test_they_agree(spec, dtype):
    arrays = arrays_of(spec, spec.samples[0], dtype)
    attributes = spec.with_defaults(spec.variants[0] if spec.name == "Swish" else {})
    described = [describe(array.shape, dtype) for array in arrays]
    shared = {name: attributes[name] for name in attributes_of(spec)}
    kernel = ops.load(spec.tbe).build(*described, described[0], **shared)
    (ours,) = run(spec, attributes, *arrays)
    close(kernel(*arrays), np.asarray(ours, np.float64), dtype)


def test_what_the_tbe_operator_lacks_is_refused():
    with pytest.raises(MissingError, match="has no approximate; expected approximate=True"):
        AscendPrimitive(SPECS["GELU"], {"approximate": False})
