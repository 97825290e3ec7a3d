"""`mf.enable()` in a script whose only compiled code is one `@ms.jit` function."""

import warnings

import mindspore as ms
import numpy as np
from mindspore import ops

import ms_fusion as mf
from ms_fusion.kernel_server import launch_log
from tests.programs.presets.child import RESULT, answer

with warnings.catch_warnings(record=True) as said:
    warnings.simplefilter("always")
    RESULT["before"] = repr(mf.enable()).splitlines()[0]

    @ms.jit
    def function(x):
        return ops.exp(x) * 2.0 + 1.0

    x = ms.Tensor(np.linspace(-1, 1, 4096, dtype=np.float32).reshape(64, 64))
    function(x)
    with launch_log.watch_launches() as seen:
        function(x).asnumpy()
    RESULT["checked"] = [one.code for one in mf.check(function, x)]
RESULT["said"], RESULT["launches"] = [str(one.message) for one in said], len(seen)
answer()
