"""Sum of several tensors.

y = xs[0] + xs[1] + …

Shapes: all inputs and y have the same shape.
dtypes: float16, float32, int32.
Raises:
    RuntimeError: there are fewer than two tensors.
    OperatorError: the dtype is unsupported, or the shapes differ.
"""

import te.lang.cce
from kernel_building import build_kernel
from te import tvm
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check, shape_util


@fusion_manager.register("add_n")
def add_n_compute(xs, y, kernel_name="add_n"):
    """Builds the DSL graph of `add_n` and returns the output tensor."""
    total = xs[0]
    for item in xs[1:]:
        total = te.lang.cce.vadd(total, item)
    return total


@para_check.check_op_params(
    para_check.DYNAMIC_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def add_n(xs, y, kernel_name="add_n"):
    """Builds the kernel."""
    if len(xs) < 2:
        raise RuntimeError(f"add_n takes two tensors or more, but got {len(xs)}")
    dtype = xs[0].get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32", "int32"), param_name="xs")
    for item in xs[1:]:
        shape_util.compare_tensor_dict_key(xs[0], item, "shape")
    data = [
        tvm.placeholder(item.get("shape"), name=f"data_{index}", dtype=dtype)
        for index, item in enumerate(xs)
    ]
    build_kernel(kernel_name, data, add_n_compute(data, y, kernel_name))
