"""The JSON of an operator project names arrays and permits dtypes and attributes."""

from __future__ import annotations

import json
from pathlib import Path

import numpy as np
import pytest

from tbe_impl import load_ascendc
from tbe_impl.ascendc.operator_project import read_operator_project
from tbe_impl.errors import InputError
from tests.cases import cases

PROGRAMS = Path(__file__).resolve().parents[2] / "programs" / "ascendc"
PROJECT = {
    "op": "Axpb",
    "language": "cpp",
    "input_desc": [
        {"name": "x", "param_type": "required", "format": ["ND"], "type": ["fp16", "float"]}
    ],
    "output_desc": [{"name": "y", "param_type": "required", "type": ["fp16", "float"]}],
    "attr": [{"name": "alpha", "param_type": "optional", "type": "float", "default_value": "1"}],
}


@pytest.fixture
def place(tmp_path):
    path = tmp_path / "axpb.json"
    path.write_text(json.dumps([PROJECT, {**PROJECT, "op": "Other"}]))
    return path


def test_a_project_gives_names_and_dtypes(place):
    project = read_operator_project(place, "axpb")
    assert project.operator == "Axpb"
    assert project.dtypes == {"x": ("float16", "float32"), "y": ("float16", "float32")}
    assert project.check(["float32"], ["float32"], {"alpha": 2}, "p") == {
        "x": "float32",
        "y": "float32",
    }


def test_a_kernel_is_built_with_its_project(place):
    text = (PROGRAMS / "axpb.cpp").read_text().replace("TILING_KEY_IS(2)", "false")
    (place.parent / "axpb.cpp").write_text(text.replace("data.bias.values[1]", "0"))
    array = ((64,), "float16")
    kernel = load_ascendc(place.parent / "axpb.cpp").build(
        array,
        outputs=[array],
        host=place,
        tiling={"partLength": 32, "alpha": 1.5},
        blocks=2,
    )
    x = np.arange(64).astype(np.float16)
    np.testing.assert_array_equal(kernel(x), x * np.float16(1.5))


@cases(
    "inputs, outputs, attributes, message",
    [
        (["float32"], ["float16"], {}, "no variant with these dtypes"),
        (["int32"], ["int32"], {}, "no variant with these dtypes"),
        (["float32"] * 2, ["float32"], {}, "1 input and 1 output"),
        (["float32"], ["float32"], {"beta": 1}, "no attribute beta"),
    ],
)
def test_what_a_project_does_not_permit_is_an_error(place, inputs, outputs, attributes, message):
    with pytest.raises(InputError, match=message):
        read_operator_project(place, "axpb").check(inputs, outputs, attributes, "p")


@cases(
    "text, message",
    [
        ("{", "the file is not an operator project"),
        ("[1]", "the file is not an operator project"),
        ("[]", "no operator of the project"),
        ('[{"op": "A"}, {"op": "B"}]', "no operator of the project"),
        ('{"op": "Axpb", "input_desc": [{"name": "x", "type": ["fp8"]}]}', "unknown dtype of x"),
    ],
)
def test_a_damaged_project_is_an_error(tmp_path, text, message):
    (tmp_path / "wrong.json").write_text(text)
    with pytest.raises(InputError, match=message):
        read_operator_project(tmp_path / "wrong.json", "axpb")
