"""Ledger assembly from hand-written graphs: device-dependent parts."""

from __future__ import annotations

import pytest

from ms_fusion import cost
from ms_fusion.capture.assemble import assemble
from ms_fusion.capture.operator_join import OperatorJoin
from ms_fusion.graph import Graph, Node, Value
from tests.cases import cases

VALUES = {
    name: Value(name, (64, 64), "float16", kind)
    for name, kind in {"x": "input", "y": "input", "product": "result", "sum": "result"}.items()
}
PRODUCT = Node("MatMul-op0", "MatMul", ("x", "y"), ("product",))
SUM = Node("Add-op0", "Add", ("product", "x"), ("sum",))
BODY = Graph("body", (PRODUCT, SUM), VALUES, ("x", "y"), ("sum",))
FUSED = Node("Fused-op0", "Fused_MatMul_Add", ("x", "y"), ("sum",), body=BODY)
MEMBERS = ("MatMul-op0", "Add-op0")
JOINED = OperatorJoin(
    before=BODY,
    after=Graph("after", (FUSED,), VALUES, ("x", "y"), ("sum",)),
    origins={"Fused-op0": MEMBERS},
    members={"Fused-op0": MEMBERS},
    placement=dict.fromkeys(MEMBERS, ("Fused-op0",)),
    cluster=dict.fromkeys(MEMBERS, "Fused-op0"),
)


def test_matrix_products_run_on_the_matrix_unit() -> None:
    device = cost.device("Ascend")
    (kernel,) = assemble(
        JOINED, title="MatMul and Add", device=device, device_target="Ascend"
    ).kernels
    assert device.vector_flops_per_s is not None
    product, add = kernel.stages_unfused
    flops = 2 * 64**3
    assert product.compute_us == pytest.approx(flops / device.flops_per_s * 1e6)
    assert add.compute_us == pytest.approx(64**2 / device.vector_flops_per_s * 1e6)
    assert kernel.stages is not None
    assert kernel.stages.compute_us == pytest.approx((flops + 64**2) / device.flops_per_s * 1e6)
    assert kernel.predicted_saving_us == pytest.approx(
        product.total_us + add.total_us - kernel.stages.total_us
    )


CONVOLUTION = OperatorJoin(
    before=Graph(
        "before",
        (Node("Conv2D-op0", "Conv2D", ("image", "weight"), ("out",)),),
        {
            "image": Value("image", (1, 8, 16, 16), "float32", "input"),
            "weight": Value("weight", (8, 8, 3, 3), "float32", "parameter"),
            "out": Value("out", (1, 8, 16, 16), "float32"),
        },
        ("image", "weight"),
        ("out",),
    ),
    after=Graph("after", (), {}, (), ()),
)


@cases("device, remedy", [("CPU", True), ("GPU", False)])
def test_a_slow_convolution_has_a_remedy_on_cpu_only(device: str, remedy: bool) -> None:
    ledger = assemble(
        CONVOLUTION,
        title="Conv2D",
        device=cost.device("Ascend"),
        device_target=device,
        times_before={"Conv2D-op0": (1.0, 1e6, 0.0)},
    )
    (spot,) = ledger.hot_spots
    assert bool(spot.remedy) == remedy
