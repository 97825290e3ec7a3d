"""Operators that omit a placeholder from the build, or add an undescribed one."""

import te.lang.cce as cce
from te import tvm
from te.platform.cce_build import build_config


def _inputs(x):
    return [tvm.placeholder(x["shape"], name=name, dtype=x["dtype"]) for name in ("a", "b")]


def forgotten_input(x, y, kernel_name="forgotten_input"):
    """a + b, built without b."""
    a, b = _inputs(x)
    total = cce.vadd(a, b)
    with tvm.target.cce():
        schedule = cce.auto_schedule(total)
    cce.cce_build_code(schedule, {"name": kernel_name, "tensor_list": [a, total]})


def forgotten_by_hand(x, y, kernel_name="forgotten_by_hand"):
    """a · b by its own schedule, built without a."""
    a, b = _inputs(x)
    product = tvm.compute(x["shape"], lambda *i: a(*i) * b(*i), name="product")
    schedule = tvm.create_schedule(product.op)
    with build_config:
        tvm.build(schedule, [b, product], "cce", name=kernel_name)


def undescribed_input(x, y, kernel_name="undescribed_input"):
    """a + table; the table is no argument of the operator."""
    a, _ = _inputs(x)
    table = tvm.placeholder((*x["shape"][:-1], 1), name="table", dtype=x["dtype"])
    total = cce.vadd(a, cce.broadcast(table, x["shape"]))
    with tvm.target.cce():
        schedule = cce.auto_schedule(total)
    cce.cce_build_code(schedule, {"name": kernel_name, "tensor_list": [a, table, total]})


def scheduled_alone(x, z, y, kernel_name="scheduled_alone"):
    """a + b, scheduled and not built, as the oldest operators do."""
    a, b = _inputs(x)
    with tvm.target.cce():
        cce.auto_schedule(cce.vadd(a, b))
