"""Groups with products and convolutions are library calls with our kernels, for each size."""

from __future__ import annotations

import numpy as np
import pytest

from custom_ops.core.kernel_chain import Chain
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.onednn import Prepared
from ms_fusion.graph import Node
from ms_fusion.onnx.cell.group_operator import spec_of
from ms_fusion.onnx.cell.model_graph import read_model
from ms_fusion.onnx.fuse.verification import difference, sample
from ms_fusion.onnx.kernels.group_kernel import build, inputs_with_data
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.cell.conftest import FusedModel, FusedOnce

WITH_PRODUCTS = {"MatMul", "Conv2D"}


def groups(model: FusedModel) -> list[Node]:
    """Groups of a fused model with a product or a convolution."""
    found = [unit for unit in read_model(model.fused).units if unit.body is not None]
    return [
        one for one in found if one.body and WITH_PRODUCTS & {node.op for node in one.body.nodes}
    ]


@cases("name", [pytest.param("layer", marks=FULL), "images"])
def test_groups_with_products_call_the_library(name: str, fused_once: FusedOnce) -> None:
    found = groups(fused_once(name))
    assert found
    for group in found:
        assert group.body is not None
        spec = spec_of(group)
        assert spec.kernel_builder is not None
        names = inputs_with_data(group.body)
        for sizes in ({"n": 2, "t": 5}, {"n": 3, "t": 16}):
            given = [sample(group.body.values[name], sizes) for name in names]
            made = spec.kernel_builder(*(ArraySpec(one.shape, one.dtype.name) for one in given))
            assert isinstance(made, Chain)
            assert any(isinstance(step.kernel, Prepared) for step in made.steps)
            alone = build(group).kernel
            full = dict(zip(names, given, strict=True))
            expected = alone(
                *(
                    full[name]
                    if name in full
                    else np.zeros(group.body.values[name].shape, np.int64)
                    for name in group.body.inputs
                )
            )
            results = made(*given)
            for name, one, other in zip(
                group.body.outputs, _several(expected), _several(results), strict=True
            ):
                assert difference(name, one, other).agrees


def _several(made: object) -> tuple[np.ndarray, ...]:
    return made if isinstance(made, tuple) else (made,)  # type: ignore[return-value]
