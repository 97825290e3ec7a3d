"""The schedule by its longest name, and a list type that `collections` had until Python 3.10."""

from collections import Iterable  # noqa: UP035

import te.lang.cce
from te import tvm
from te.platform.fusion_manager import fusion_manager
from topi.cce import util
from topi.generic import cce


@fusion_manager.register("threshold_2020")
def threshold_2020_compute(x, limits):
    """The graph: the number of limits below."""
    limits = limits if isinstance(limits, Iterable) else [limits]
    total = te.lang.cce.vmuls(x, 0.0)
    for limit in limits:
        above = te.lang.cce.vmaxs(te.lang.cce.vadds(x, -limit), 0.0)
        total = te.lang.cce.vadd(total, te.lang.cce.vmins(te.lang.cce.vmuls(above, 10000.0), 1.0))
    return total


@util.check_input_type(dict, dict, (float, list), str)
def threshold_2020(x, y, limits, kernel_name="threshold_2020"):
    """The number of limits below each element."""
    data = tvm.placeholder(x.get("shape"), name="data", dtype=x.get("dtype"))
    with tvm.target.cce():
        res = threshold_2020_compute(data, limits)
        schedule = cce.auto_schedule(res)
    te.lang.cce.cce_build_code(schedule, {"name": kernel_name, "tensor_list": [data, res]})
