"""Kullback-Leibler divergence from log probabilities.

y = Σ target·(ln target − x) / divisor over the elements with target > 0.
x contains log probabilities. For the reduction "batchmean" the divisor is the size of the first
axis of x; for "sum" the divisor is 1.

Shapes: x and target have the same shape; y has one element.
dtypes: float16, float32.
Raises:
    OperatorError: the dtype is unsupported, or shapes or dtypes of the inputs differ.
    RuntimeError: the reduction is unknown.
"""

import te.lang.cce
from kernel_building import build_static
from te import tvm
from te.platform.fusion_manager import fusion_manager
from te.utils import para_check


@fusion_manager.register("kl_div")
def kl_div_compute(x, target, y, reduction, first, kernel_name="kl_div"):
    """Builds the DSL graph of `kl_div` and returns the output tensor."""
    wide, goal = te.lang.cce.cast_to(x, "float32"), te.lang.cce.cast_to(target, "float32")
    zero = te.lang.cce.broadcast(tvm.const(0.0, "float32"), x.shape)
    safe = te.lang.cce.vmaxs(goal, 2.0**-120)
    each = te.lang.cce.vmul(goal, te.lang.cce.vsub(te.lang.cce.vlog(safe), wide))
    each = te.lang.cce.vcmpsel(goal, zero, "gt", each, zero)
    if reduction == "batchmean":
        each = te.lang.cce.vmuls(each, 1.0 / first)
    total = te.lang.cce.sum(each, axis=list(range(len(x.shape))))
    return te.lang.cce.cast_to(total, x.dtype)


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.OPTION_ATTR_STR,
    para_check.KERNEL_NAME,
)
def kl_div(x, target, y, reduction="batchmean", kernel_name="kl_div"):
    """Builds the kernel."""
    if reduction not in ("batchmean", "sum"):
        raise RuntimeError(f"reduction has to be batchmean or sum, but is {reduction}")
    batch = x.get("shape")[0] if x.get("shape") else 1
    build_static(
        kernel_name,
        {"x": x, "target": target},
        ("float16", "float32"),
        lambda x, target: kl_div_compute(x, target, y, reduction, batch, kernel_name),
        equal=("shape", "dtype"),
        min_rank=1,
    )
