"""Squared error.

y = (predict − label)².
The reductions "mean" and "sum" reduce y over all elements; "none" keeps all elements.

Shapes: predict and label have the same shape.
    With reduction "none", y has this shape too; otherwise y has one element.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
    RuntimeError: the reduction is unknown.
"""

from kernel_building import build_static
from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check, shape_util


@register_operator_compute("MseLoss", op_mode="static", support_fusion=True)
def mse_loss_compute(predict, label, y, reduction="mean", kernel_name="mse_loss"):
    """Builds the DSL graph of `mse_loss` and returns the output tensor."""
    distance = dsl.vsub(dsl.cast_to(predict, "float32"), dsl.cast_to(label, "float32"))
    res = dsl.vmul(distance, distance)
    shape = shape_util.shape_to_list(predict.shape)
    if reduction == "mean":
        res = dsl.vmuls(res, 1.0 / shape_util.get_shape_size(shape))
    if reduction != "none":
        res = dsl.reduce_sum(res, axis=list(range(len(shape))))
    return dsl.cast_to(res, predict.dtype)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_STR,
    para_check.KERNEL_NAME,
)
def mse_loss(predict, label, y, reduction="mean", kernel_name="mse_loss"):
    """Builds the kernel."""
    if reduction not in ("mean", "sum", "none"):
        raise RuntimeError(f"reduction has to be mean, sum or none, but is {reduction}")
    build_static(
        kernel_name,
        {"predict": predict, "label": label},
        ("float16", "float32"),
        lambda predict, label: mse_loss_compute(predict, label, y, reduction, kernel_name),
        equal=("shape", "dtype"),
        min_rank=1,
    )
