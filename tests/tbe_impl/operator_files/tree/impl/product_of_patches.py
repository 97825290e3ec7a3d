"""An explicit convolution of one group of 16 channels: patches, blocks, product with the filter."""

import te.lang.cce
from te import tvm


def product_of_patches(x, w, y, strides, pads, dilations, kernel_name="product_of_patches"):
    """x: (n, 1, 1, h, w, 16); w: (1, kh·kw, 1, 16, 16); y: (n, 1, 1, padded places, 16)."""
    common = te.lang.cce.te_compute.common
    image = tvm.placeholder(x["shape"], x["dtype"], "image")
    weights = tvm.placeholder(w["shape"], w["dtype"], "weights")
    assert image.op.shape[0].value == x["shape"][0]
    n, high, wide = x["shape"][0], 3, 2
    places = y["shape"][3]
    rows = common.im2col_6d(
        image, (n, 1, y["places"], 1, high, wide, 16), high, wide, pads, strides, 0.0, dilations
    )
    blocks = common.im2col_fractal_6d((n, 1, places // 16, high * wide, 16, 16), rows)
    res = common.mad((n, 1, 1, places, 16), blocks, weights, "float32")
    with tvm.build_config:
        tvm.build(tvm.create_schedule(res.op), [image, weights, res], "cce", name=kernel_name)
