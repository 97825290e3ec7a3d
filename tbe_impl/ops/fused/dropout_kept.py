"""What a dropout keeps: a function of the place of an element and of a key.

kept = 1 where the random bits of a place are at least p·2³², else 0. Places are counted in the order of memory, modulo 2³²;
their bits are mixed by three multiplications, each after a shifted copy of them came in, the key after the first. Those of
CANN's words lack: it is a stage by its expression.

Shapes: x any, of which only the shape counts, key (1,); kept like x. dtypes: x and kept float16, float32; key int32. Errors:
another dtype: the error of `para_check`.
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
    """The graph of `dropout_kept`."""
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
