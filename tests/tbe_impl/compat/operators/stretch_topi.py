"""Linear interpolation along rows, in TVM's style of 2018: ``topi``, computed indices."""

import topi
from te import tvm


def stretch_topi(shape, wide, dtype, kernel_name="stretch", need_build=True):
    """y[r, j] = x[r, p] + (x[r, p + 1] - x[r, p])(s - p), p = min(floor(s), n - 2).

    s = j (n - 1) / (wide - 1).
    """
    rows, size = shape
    x = tvm.placeholder(shape, name="x", dtype=dtype)
    where = tvm.compute((wide,), lambda j: j * (size - 1.0) / (wide - 1), name="where")
    left = topi.clip(topi.cast(topi.floor(where), "int32"), 0, size - 2)
    right = topi.add(left, tvm.const(1, dtype="int32"))
    near = tvm.compute((rows, wide), lambda r, j: x[r, left[j]], name="near")
    far = tvm.compute((rows, wide), lambda r, j: x[r, right[j]], name="far")
    share = topi.cast(topi.subtract(where, topi.cast(left, "float32")), dtype)
    y = topi.add(near, topi.multiply(topi.subtract(far, near), topi.expand_dims(share, 0)))
    schedule = tvm.create_schedule(y.op)
    if need_build:
        tvm.build(schedule, [x, y], "cce", name=kernel_name)
