"""Loss and gradients of a block by preset, beside unfused: JSON of [generator, preset, dtype] …"""

import json
import sys
import warnings

import mindspore as ms
import numpy as np
from mindspore import Tensor

import ms_fusion as mf
from tests import nets
from tests.programs.presets.child import RESULT, answer, kernels


def gradients(preset, generator, dtype):
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
        with mf.fusion(preset, generator=generator):
            value, found = step(x)
    return [value.asnumpy(), *(item.asnumpy() for item in found)]


runs = json.loads(sys.argv[2])
for dtype in dict.fromkeys(dtype for *_, dtype in runs):
    wanted = gradients("off", "mindspore", dtype)
    scale = max(np.abs(item).max() for item in wanted)
    for generator, preset, _ in [run for run in runs if run[-1] == dtype]:
        before = len(kernels())
        found = gradients(preset, generator, dtype)
        worst = max(np.abs(one - other).max() for one, other in zip(found, wanted, strict=True))
        built = len(kernels()) - before
        RESULT[f"{generator} {preset} {dtype}"] = [float(worst / scale), built]

answer()
