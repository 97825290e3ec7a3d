"""Sums of rows with the same segment number.

y[k, …] = Σ x[i, …] over all i with segment_ids[i] = k; y[k] is 0 if no such i exists.

Shapes: x (N, …), segment_ids (N,), y (num_segments, …).
dtypes: x float16, float32, int32; segment_ids int32.
Raises:
    OperatorError: a dtype is unsupported.
    RuntimeError: segment_ids does not have one number for each row.
"""

import te.lang.cce
from kernel_building import build_kernel
from te import tvm
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("unsorted_segment_sum")
def unsorted_segment_sum_compute(
    x, segment_ids, y, num_segments, kernel_name="unsorted_segment_sum"
):
    """Builds the DSL graph of `unsorted_segment_sum` and returns the output tensor."""
    return te.lang.cce.unsorted_segment_sum(x, segment_ids, num_segments)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_ATTR_INT,
    para_check.KERNEL_NAME,
)
def unsorted_segment_sum(x, segment_ids, y, num_segments, kernel_name="unsorted_segment_sum"):
    """Builds the kernel."""
    shape, dtype = x.get("shape"), x.get("dtype").lower()
    para_check.check_dtype(dtype, ("float16", "float32", "int32"), param_name="x")
    para_check.check_dtype(segment_ids.get("dtype").lower(), ("int32",), param_name="segment_ids")
    if tuple(segment_ids.get("shape")) != (shape[0],):
        raise RuntimeError(f"segment_ids has to have one number for each of {shape[0]} rows")
    data = tvm.placeholder(shape, name="data", dtype=dtype)
    ids = tvm.placeholder((shape[0],), name="ids", dtype="int32")
    build_kernel(
        kernel_name,
        [data, ids],
        unsorted_segment_sum_compute(data, ids, y, num_segments, kernel_name),
    )
