"""Typical mistakes of authors who know TVM or another library better than the toolkit."""

import te
import te.lang.cce
from te import tvm


def with_tvm_of_te(x, y, kernel_name="with_tvm_of_te"):
    """`te` is TVM's tensor expressions elsewhere."""
    data = te.placeholder(x["shape"], x["dtype"], name="data")
    te.create_schedule(data.op)


def with_reshape(x, y, kernel_name="with_reshape"):
    """An operation of every other library."""
    data = tvm.placeholder(x["shape"], x["dtype"], "data")
    te.lang.cce.reshape(data, (-1,))


def with_tanh(x, y, kernel_name="with_tanh"):
    """Likewise."""
    data = tvm.placeholder(x["shape"], x["dtype"], "data")
    te.lang.cce.tanh(data)


def with_other_arguments(x, y, kernel_name="with_other_arguments"):
    """Argument names of another library."""
    data = tvm.placeholder(x["shape"], x["dtype"], "data")
    te.lang.cce.vmuls(data, factor=2.0)
