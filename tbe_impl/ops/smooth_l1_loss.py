"""Element-wise smooth L1 loss.

loss = e²/(2·sigma) if |e| < sigma, and |e| − sigma/2 otherwise, where e = predict − label.

Shapes: all inputs and loss have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
"""

from kernel_building import build_static
from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("SmoothL1Loss", op_mode="static", support_fusion=True)
def smooth_l1_loss_compute(predict, label, loss, sigma=1.0, kernel_name="smooth_l1_loss"):
    """Builds the DSL graph of `smooth_l1_loss` and returns the output tensor."""
    size = dsl.vabs(dsl.vsub(predict, label))
    inside = dsl.vmins(size, sigma)
    square = dsl.vmuls(dsl.vmul(inside, inside), 0.5 / sigma)
    return dsl.vadd(square, dsl.vsub(size, inside))


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def smooth_l1_loss(predict, label, loss, sigma=1.0, kernel_name="smooth_l1_loss"):
    """Builds the kernel; the inputs are flattened to one axis."""
    build_static(
        kernel_name,
        {"predict": predict, "label": label},
        ("float16", "float32"),
        lambda predict, label: smooth_l1_loss_compute(predict, label, loss, sigma, kernel_name),
        equal=("shape", "dtype"),
        flatten=True,
    )
