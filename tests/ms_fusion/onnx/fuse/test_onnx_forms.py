"""The NumPy formula behind each ONNX operator, by its adapter, against ONNX Runtime."""

from __future__ import annotations

from pathlib import Path
from typing import Any

import numpy as np
import onnx

from ms_fusion.onnx.native.child import NativeWorkers
from ms_fusion.ops import ONNX_OPERATORS, operator_info
from ms_fusion.ops.call import ONNX_OP, Call
from ms_fusion.readers.onnx_file import open_model
from ms_fusion.readers.onnx_graph import ABSENT_INPUT, project
from tests.cases import cases
from tests.ms_fusion.onnx.fuse.models import Builder
from tests.ms_fusion.onnx.fuse.test_operator_lowering import IMAGES, of_image, of_operator

WITHOUT_FORMULA = {"one axis", "three axes"}
"""Convolutions are defined over two axes."""


def evaluate(
    path: Path, given: dict[str, np.ndarray], native: NativeWorkers
) -> dict[str, np.ndarray]:
    """Computes a model operator by operator, by the formulas of the records."""
    model = open_model(path)
    native.infer_shapes(model)
    projection = project(model)
    graph, known = projection.graph, dict[str, Any](given)
    known[ABSENT_INPUT] = None
    for name, source in projection.values.items():
        if source.const_value is not None:
            known.setdefault(name, source.const_value.numpy())
    for node in graph.nodes:
        record, form = ONNX_OPERATORS[str(node.attr(ONNX_OP))]
        inputs = tuple(known[name] for name in node.inputs)
        output = graph.outputs_of(node)[0]
        call = Call(node, inputs, output, np.dtype(np.float64)).in_form(op=record.name)
        own = form.adapter(call) if form.adapter else call
        formula = operator_info(own.node.op).formula
        assert formula is not None
        found: Any = formula(own)
        known |= zip(node.outputs, found if isinstance(found, list) else [found], strict=True)
    return {name: known[name] for name in graph.outputs}


def compare(b: Builder, outputs: list[str], path: Path, native: NativeWorkers) -> None:
    source = b.save(path, *outputs)
    random = np.random.default_rng(0)
    given = {
        one.name: random.standard_normal(
            [size.dim_value or 2 for size in one.type.tensor_type.shape.dim]
        ).astype(np.float32)
        for one in onnx.load(source).graph.input
    }
    wanted = native.run(source, given).outputs
    found = evaluate(source, given, native)
    assert found.keys() == wanted.keys()
    for name, one in wanted.items():
        np.testing.assert_allclose(found[name], one, rtol=2e-5, atol=2e-6)


@cases("op", sorted(ONNX_OPERATORS.keys() - {"Conv"}), per_item=100)
def test_each_formula_is_what_onnx_runtime_computes(
    op: str, native: NativeWorkers, tmp_path: Path
) -> None:
    compare(*of_operator(op), tmp_path / "model.onnx", native)


@cases("name", [name for name in IMAGES if name not in WITHOUT_FORMULA])
def test_images_by_their_formulas(name: str, native: NativeWorkers, tmp_path: Path) -> None:
    compare(*of_image(name), tmp_path / "model.onnx", native)
