"""A convolution and its image gradient for dynamic sizes, padded to one window per stride."""

import tbe.dsl as tbe
from tbe import tvm
from tbe.common.register import register_operator


def padding(size, stride):
    """Padding before and after, for windows of 3."""
    needed = tvm.max(((size + stride - 1) // stride - 1) * stride + 3 - size, 0)
    return needed // 2, needed - needed // 2


@register_operator("SameDynamic")
def same_dynamic(x, w, y, backwards=False, kernel_name="same_dynamic"):
    """x is the image; backwards it is the result of the convolution."""
    high, wide = tbe.var("high", (1, None)), tbe.var("wide", (1, None))
    weights = tvm.placeholder(w["shape"], w["dtype"], "weights")
    if backwards:
        sizes = [x["shape"][0], 1, (high + 1) // 2, (wide + 1) // 2, 16]
        data = tvm.placeholder(sizes, x["dtype"], "data")
        pads = [*padding(high, 2), *padding(wide, 2)]
        res = tbe.conv2d_backprop_input(
            weights,
            data,
            [16, 16, 3, 3],
            [x["shape"][0], 16, high, wide],
            {"strides": [2, 2], "padding": pads, "dilations": [1, 1, 1, 1], "res_dtype": "float16"},
        )
    else:
        data = tvm.placeholder([x["shape"][0], 1, high, wide, 16], x["dtype"], "data")
        res = tbe.conv(
            data,
            weights,
            {
                "stride_h": 2,
                "stride_w": 2,
                "pad_h": padding(high, 2),
                "pad_w": padding(wide, 2),
                "filter_h": 3,
                "filter_w": 3,
                "weight_ori_shape_nchw": (16, 16, 3, 3),
            },
        )
    with tvm.target.cce():
        sch = tbe.auto_schedule(res)
    tbe.build(sch, {"name": kernel_name, "tensor_list": [data, weights, res]})
