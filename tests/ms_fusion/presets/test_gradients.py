"""A whole net under each preset: loss and gradients are those of the unfused run, also in mixed precision."""

from __future__ import annotations

import pytest

from tests.ms_fusion.presets.mindspore_child import HEAD, run

GRADIENTS = """
from tests import nets
def gradients(preset, dtype):
    net, rng = nets.Block(), np.random.default_rng(1)
    for parameter in net.get_parameters():
        parameter.set_data(Tensor((rng.standard_normal(parameter.shape) * 0.2).astype(np.float32)))
    if dtype == "float16":
        net.to_float(ms.float16)
    x = nets.floats(4, 32, 64)
    def loss(x):
        return (net(x).astype(ms.float32) ** 2).mean()
    gradient = ms.value_and_grad(loss, None, list(net.trainable_params()))
    @ms.jit
    def step(x):
        return gradient(x)
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        with mf.fusion(preset, generator=GENERATOR):
            value, found = step(x)
    return [value.asnumpy(), *(item.asnumpy() for item in found)]

for dtype in ("float32", "float16"):
    wanted = gradients("off", dtype)
    scale = max(np.abs(item).max() for item in wanted)
    for preset in PRESETS:
        before = len(kernels())
        found = gradients(preset, dtype)
        worst = max(np.abs(one - other).max() for one, other in zip(found, wanted))
        RESULT[f"{preset} {dtype}"] = [float(worst / scale), len(kernels()) - before]
"""
PRESETS = {
    "mindspore": ("basic", "auto", "aggressive", "expert", "precise"),
    "ms_fusion": ("auto",),
}
TOLERANCE = {"float32": 1e-4, "float16": 4e-3}
"""Of the largest gradient. `aggressive` lets in exponentials that are off by 2.8e-4."""


@pytest.mark.mindspore
@pytest.mark.parametrize("generator", PRESETS)
def test_loss_and_gradients_are_those_of_the_unfused_net(tmp_path, generator):
    presets = PRESETS[generator]
    body = f"PRESETS, GENERATOR = {presets}, {generator!r}\n{GRADIENTS}"
    found = run(body, tmp_path / "work", head=HEAD)
    assert "tiling repo" not in found.output and "Stack trace" not in found.output
    assert len(found.result) == len(presets) * len(TOLERANCE)
    for name, (worst, built) in found.result.items():
        preset, dtype = name.split()
        assert worst <= TOLERANCE[dtype], name
        if preset == "precise":
            assert worst == 0.0, name
        if preset in ("auto", "basic") and dtype == "float32":
            assert built, f"{name}: nothing was fused, so nothing was tested"
