"""An optimiser of 2020: DSL operations, raw stages that read one element, a four-output stage."""

import te.lang.cce
from impl.helpers import updating
from te import tvm
from topi.cce import util


@util.check_input_type(dict, dict, dict, dict, dict, dict, str)
def nesterov_2020(var, accum, lr, grad, var_out, accum_out, kernel_name="nesterov_2020"):
    """accum' = 0.9·accum + grad; var' = var − lr·(grad + 0.9·accum')."""
    size = 1
    for length in var.get("shape"):
        size = size * length
    dtype = var.get("dtype").lower()
    data_var, data_accum, data_grad = (
        tvm.placeholder((size,), dtype, name) for name in ("var", "accum", "grad")
    )
    data_lr = tvm.placeholder((1,), dtype, "lr")
    moved = te.lang.cce.vadd(te.lang.cce.vmuls(data_accum, tvm.const(0.9, dtype)), data_grad)
    step = te.lang.cce.vadd(data_grad, te.lang.cce.vmuls(moved, tvm.const(0.9, dtype)))
    scaled = tvm.compute(step.shape, lambda *i: step(*i) * data_lr[0], tag="elewise_single_VS_mul")
    result = te.lang.cce.vsub(data_var, scaled)

    def outputs(*index):
        return result(*index), moved(*index), result(*index), moved(*index)

    outs = tvm.compute((size,), outputs, name="outputs")
    inputs = [data_var, data_accum, data_lr, data_grad]
    updating.build(inputs, outs, [data_var, data_accum], kernel_name)
