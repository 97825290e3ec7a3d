"""Maximum of every window with its position; the windows are classified with the shape."""

from tbe import dsl, tvm
from tbe.common.register import register_operator
from tbe.common.utils import shape_util


@register_operator("PeaksDynamic")
def peaks_dynamic(x, y, places, sizes, strides, kernel_name="peaks_dynamic"):
    """Maxima of an image in NCHW, with a padding of one row and column."""
    known = {
        "WINDOW_AXES": [2, 3],
        "ATTR_AXES": [1, 2],
        "WINDOW_DIMENSIONS": sizes,
        "WINDOW_STRIDES": strides,
        "WINDOW_PADDINGS": [[1, 1]] * 4,
        "WINDOW_DILATIONS": [1] * 4,
        "CEIL_MODE": False,
    }
    schedules, tensors = [], []
    for variant in dsl.classify([x], "pooling_with_arg", known):
        with dsl.compute():
            shape, axes, window, stride, padding, dilation = shape_util.variable_shape(
                list(variant), op_mode="pooling_with_arg"
            )
            data = tvm.placeholder(shape, x["dtype"], "data", attrs={"axes": axes})
            slid = [axis.value for axis in data.op.attrs["axes"]]
            rounding = "CEIL" if variant[-1] else "FLOOR"
            found = dsl.reduce_window(
                data, "MAX", slid, window, stride, dilation, "CALCULATED", padding, rounding, True
            )
        tensors.append([data, *found])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(found))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
