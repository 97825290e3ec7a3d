"""ONNX files are untrusted input: refused with one typed error."""

from __future__ import annotations

import os
import random
from pathlib import Path

import numpy as np
import onnx
import pytest
from onnx import TensorProto

from ms_fusion.readers.onnx_file import open_model
from ms_fusion.readers.onnx_graph import project, substitute_sizes
from tbe_impl.errors import FusionError, InputError
from tests.cases import cases
from tests.ms_fusion.onnx.fuse.models import OPSET, Builder, transformer_layer


def with_data_at(path: Path, location: str, **more: str) -> Path:
    """A model with an external weight."""
    b = Builder({"x": (4,)})
    y = b.add("Add", "x", b.weight(4))
    model = b.model(y)
    tensor = model.graph.initializer[0]
    tensor.ClearField("raw_data")
    tensor.data_location = TensorProto.EXTERNAL
    for key, value in {"location": location, **more}.items():
        entry = tensor.external_data.add()
        entry.key, entry.value = key, value
    onnx.save(model, path)
    return path


def test_external_data_beside_the_model_is_read(tmp_path: Path) -> None:
    (tmp_path / "below").mkdir()
    np.arange(8, dtype=np.float32).tofile(tmp_path / "below" / "data.bin")
    model = open_model(
        with_data_at(tmp_path / "m.onnx", "below/data.bin", offset="16", length="16")
    )
    (value,) = model.graph.initializers.values()
    assert value.const_value is not None
    assert value.const_value.numpy().tolist() == [4, 5, 6, 7]


@pytest.fixture
def inside(tmp_path: Path) -> Path:
    """A directory of models with files inside and outside, links, and a pipe."""
    inside = tmp_path / "models"
    (inside / "below").mkdir(parents=True)
    for place in (tmp_path / "outside.bin", inside / "data.bin"):
        np.zeros(4, np.float32).tofile(place)
    (inside / "short.bin").write_bytes(b"123")
    (inside / "link.bin").symlink_to(tmp_path / "outside.bin")
    (inside / "linked").symlink_to(tmp_path)
    (inside / "circle.bin").symlink_to(inside / "circle.bin")
    os.mkfifo(inside / "fifo")
    return inside


@cases(
    "location, more",
    [
        ("/etc/passwd", {}),
        ("../outside.bin", {}),
        ("below/../../outside.bin", {}),
        ("..\\outside.bin", {}),
        ("C:\\outside.bin", {}),
        ("", {}),
        ("link.bin", {}),
        ("linked/data.bin", {}),
        ("circle.bin", {}),
        ("fifo", {}),
        ("/dev/zero", {}),
        ("missing.bin", {}),
        ("short.bin", {}),
        ("data.bin", {"offset": "-4"}),
        ("data.bin", {"offset": "1000"}),
        ("data.bin", {"length": "8"}),
        ("data.bin", {"offset": "99999999999999999999"}),
        ("data.bin", {"offset": "zero"}),
        ("a\0b", {}),
    ],
)
def test_external_data_elsewhere_is_refused(
    inside: Path, location: str, more: dict[str, str]
) -> None:
    with pytest.raises(InputError):
        open_model(with_data_at(inside / "m.onnx", location, **more))


def test_what_is_no_model_is_named(tmp_path: Path, subtests: pytest.Subtests) -> None:
    for name, content in (("empty", b""), ("text", b"hello"), ("zeros", bytes(1000))):
        (tmp_path / name).write_bytes(content)
        with subtests.test(name), pytest.raises(InputError, match="not an ONNX model"):
            open_model(tmp_path / name)
    with pytest.raises(InputError, match="not a regular file"):
        open_model(tmp_path)
    with pytest.raises(InputError, match="cannot be opened"):
        open_model(tmp_path / "missing.onnx")


@cases("dims", [[-1], [5], [1 << 40, 1 << 40]])
def test_a_tensor_is_as_long_as_its_shape_says(tmp_path: Path, dims: list[int]) -> None:
    b = Builder({"x": (4,)})
    model = b.model(b.add("Add", "x", b.weight(4)))
    model.graph.initializer[0].dims[:] = dims
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(InputError, match="is damaged"):
        open_model(tmp_path / "m.onnx")


