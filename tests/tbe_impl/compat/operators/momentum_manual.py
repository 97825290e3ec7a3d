"""An optimiser with a multi-output compute and a manual schedule."""

import te.platform.cce_params as cce
from te import platform as cce_platform
from te import tvm
from te.platform.cce_build import build_config
from te.platform.insn_cmd import DMA_COPY
from te.tvm import build_module
from te.utils import para_check


@para_check.check_op_params(
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_INPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_OUTPUT,
    para_check.REQUIRED_ATTR_FLOAT,
    para_check.OPTION_ATTR_FLOAT,
    para_check.KERNEL_NAME,
)
def momentum_manual(
    var, accum, grad, var_out, accum_out, momentum, rate=0.1, kernel_name="momentum"
):
    shape, dtype = (var["shape"][0] * var["shape"][1],), var["dtype"]
    inputs = [tvm.placeholder(shape, dtype, name) for name in ("var", "accum", "grad")]
    with tvm.tag_scope("elewise_binary_momentum"):
        new_accum = tvm.compute(
            shape,
            lambda i: inputs[1][i] * tvm.const(momentum, dtype) + inputs[2](i),
            name="new_accum",
        )
    new_var = tvm.compute(
        shape,
        lambda *i: inputs[0](*i) - new_accum(*i) * tvm.const(rate, dtype),
        name="new_var",
        tag="elewise_binary_sub",
    )
    var_res, accum_res = tvm.compute(
        shape, lambda *i: (new_var(*i), new_accum(*i)), name="res", tag="elewise_multi_out"
    )
    sch = tvm.create_schedule([var_res.op])
    read = sch.cache_read(inputs[0], cce.scope_ubuf, [new_var])
    sch[read].emit_insn(sch[read].op.axis[0], DMA_COPY)
    sch[new_accum].set_scope(cce_platform.scope_ubuf)
    with build_config:
        build_module.build(sch, [*inputs, var_res, accum_res], "cce", name=kernel_name)
