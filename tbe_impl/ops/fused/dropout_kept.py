"""Dropout mask as a function of an element's place and a key.

kept = 1 where the random bits of the place are at least p·2³², else 0.
Places are counted in memory order, modulo 2³².
Three multiplications mix the bits of a place; each follows a combination of the bits with a
shifted copy of them. The key enters after the first multiplication.
The mask is a stage with an explicit expression, because CANN's operations lack these.

Shapes: x any, of which only the shape is read; key (1,); kept has the shape of x.
dtypes: x and kept float16, float32; key int32.
Raises:
    OperatorError: the dtype is unsupported.
"""

import math

from tbe import tvm
from tbe.common.register import register_operator_compute
from tbe.common.utils import para_check

from tbe_impl.ops.fused import words
from tbe_impl.ops.fused.building import build, params

FACTORS = (0xED5AD4BB, 0xAC4C1B51, 0x31848BAB)
SHIFTS = (17, 11, 15, 14)


@register_operator_compute("CustomOpsDropoutKept", op_mode="static", support_fusion=True)
def dropout_kept_compute(x, key, kept, p=0.5, kernel_name="dropout_kept"):
    """Returns the graph of `dropout_kept`."""
    shape = words.sizes(x)

    def step(name, function):
        return tvm.compute(shape, function, name=name)

    def mixed(bits, shift):
        return step("mixed", lambda i: bits(i) ^ (bits(i) >> tvm.const(shift, "uint32")))

    def times(bits, factor):
        return step("times", lambda i: bits(i) * tvm.const(factor, "uint32"))

    def keyed(bits):
        return step("keyed", lambda i: bits(i) ^ key(0).astype("uint32"))

    places = step("places", lambda i: i.astype("uint32"))
    first, *factors = FACTORS
    bits = keyed(mixed(times(mixed(places, SHIFTS[0]), first), SHIFTS[1]))
    for factor, shift in zip(factors, SHIFTS[2:], strict=True):
        bits = mixed(times(bits, factor), shift)
    bar = tvm.const(round(p * 2**32), "uint32")
    ends = [tvm.const(one, x.dtype) for one in (1.0, 0.0)]
    return step("kept", lambda i: tvm.select(bits(i) >= bar, *ends))


@para_check.check_op_params(*params(2, 1, ("float",)))
def dropout_kept(x, key, kept, p=0.5, kernel_name="dropout_kept"):
    """Builds the kernel."""
    build(
        dropout_kept_compute,
        {"x": x, "key": key},
        [kept],
        [p],
        kernel_name,
        views={"x": [math.prod(x.get("shape"))]},
        dtypes={"key": ("int32",)},
        by_expression=True,
    )