def test_damaged_files_end_in_one_kind_of_error(tmp_path: Path) -> None:
    whole = bytearray(transformer_layer(tmp_path / "layer.onnx", d=8, heads=2).read_bytes())
    rng = random.Random(5)
    refused = 0
    for _ in range(300):
        spoilt = bytearray(whole)
        for _ in range(rng.randint(1, 8)):
            spoilt[rng.randrange(len(spoilt))] = rng.randrange(256)
        if rng.random() < 0.3:
            del spoilt[rng.randrange(len(spoilt)) :]
        (tmp_path / "spoilt.onnx").write_bytes(spoilt)
        try:
            project(open_model(tmp_path / "spoilt.onnx"))
        except FusionError:
            refused += 1
    assert refused > 20


def test_sizes_that_are_not_known_are_assumed(tmp_path: Path) -> None:
    b = Builder({"x": ("n", 4, "m")})
    model = open_model(b.save(tmp_path / "m.onnx", b.add("Relu", "x")))
    projection = project(model)
    assert projection.symbols == ("n", "m")
    assert substitute_sizes(projection.graph, {"n": 7}).values["x"].shape == (7, 4, 1)


def test_an_operator_has_as_many_inputs_as_it_takes(tmp_path: Path) -> None:
    b = Builder({"x": (4, 4)})
    path = b.save(tmp_path / "m.onnx", b.add("MatMul", "x"))
    with pytest.raises(InputError, match="MatMul with 1 input and"):
        open_model(path)


def test_names_are_text(tmp_path: Path) -> None:
    b = Builder({"x": (4, 4)})
    path = b.save(tmp_path / "m.onnx", b.add("Sigmoid", "x"))
    path.write_bytes(path.read_bytes().replace(b"Sigmoid", b"Sigmo\xc2d"))
    with pytest.raises(InputError, match=r"not text|utf-8"):
        open_model(path)


def test_an_attribute_that_says_it_is_a_tensor_has_one(tmp_path: Path) -> None:
    b = Builder({"x": (4,)})
    model = b.model(b.add("Relu", "x"))
    attribute = model.graph.node[0].attribute.add()
    attribute.name, attribute.type = "value", onnx.AttributeProto.TENSOR
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(InputError, match="damaged"):
        open_model(tmp_path / "m.onnx")


@cases("version", [-1, 0, 1 << 40])
def test_versions_of_operators_are_numbers_that_there_may_be(tmp_path: Path, version: int) -> None:
    b = Builder({"x": (4,)})
    model = b.model(b.add("Relu", "x"))
    model.opset_import[0].version = version
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(InputError, match="not a valid ONNX model"):
        open_model(tmp_path / "m.onnx")


def test_an_operator_has_the_inputs_that_it_needs(tmp_path: Path) -> None:
    b = Builder({"x": (1, 2, 4, 4)})
    with pytest.raises(InputError, match="not a valid ONNX model"):
        open_model(b.save(tmp_path / "m.onnx", b.add("Conv", "x", "")))


@cases("imported, named", [("ai.onnx", ""), ("ai.onnx", "ai.onnx"), ("", "ai.onnx")])
def test_onnxs_own_domain_has_two_names(imported: str, named: str, tmp_path: Path) -> None:
    b = Builder({"x": (4,)})
    model = b.model(b.add("Relu", "x"))
    model.opset_import[0].domain = imported
    model.graph.node[0].domain = named
    onnx.save(model, tmp_path / "m.onnx")
    (node,) = project(open_model(tmp_path / "m.onnx")).graph.nodes
    assert (node.attr("onnx_op"), node.attr("onnx_version")) == ("Relu", OPSET)


def test_onnxs_own_domain_has_one_version(tmp_path: Path) -> None:
    b = Builder({"x": (4,)})
    model = b.model(b.add("Relu", "x"))
    model.opset_import.append(onnx.helper.make_opsetid("ai.onnx", OPSET - 1))
    onnx.save(model, tmp_path / "m.onnx")
    with pytest.raises(InputError, match=f"versions {OPSET - 1} and {OPSET} of its operators"):
        open_model(tmp_path / "m.onnx")
