"""Operators that use toolkit names as public files do: one function per name."""

import te.lang.cce as cce
import te.lang.dynamic
from tbe import dsl
from tbe.common.utils import shape_util
from tbe.dsl.compute.pooling3d_max_grad_grad import pooling3d_max_grad_grad
from te import tvm
from te.lang.cce.te_compute import conv3d_backprop_input_compute as volumes
from te.lang.cce.te_compute.util import reuse_input_as_output
from te.utils.op_utils import broadcast_shapes, variable_shape


def _build(name, inputs, *results, schedule_of=cce.auto_schedule):
    with tvm.target.cce():
        schedule = schedule_of(list(results))
    cce.cce_build_code(schedule, {"name": name, "tensor_list": [*inputs, *results]})


def _inputs(**descriptions):
    return [tvm.placeholder(it["shape"], it["dtype"], name) for name, it in descriptions.items()]


def sum_of_2020(x, y, z, kernel_name="sum_of_2020"):
    """x + y, broadcast, as dynamic files of 2020 write it."""
    a, b = variable_shape([x, y], support_broadcast=True)
    a, b = tvm.placeholder(a, x["dtype"], "a"), tvm.placeholder(b, y["dtype"], "b")
    sizes = [te.lang.dynamic.shape_to_list(one.shape) for one in (a, b)]
    whole = broadcast_shapes(*sizes)[2]
    total = te.lang.dynamic.vadd(*(te.lang.dynamic.broadcast(one, whole) for one in (a, b)))
    _build(kernel_name, [a, b], total)


def step_of_rows(var, moment, grad, indices, var_out, moment_out, kernel_name="step_of_rows"):
    """Rows of moment get grad² more, rows of var grad / √moment less; the others are unchanged."""
    tensors, schedules = [], []
    for variant in dsl.classify(
        [var, moment, grad, indices], "sparse_apply", {"input_shape_type": [0, 0, 1, 2]}
    ):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant, op_mode="sparse_apply")
            names = ("var", "moment", "grad", "indices")
            given = [
                tvm.placeholder(shape, one["dtype"], name)
                for shape, one, name in zip(shapes, variant, names, strict=True)
            ]
            weights, moments, slopes, places = given
            total = dsl.vadd(dsl.gather(moments, places, axis=0), dsl.vmul(slopes, slopes))
            change = dsl.vdiv(slopes, dsl.vsqrt(total))
            made = dsl.vsub(dsl.gather(weights, places, axis=0), change)
            results = []
            for target, rows in ((weights, made), (moments, total)):
                k = tvm.sparse_axis((0, places.shape[0]), name="k")
                results.append(
                    tvm.compute(
                        target.shape,
                        lambda *i, k=k, rows=rows, places=places: tvm.sparse(
                            tvm.select(places[k] == i[0], rows(k, *i[1:])), axis=[k]
                        ),
                        name="written",
                    )
                )
            tensors.append([*given, *results])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(results))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})


def doubled_rows(x, indices, y, kernel_name="doubled_rows"):
    """The rows of x at indices, given by the axis alone, doubled."""
    data, places = _inputs(data=x, places=indices)
    k = tvm.sparse_axis((0, places.shape[0]), name="k")
    made = tvm.compute(
        data.shape, lambda r, c: tvm.sparse(tvm.select(places[k] == r, data(k, c) * 2), axis=[k])
    )
    _build(kernel_name, [data, places], made, schedule_of=dsl.auto_schedule)


def changed_points(var, indices, updates, y, reduction="update", kernel_name="changed_points"):
    """var, updated at points."""
    tensors, schedules = [], []
    for variant in dsl.classify([var, indices, updates], "scatter_nd"):
        with dsl.compute():
            shapes = shape_util.variable_shape(variant, "scatter")
            given = [
                tvm.placeholder(shape, one["dtype"], "abc"[n])
                for n, (shape, one) in enumerate(zip(shapes, variant, strict=True))
            ]
            made = dsl.scatter_nd(*given, reduction, support_out_of_bound_index=True)
            tensors.append([*given, made])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(made))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})


def points_of_zeros(indices, x, shape, y, kernel_name="points_of_zeros"):
    """x added at points of a zero tensor."""
    tensors, schedules = [], []
    for variant in dsl.classify([indices, x, shape], "scatter_nd", {"op_name": "scatter_nd"}):
        with dsl.compute():
            sizes = shape_util.variable_shape(variant, "scatter")
            zeros = tvm.compute(sizes[0], lambda *i: tvm.const(0, x["dtype"]), name="zeros")
            shapes = tvm.placeholder((8,), shape["dtype"], "shape")
            places = tvm.placeholder(sizes[1], indices["dtype"], "places")
            updates = tvm.placeholder(sizes[2], x["dtype"], "updates")
            made = dsl.scatter_nd(zeros, places, updates, "")
            tensors.append([places, updates, shapes, made])
        with tvm.target.cce():
            schedules.append(dsl.auto_schedule(made))
    dsl.build(schedules, {"name": kernel_name, "tensor_list": tensors})


