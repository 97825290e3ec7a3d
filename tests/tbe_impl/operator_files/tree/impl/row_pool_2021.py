"""Windows from the toolkit, ``tvm.sum``, shapes from attributes, an optional parameter."""

import te.lang.cce
import topi
from te import tvm
from te.utils import para_check
from topi.cce import util
from topi.generic import auto_schedule


def row_pool_2021_compute(data, scale, window, stride, padding):
    """The graph: pairs of neighbours first, then each further one."""
    rows, size = [item.value for item in data.op.attrs["ori_shape"]]
    count, before, _ = te.lang.cce.te_compute.common.tf_get_windowed_output_size_verbose(
        size, window, stride, padding
    )
    wide = tvm.compute(data.shape, lambda *i: topi.cast(data(*i), "float32"), name="wide")
    filled = tvm.compute(
        (rows, (count - 1) * stride + window),
        lambda r, c: tvm.select(
            tvm.any(c < before, c >= size + before), tvm.const(0, "float32"), wide[r, c - before]
        ),
        name="filled",
    )
    total = tvm.compute(
        (rows, count),
        lambda r, c: tvm.sum(filled[r, c * stride], filled[r, c * stride + 1]),
        name="pairs",
    )
    for place in range(2, window):
        total = tvm.compute(
            (rows, count),
            lambda r, c, total=total, place=place: tvm.sum(
                filled[r, c * stride + place], total[r, c]
            ),
            name="total",
        )
    return total if scale is None else te.lang.cce.vmuls(total, scale)


@para_check.check_input_type(dict, dict, (float, para_check.NONE_TYPE), int, int, str, str)
def row_pool_2021(x, y, scale, window, stride, padding, kernel_name="row_pool_2021"):
    """Sums of sliding windows along rows."""
    if util.get_product_version() != util.VERSION_CLOUD or util.is_v200_version():
        raise RuntimeError("written for one family of chips")
    data = tvm.placeholder(x["shape"], x["dtype"], "data", attrs={"ori_shape": x["ori_shape"]})
    with tvm.target.cce():
        res = row_pool_2021_compute(data, scale, window, stride, padding)
        schedule = auto_schedule(res)
    te.lang.cce.cce_build_code(schedule, {"name": kernel_name, "tensor_list": [data, res]})
