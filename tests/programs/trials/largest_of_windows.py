"""Pooling of dynamic sizes: the tensor description from the classifier has the windows."""

from impl.util.pooling_pattern_adapter import PoolingPattern, ReduceWindowAttr
from tbe import dsl, tvm
from tbe.common.utils import shape_util


def largest_of_windows(
    x, y, axes, windows, mode="CALCULATED", kind="MAX", rounding="FLOOR", kernel_name="largest"
):
    """The reduction of every window; `windows` gives the classifier's values in lower case."""
    extra = {getattr(PoolingPattern, name.upper()): value for name, value in windows.items()}
    tensors, schedules = [], []
    for image, places in dsl.classify([x, axes], "pooling", extra):
        with dsl.compute():
            (shape,) = shape_util.variable_shape([image], op_mode="pooling")
            data = tvm.placeholder(shape, name="data", dtype=x["dtype"])
            found = dsl.reduce_window(
                data,
                getattr(ReduceWindowAttr, kind),
                places,
                image.get(PoolingPattern.WINDOW_DIMENSIONS),
                image.get(PoolingPattern.WINDOW_STRIDES),
                image.get(PoolingPattern.WINDOW_DILATIONS),
                mode,
                image.get(PoolingPattern.PADDING_DIMENSIONS),
                getattr(ReduceWindowAttr, rounding),
            )
            tensors.append([data, found])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(found))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
