"""Parts of given sizes along an axis, in the style of 2020, with an unneeded device kernel."""

import te.lang.cce
from te import tik, tvm
from te.platform.cce_build import build_config


class Moved:
    """The device's own method for short rows."""

    def __init__(self, shape, dtype):
        self.instance = tik.Tik()
        self.source = self.instance.Tensor(dtype, shape, name="source", scope=tik.scope_gm)

    def fits(self, shape):
        return shape[-1] > 4096


def parts_2020(x, y, size_splits, split_dim, kernel_name="parts"):
    """y[k] = part k of x."""
    moved = Moved(x["shape"], x["dtype"])
    if moved.fits(x["shape"]):
        moved.instance.BuildCCE(kernel_name, [moved.source], [])
        return
    data = tvm.placeholder(x["shape"], name="data", dtype=x["dtype"])
    shapes, parts = te.lang.cce.split_compute_com(data, split_dim, size_splits)
    schedule, tensors = te.lang.cce.split_schedule_com(data, split_dim, shapes, parts)
    with build_config:
        tvm.build(schedule, tensors, "cce", name=kernel_name)
