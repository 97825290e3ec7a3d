"""A dynamic operator with two work partitions for the device's builder."""

import tbe.dsl as tbe
from tbe import tvm
from tbe.common.buildcfg import build_config, default_buildcfg, get_current_build_config
from tbe.common.register import register_operator
from tbe.common.utils import para_check
from tbe.tvm.cce_build_module import build_fatbin


@register_operator("Variants2021")
def variants_2021(x, y, kernel_name="variants_2021"):
    """|x| + 1."""
    para_check.check_format(x["format"], "ND", param_name="x")
    rows = tbe.var("rows", (1, None))
    schedules, arguments = [], []
    for _ in range(2):
        data = tvm.placeholder((rows, x["shape"][1]), x["dtype"], "data")
        res = tbe.vadds(tbe.vabs(data), 1.0)
        res.op.attrs["ori_shape"] = (2, 3)
        assert res.op.attrs["ori_shape"][1].value == 3 and data.op.dtype == x["dtype"]
        sch = tvm.create_schedule(res.op)
        sch[res].fuse(sch[res].fuse(), res.op.axis[0])
        schedules.append(sch)
        arguments.append([rows, data, res])
    with build_config(**default_buildcfg.dynamic_build_config_dict):
        options = get_current_build_config("all")
    configs = [build_config(**options) for _ in schedules]
    build_fatbin(configs, schedules, arguments, [0, 1], kernel_name)
