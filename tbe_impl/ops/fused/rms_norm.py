"""RMS normalisation; the reciprocal root mean square is a second output.

y = x·rstd·gamma
rstd = 1 / √(mean x² + epsilon)
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


@register_operator_compute("CustomOpsRMSNorm", op_mode="static", support_fusion=True)
def rms_norm_compute(x, gamma, y, rstd, epsilon=1e-06, kernel_name="rms_norm"):
    """Returns the graph of `rms_norm`."""
    res, scale = words.by_root_mean_square(words.wide(x), gamma, epsilon)
    return [dsl.cast_to(res, x.dtype), scale]


@para_check.check_op_params(*params(2, 2, ("float",)))
def rms_norm(x, gamma, y, rstd, epsilon=1e-06, kernel_name="rms_norm"):
    """Builds the kernel."""
    build(rms_norm_compute, {"x": x, "gamma": gamma}, [y, rstd], [epsilon], kernel_name)
