"""Half of the sum of squares.

y = Σ x² / 2 over all elements.

Shapes: x has at least one axis and one element; y has one element.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

import te.lang.cce
from kernel_building import build_static
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("l2_loss")
def l2_loss_compute(x, y, kernel_name="l2_loss"):
    """Builds the DSL graph of `l2_loss` and returns the output tensor."""
    wide = te.lang.cce.vmuls(te.lang.cce.cast_to(x, "float32"), 0.5**0.5)
    total = te.lang.cce.sum(te.lang.cce.vmul(wide, wide), axis=list(range(len(x.shape))))
    return te.lang.cce.cast_to(total, x.dtype)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT, para_check.REQUIRED_OUTPUT, para_check.KERNEL_NAME
)
def l2_loss(x, y, kernel_name="l2_loss"):
    """Builds the kernel."""
    build_static(
        kernel_name,
        {"x": x},
        ("float16", "float32"),
        lambda x: l2_loss_compute(x, y, kernel_name),
        min_rank=1,
    )
