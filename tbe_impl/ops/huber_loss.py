"""Element-wise Huber loss.

loss = e²/2 if |e| ≤ delta, and delta·(|e| − delta/2) otherwise, where e = predict − label.

Shapes: all inputs and loss have the same shape.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
"""

from kernel_building import build_dynamic
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check


@register_operator_compute("HuberLoss", op_mode="dynamic", support_fusion=True)
def huber_loss_compute(predict, label, loss, delta=1.0, kernel_name="huber_loss"):
    """Builds the DSL graph of `huber_loss` and returns the output tensor."""
    size = dsl.vabs(dsl.vsub(predict, label))
    inside = dsl.vmins(size, delta)
    return dsl.vadd(
        dsl.vmuls(dsl.vmul(inside, inside), 0.5), dsl.vmuls(dsl.vsub(size, inside), delta)
    )


@register_operator("HuberLoss")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def huber_loss(predict, label, loss, delta=1.0, kernel_name="huber_loss"):
    """Builds the kernel; sizes may be known, or unknown until run time (−1)."""
    build_dynamic(
        kernel_name,
        {"predict": predict, "label": label},
        ("float16", "float32"),
        lambda predict, label: huber_loss_compute(predict, label, loss, delta, kernel_name),
        equal=("shape", "dtype"),
    )
