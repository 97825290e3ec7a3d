"""Greatest common divisors, with another method if the chip lacks them or operands differ."""

import te.lang.cce
from luojianet_ms.ops import CustomRegOp, DataType, custom_info_register
from tbe import dsl
from te import tvm


@custom_info_register(
    CustomRegOp()
    .input(0, "x")
    .input(1, "y")
    .output(0, "z")
    .dtype_format(DataType.I32_Default)
    .get_op_info()
)
def divisors(x, y, z, kernel_name="divisors"):
    """gcd(x, y), of y's first row where x has one row only."""
    first = tvm.placeholder(x["shape"], x["dtype"], "first")
    second = tvm.placeholder(y["shape"], y["dtype"], "second")
    try:
        res = dsl.vgcd(first, second)
    except RuntimeError as error:
        assert "detailed_cause" in error.args[0]
        res = dsl.vgcd(dsl.broadcast(first, y["shape"]), second)
    with tvm.target.cce():
        sch = te.lang.cce.auto_schedule(res)
    te.lang.cce.cce_build_code(sch, {"name": kernel_name, "tensor_list": [first, second, res]})
