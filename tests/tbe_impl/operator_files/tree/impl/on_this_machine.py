"""An operator that its author runs on the host processor, as in TVM's own tutorials."""

import numpy as np
import te.lang.cce as tbe
from tbe import dsl
from te import tvm


def on_this_machine(x, y, kernel_name="on_this_machine"):
    """The middle of an image after a round trip through channel blocks, doubled."""
    n, c, h, w = x["shape"]
    data = tvm.placeholder(x["shape"], x["dtype"], "data")
    blocks = tbe.compute_four2five(data, x["shape"])
    whole = tbe.compute_five2four(blocks, x["shape"])
    res = tbe.vmuls(dsl.slice(whole, [0, 0, 1, 0], [n, c, h - 1, w]), 2.0)
    function = tvm.build(
        tvm.create_schedule(res.op), [data, blocks, res], "c", "llvm", name=kernel_name
    )
    here = tvm.cpu(0)
    image = tvm.nd.array(
        np.random.default_rng(0).uniform(-1, 1, x["shape"]).astype(x["dtype"]), here
    )
    middle = tvm.nd.empty([size.value for size in blocks.shape], x["dtype"], here)
    found = tvm.nd.array(np.zeros((n, c, h - 2, w), x["dtype"]), here)
    function(image, middle, found)
    tvm.testing.assert_allclose(found.asnumpy(), image.asnumpy()[:, :, 1:-1] * 2)
    assert not middle.asnumpy()[:, -1, :, :, c % 16 :].any()
