"""Written operator files: what they take, refuse and compute without `custom_ops`."""

from __future__ import annotations

import re
from dataclasses import replace

import numpy as np
import pytest

from custom_ops.core.arrays import attribute_key, computation_of
from custom_ops.core.gradient import gradient_of
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.operators import all_specs
from custom_ops.tbe_bridge.operator_files import (
    build,
    function_name,
    write_entry,
    write_operator,
)
from tbe_impl import compat, dsl
from tbe_impl.errors import InputError, MissingError
from tbe_impl.loading.operator import load_operator
from tests.cases import cases
from tests.custom_ops.core.test_operator_specs import close
from tests.custom_ops.spec_cases import SPECS, arrays_of, as_tuple, in_float64
from tests.tbe_impl.ops.calls import describe


@cases(
    "name, attributes, chip",
    [
        ("AddLayerNorm", {"begin_norm_axis": 1}, "Ascend910A"),
        ("BoxDecode", {"version": "v3"}, "Ascend910B"),
        ("MatMulBiasGELU", {}, "Ascend310B1"),
        ("IoU", {}, "Ascend910A"),
    ],
)
def test_a_written_file_needs_no_custom_ops(name, attributes, chip, tmp_path):
    """The file for one set of shapes, with the formula as reference."""
    spec = SPECS[name]
    dtype = "float16" if name.startswith("MatMul") else "float32"
    given, arrays = spec.with_defaults(attributes), arrays_of(spec, spec.samples[0], dtype)
    wanted = as_tuple(spec.formula(*in_float64(spec, arrays), **given))
    file = write_operator(spec, [ArraySpec.from_array(one) for one in arrays], given, tmp_path)
    assert "custom_ops" not in re.findall(r"^(?:from|import) (\w+)", file.read_text(), re.M)
    computation = computation_of(spec, attribute_key(spec, given))
    results = computation.describe([ArraySpec.from_array(one) for one in arrays])
    described = [describe(one.shape, str(one.dtype)) for one in (*arrays, *results)]
    built = load_operator(file, function=function_name(spec)).build(*described, soc=chip)
    for got, want in zip(as_tuple(built(*arrays, backend="numpy")), wanted, strict=False):
        close(np.reshape(got, np.shape(want)), want, dtype)


def test_a_written_file_refuses_other_shapes(tmp_path):
    file = write_operator(SPECS["Swish"], [ArraySpec((4, 8), "float32")], {}, tmp_path)
    one = describe((4, 9), "float32")
    with pytest.raises(InputError, match=r"x is built for the shape \[4, 8\], but has \(4, 9\)"):
        load_operator(file, function="swish").build(one, one)


def test_the_toolkit_gets_every_operator_by_name(tmp_path):
    """What the file with the operator function calls when CANN builds a kernel."""
    given = [describe((4, 8), "float16")] * 3
    with compat.installed(soc="Ascend910A") as session:
        build("SwiGLU", str(tmp_path / "swiglu.py"), given[:2], given[2:], {}, "own_name")
    (request,) = session.builds
    assert request.name == "own_name"
    assert [str(one.dtype) for one in request.tensors] == ["float16"] * 3
    with pytest.raises(InputError, match="custom_ops has no operator Swiglu"):
        build("Swiglu", str(tmp_path / "swiglu.py"), given[:2], given[2:], {}, "own_name")


def test_names_of_operator_functions_differ():
    specs = [one for one in all_specs().values() if one.tbe_computation is not None]
    specs += [
        gradient_of(one) for one in specs if one.forward is not None and one.differentiable_inputs
    ]
    assert len({function_name(one) for one in specs}) == len(specs) > 80


def test_without_a_computation_nothing_is_written(tmp_path):
    with pytest.raises(MissingError, match=r"NMS has no computation in the DSL, .* \(`tbe=`\)"):
        write_entry(SPECS["NMS"], tmp_path)


def test_a_spec_that_the_package_lacks_is_refused(tmp_path):
    with pytest.raises(InputError, match=r"custom_ops has no operator Swash\. Name a file"):
        write_entry(replace(SPECS["Swish"], name="Swash"), tmp_path)


def test_a_stage_without_equivalent_is_named(tmp_path):
    """CANN has no search for an element's index."""
    spec = replace(SPECS["AddReLU"], forward=lambda x, y: dsl.ext.cumsum(x, 0), backward=None)
    given = [ArraySpec((4, 8), "float32")] * 2
    with pytest.raises(InputError, match="cumsum cannot be expressed in CANN operations"):
        write_operator(spec, given, {}, tmp_path)


def test_equal_files_are_written_once(tmp_path):
    given = [ArraySpec((4, 8), "float32")]
    first, other = (write_operator(SPECS["Swish"], given, {}, tmp_path) for _ in range(2))
    beta = write_operator(SPECS["Swish"], given, {"beta": 1.5}, tmp_path)
    assert first == other != beta and len(list(tmp_path.iterdir())) == 2
    assert "for beta=1.5." in beta.read_text()
