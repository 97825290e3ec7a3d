"""Binary cross entropy of probabilities.

output = −weight·(y·ln max(x, 1e-12) + (1 − y)·ln max(1 − x, 1e-12)); weight is optional.
The reductions "mean" and "sum" reduce output over all elements; "none" keeps all elements.

Shapes: x, y and weight have the same shape.
    With reduction "none", output has this shape too; otherwise output has one element.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported, or the shapes of x and y differ.
    RuntimeError: the reduction is unknown.
"""

import te.lang.cce
from kernel_building import build_static
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check, shape_util

SMALLEST = 1e-12


@fusion_manager.register("binary_cross_entropy")
def binary_cross_entropy_compute(
    x, y, weight, output, reduction, kernel_name="binary_cross_entropy"
):
    """Builds the DSL graph of `binary_cross_entropy` and returns the output tensor."""
    shape = shape_util.shape_to_list(x.shape)
    wide, label = te.lang.cce.cast_to(x, "float32"), te.lang.cce.cast_to(y, "float32")
    rest = te.lang.cce.vadds(te.lang.cce.vmuls(wide, -1.0), 1.0)
    other = te.lang.cce.vadds(te.lang.cce.vmuls(label, -1.0), 1.0)
    first = te.lang.cce.vmul(label, te.lang.cce.vlog(te.lang.cce.vmaxs(wide, SMALLEST)))
    second = te.lang.cce.vmul(other, te.lang.cce.vlog(te.lang.cce.vmaxs(rest, SMALLEST)))
    res = te.lang.cce.vmuls(te.lang.cce.vadd(first, second), -1.0)
    if weight is not None:
        res = te.lang.cce.vmul(res, te.lang.cce.cast_to(weight, "float32"))
    if reduction == "mean":
        res = te.lang.cce.vmuls(res, 1.0 / shape_util.get_shape_size(shape))
    if reduction != "none":
        res = te.lang.cce.sum(res, axis=list(range(len(shape))))
    return te.lang.cce.cast_to(res, x.dtype)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.OPTION_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_STR,
    para_check.KERNEL_NAME,
)
def binary_cross_entropy(
    x, y, weight, output, reduction="mean", kernel_name="binary_cross_entropy"
):
    """Builds the kernel."""
    if reduction not in ("mean", "sum", "none"):
        raise RuntimeError(f"reduction has to be mean, sum or none, but is {reduction}")
    inputs = {"x": x, "y": y} if weight is None else {"x": x, "y": y, "weight": weight}
    build_static(
        kernel_name,
        inputs,
        ("float16", "float32"),
        lambda x, y, weight=None: binary_cross_entropy_compute(
            x, y, weight, output, reduction, kernel_name
        ),
        equal=("shape",),
        min_rank=1,
    )
