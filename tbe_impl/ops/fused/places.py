"""Indices along an axis.

places[i] = i. It is a stage with an explicit expression, which CANN's operations lack.

Shapes: x any, of which only the shape is read; places (n, 1), or (1, n) where `in_row` is set;
    n is the size of the axis.
dtypes: x float16, float32; places float32, so n is at most 2²⁴.
Raises:
    OperatorError: the dtype is unsupported.
    RuntimeError: the axis has more than 2²⁴ elements.
"""

from tbe import tvm
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params


@register_operator_compute("CustomOpsPlaces", op_mode="static", support_fusion=True)
def places_compute(x, places, axis=-2, in_row=False, kernel_name="places"):
    """Returns the graph of `places`."""
    size = words.sizes(x)[axis]
    return tvm.compute([size], lambda i: i.astype("float32"), name="places")


@para_check.check_op_params(*params(1, 1, ("int", "bool")))
def places(x, places, axis=-2, in_row=False, kernel_name="places"):
    """Builds the kernel."""
    if x.get("shape")[axis] > 2**24:
        raise RuntimeError(f"float32 does not tell the places of {x.get('shape')[axis]} apart")
    build(places_compute, {"x": x}, [places], [axis, in_row], kernel_name, by_expression=True)
