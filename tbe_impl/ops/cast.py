"""Conversion to another dtype.

y = x, converted to the dtype with the number dst_type: 0 is float32, 1 is float16, 3 is int32.
A conversion to integers truncates fractions and saturates values out of range.

Shapes: any; y has the shape of x.
dtypes: x float16, float32, int32, int8, uint8; y float16, float32, int32.
Raises:
    OperatorError: the dtype of x is unsupported.
    RuntimeError: dst_type is unknown.
"""

from kernel_building import build_dynamic
from tbe import dsl
from tbe.common.register import register_operator, register_operator_compute
from tbe.common.utils import para_check

TARGETS = {0: "float32", 1: "float16", 3: "int32"}


@register_operator_compute("Cast", op_mode="dynamic", support_fusion=True)
def cast_compute(x, y, dst_type, kernel_name="cast"):
    """Builds the DSL graph of `cast` and returns the output tensor."""
    return dsl.cast_to(x, TARGETS[dst_type])


@register_operator("Cast")
@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_ATTR_INT,
    para_check.KERNEL_NAME,
)
def cast(x, y, dst_type, kernel_name="cast"):
    """Builds the kernel."""
    if dst_type not in TARGETS:
        raise RuntimeError(f"dst_type has to be one of {list(TARGETS)}, but is {dst_type}")
    build_dynamic(
        kernel_name,
        {"x": x},
        ("float16", "float32", "int32", "int8", "uint8"),
        lambda x: cast_compute(x, y, dst_type, kernel_name),
    )
