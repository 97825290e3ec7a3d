"""Document 004, 3.2.2, with the omitted operator information and the intended sigmoid."""

import te.lang.cce
from mindspore.ops import DataType, TBERegOp, op_info_register
from te import tvm
from topi import generic

Swish_op_info = (
    TBERegOp("Swish")
    .fusion_type("OPAQUE")
    .kernel_name("SwishImpl")
    .attr("beta", "required", "float", "all")
    .input(0, "x", False, "required", "all")
    .output(0, "y", False, "required", "all")
    .dtype_format(DataType.F16_Default, DataType.F16_Default)
    .dtype_format(DataType.F32_Default, DataType.F32_Default)
    .get_op_info()
)


def swish_compute(input_x, beta, output_y):
    power = te.lang.cce.vexp(te.lang.cce.vmuls(input_x, -beta))
    sigmoid = te.lang.cce.vrec(te.lang.cce.vadds(power, 1.0))
    return te.lang.cce.vmul(input_x, sigmoid)


@op_info_register(Swish_op_info)
def SwishImpl(input_x, output_y, beta=1.0, kernel_name="SwishImpl"):
    shape = input_x.get("shape")
    dtype = input_x.get("dtype").lower()
    data = tvm.placeholder(shape, name="data", dtype=dtype)
    with tvm.target.cce():
        res = swish_compute(data, float(beta), output_y)
        sch = generic.auto_schedule(res)
        config = {
            "name": kernel_name,
            "tensor_list": [data, res],
        }
        te.lang.cce.cce_build_code(sch, config)
