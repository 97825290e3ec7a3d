"""RMS normalisation of a sum; the sum is a second output.

sum = x + residual
y = sum·rstd·gamma
rstd = 1 / √(mean sum² + epsilon)
The mean is taken over the axes of gamma.

Shapes: gamma has the last axes of x; rstd has size 1 in these axes.
dtypes: float16, float32; computed in float32. rstd is float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsAddRMSNorm", op_mode="static", support_fusion=True)
def add_rms_norm_compute(
    x, residual, gamma, y, sum, rstd, epsilon=1e-06, kernel_name="add_rms_norm"
):
    """Returns the graph of `add_rms_norm`."""
    both = dsl.vadd(words.wide(x), words.wide(residual))
    res, scale = words.by_root_mean_square(both, gamma, epsilon)
    return [dsl.cast_to(res, x.dtype), dsl.cast_to(both, x.dtype), scale]


@para_check.check_op_params(*params(3, 3, ("float",)))
def add_rms_norm(x, residual, gamma, y, sum, rstd, epsilon=1e-06, kernel_name="add_rms_norm"):
    """Builds the kernel."""
    build(
        add_rms_norm_compute,
        {"x": x, "residual": residual, "gamma": gamma},
        [y, sum, rstd],
        [epsilon],
        kernel_name,
    )
