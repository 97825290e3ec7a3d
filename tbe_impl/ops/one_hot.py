"""One-hot rows.

y[i, k] = on_value if x[i] = k, and off_value otherwise.

Shapes: x (N,), y (N, depth); on_value and off_value have one element.
dtypes: x int32; on_value and off_value float16, float32.
Raises:
    OperatorError: a dtype is unsupported.
"""

from te import tvm
from te.platform.cce_build import build_config
from te.utils import para_check


def one_hot_compute(x, on_value, off_value, depth):
    """Builds the DSL graph of `one_hot`, a single stage; returns the output tensor."""
    return tvm.compute(
        (x.shape[0], depth),
        lambda row, column: tvm.select(x[row] == column, on_value[0], off_value[0]),
        name="res",
    )


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_ATTR_INT,
    para_check.KERNEL_NAME,
)
def one_hot(x, on_value, off_value, y, depth, kernel_name="one_hot"):
    """Builds the kernel with the default schedule."""
    dtype = on_value.get("dtype").lower()
    para_check.check_dtype(x.get("dtype").lower(), ("int32",), param_name="x")
    para_check.check_dtype(dtype, ("float16", "float32"), param_name="on_value")
    data = tvm.placeholder(x.get("shape"), name="data", dtype="int32")
    marks = [tvm.placeholder((1,), name=name, dtype=dtype) for name in ("on_value", "off_value")]
    res = one_hot_compute(data, *marks, depth)
    with tvm.target.cce():
        schedule = tvm.create_schedule(res.op)
    with build_config:
        tvm.build(schedule, [data, *marks, res], "cce", name=kernel_name)
