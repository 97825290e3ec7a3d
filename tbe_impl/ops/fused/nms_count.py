"""Number of kept boxes per image.

counts = Σ is_kept over the last axis.

Shapes: is_kept (images, results), counts (images,).
dtypes: is_kept float32, 0 or 1; counts int32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused.building import build, params

DTYPES = ("float32",)
"""Of marks."""


@register_operator_compute("CustomOpsNMSCount", op_mode="static", support_fusion=True)
def nms_count_compute(is_kept, counts, kernel_name="nms_count"):
    """Returns the graph of `nms_count`."""
    return dsl.cast_to(dsl.reduce_sum(is_kept, axis=[1]), "int32")


@para_check.check_op_params(*params(1, 1))
def nms_count(is_kept, counts, kernel_name="nms_count"):
    """Builds the kernel."""
    build(
        nms_count_compute,
        {"is_kept": is_kept},
        [counts],
        [],
        kernel_name,
        dtypes={"is_kept": DTYPES},
    )
