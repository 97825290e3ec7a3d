"""``gather`` and ``gather_nd`` of dynamic operator files: axis and batch from the classifier."""

from tbe import dsl, tvm
from tbe.common.register import register_operator
from tbe.common.utils import shape_util


@register_operator("GatheredRows")
def gathered_rows(x, indices, y, axis=None, batch_dims=0, kernel_name="gathered_rows"):
    """params at indices along an axis; by default the first after the batch."""
    tensors, schedules = [], []
    for variant in dsl.classify([x, indices, axis, batch_dims], "gather"):
        with dsl.compute():
            params, places, _, batch = shape_util.variable_shape(list(variant), "gather")
            params = tvm.placeholder(params, name="params", dtype=x["dtype"])
            places = tvm.placeholder(places, name="places", dtype=indices["dtype"])
            found = dsl.gather(params, places, batch + 1, batch)
            tensors.append([params, places, found])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(found))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})


def gathered_points(x, indices, y, batch_dims=0, kernel_name="gathered_points"):
    """params at the points in the last axis of indices."""
    tensors, schedules = [], []
    for a, b, batch in dsl.classify([x, indices, batch_dims], "gather_nd"):
        with dsl.compute():
            params, places = shape_util.variable_shape([a, b], "gather")
            params = tvm.placeholder(params, name="params", dtype=x["dtype"])
            places = tvm.placeholder(places, name="places", dtype=indices["dtype"])
            found = dsl.gather_nd(params, places, batch)
            tensors.append([params, places, found])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(found))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})
