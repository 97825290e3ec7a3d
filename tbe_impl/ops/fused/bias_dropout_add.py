"""Dropout of a tensor with a bias, added to a residual.

y = (x + bias)·kept / (1 − p) + residual. With p = 0, kept is not read.

Shapes: bias and residual broadcast to x; kept and y have the shape of x. kept is 0 or 1.
dtypes: float16, float32; computed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, of_one_rank, params


@register_operator_compute("CustomOpsBiasDropoutAddOfKept", op_mode="static", support_fusion=True)
def bias_dropout_add_compute(x, bias, residual, kept, y, p=0.5, kernel_name="bias_dropout_add"):
    """Returns the graph of `bias_dropout_add`."""
    given, added, rest = words.together(x, bias, residual)
    whole = words.left_by_dropout(dsl.vadd(given, added), kept, p)
    return dsl.cast_to(dsl.vadd(whole, rest), x.dtype)


@para_check.check_op_params(*params(4, 1, ("float",)))
def bias_dropout_add(x, bias, residual, kept, y, p=0.5, kernel_name="bias_dropout_add"):
    """Builds the kernel."""
    given = {"x": x, "bias": bias, "residual": residual, "kept": kept}
    build(bias_dropout_add_compute, given, [y], [p], kernel_name, views=of_one_rank(**given))
