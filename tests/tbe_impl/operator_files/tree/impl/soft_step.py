"""Registered by a framework, built with a list of tensors as in tutorials."""

import te.lang.cce
from impl.helpers.announcing import announce
from te import tvm


def soft_step_compute(x, y, kernel_name="soft_step"):
    """The graph: a logistic step at one half."""
    moved = te.lang.cce.vmuls(te.lang.cce.vadds(x, -0.5), -4.0)
    return te.lang.cce.vrec(te.lang.cce.vadds(te.lang.cce.vexp(moved), 1.0))


@announce({"name": "SoftStep"})
def SoftStepImpl(x, y, kernel_name="SoftStepImpl"):
    """1 / (1 + exp(-4·(x - 0.5)))."""
    data = tvm.placeholder(x["shape"], dtype=x["dtype"], name="data")
    res = soft_step_compute(data, y)
    with tvm.target.cce():
        schedule = te.lang.cce.auto_schedule(res)
    te.lang.cce.build(
        schedule, [data, res], "cce", kernel_name=kernel_name, attrs={"print_ir": False}
    )