def points_from_behind(x, indices, y, negative=True, kernel_name="points_from_behind"):
    """x at points; negative indices count from the end."""
    given = _inputs(x=x, indices=indices)
    made = dsl.gather_nd(*given, 0, negative, True)
    _build(kernel_name, given, made, schedule_of=dsl.auto_schedule)


def volume_gradient(w, dy, dx, filter_size, size, pads, kernel_name="volume_gradient"):
    """The gradient of a volume convolution for its input."""
    filters, slopes = _inputs(filters=w, slopes=dy)
    made = volumes.conv3d_backprop_input_compute(
        filters=filters,
        out_backprop=slopes,
        filter_sizes=filter_size,
        input_sizes=size,
        strides=[1, 1, 1, 1, 1],
        padding=pads,
        dilations=[1, 1, 1, 1, 1],
        res_dtype="float16",
        kernel_name=kernel_name,
    )
    _build(kernel_name, [filters, slopes], made)


def slopes_at_maxima(x, y, g, assist, z, ksize, strides, pads, padding, kernel_name="at_maxima"):
    """g at the maxima y of the windows of x."""
    given = _inputs(x=x, y=y, g=g, assist=assist)
    made = pooling3d_max_grad_grad(*given, ksize, strides, pads, "NDHWC", padding)
    _build(kernel_name, given, made)


def depthwise_filters(x, dy, dw, kernel, stride, pad, dilation, kernel_name="depthwise_filters"):
    """The gradient of a depthwise convolution for its filters."""
    given = _inputs(x=x, dy=dy)
    made = cce.depthwise_conv2d_backprop_filter_d_compute(
        *given, *kernel, stride, pad, dilation, "float32"
    )
    _build(kernel_name, given, made)


def depthwise_image(w, dy, dx, size, kernel, stride, pad, kernel_name="depthwise_image"):
    """The gradient of a depthwise convolution for its image."""
    given = _inputs(w=w, dy=dy)
    made = cce.depthwise_conv2d_backprop_input_d_compute(size, *given, kernel, stride, pad)
    _build(kernel_name, given, made)


def product_of_batches(x, y, z, batches, in_attributes=False, kernel_name="product_of_batches"):
    """x·y for batches merged into one axis and broadcast."""
    sizes = [
        {"format": "FRACTAL_NZ", **({"ori_batch_shape": one} if in_attributes else {})}
        for one in batches
    ]
    a, b = (
        tvm.placeholder(one["shape"], "float16", name, attrs=more)
        for one, name, more in zip((x, y), "ab", sizes, strict=True)
    )
    options = {
        "trans_a": True,
        "trans_b": True,
        "format_a": "FRACTAL_NZ",
        "format_b": "FRACTAL_NZ",
        "dst_dtype": "float16",
    }
    if not in_attributes:
        options |= {"batch_shape_a": batches[0], "batch_shape_b": batches[1]}
    made = dsl.gemm(tensor_a=a, tensor_b=b, para_dict=options)
    _build(kernel_name, [a, b], made)


def scaled_by_first_row(x, scale, y, kernel_name="scaled_by_first_row"):
    """x times the first elements of scale, one per column."""
    rows, columns = x["shape"]
    data = tvm.placeholder((rows, columns), x["dtype"], "data")
    factor = tvm.placeholder((1, columns), x["dtype"], "factor")
    made = cce.vmul(data, cce.broadcast(factor, (rows, columns)))
    reuse_input_as_output(data, made, kernel_name)
    _build(kernel_name, [data, factor], made)


def not_in_the_bank(x, y, kernel_name="not_in_the_bank"):
    """−x, unless a search stored a schedule for it, and windows in this chip's layout."""
    from tbe.common.rl_bank import query_rl_bank
    from te.domain.rl_bank import rl_bank
    from te.platform import get_soc_spec

    (data,) = _inputs(x=x)
    made = cce.vmuls(data, -1 if get_soc_spec("load3d_constraints") in ("0", "1") else 1)
    for found, schedule in (rl_bank.query_rl_bank([made]), query_rl_bank([made], op_info=None)):
        assert not found and schedule is None
    _build(kernel_name, [data], made)
