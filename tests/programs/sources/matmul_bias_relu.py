"""Memory traffic of a product with bias and ReLU from its ledger, and the result for NaN."""

import mindspore as ms
import numpy as np
from mindspore import nn

import ms_fusion as mf
from ms_fusion.report.wording import build_text
from tests.programs.presets.child import RESULT, answer

ms.set_context(mode=ms.GRAPH_MODE)
mf.enable()
values = np.random.default_rng(0).standard_normal((64, 128)).astype(np.float32)
values[1, 5] = np.nan
x = ms.Tensor(values)


def kernel_of(net):
    ledger = mf.explain(net, x, measure=False, accuracy=False, isolate=False)
    (kernel,) = ledger.kernels
    return ledger, kernel


def steps_of(kernel):
    return [[step.by, list(step.operators), step.second_pass_bytes] for step in kernel.build.steps]


net = nn.Dense(128, 256, activation="relu")
made = net(x).asnumpy()
want = values.astype(np.float64) @ net.weight.asnumpy().T + net.bias.asnumpy()
want = np.where(want < 0, 0, want)
RESULT["close"] = bool(np.allclose(made, want, rtol=1e-4, atol=1e-4, equal_nan=True))
RESULT["nan rows"] = np.flatnonzero(np.isnan(made).any(1)).tolist()

ledger, kernel = kernel_of(net)
RESULT["result bytes"], RESULT["steps"] = made.nbytes, steps_of(kernel)
RESULT["bytes written"] = kernel.work.bytes_written
RESULT["writes"] = kernel.stages.write_us / kernel.stages_unfused[0].write_us
RESULT["text"] = build_text(kernel)
RESULT["unfused writes"] = len(kernel.stages_unfused)
RESULT["bytes before"], RESULT["bytes after"] = ledger.before.bytes_moved, ledger.after.bytes_moved
RESULT["bias alone"] = steps_of(kernel_of(nn.Dense(128, 256))[1])
answer()
