"""Image windows as columns by a schedule with ``im2col``, right and with two axes swapped."""

from te import tvm
from te.platform import scope_ubuf
from te.platform.cce_build import build_config

WINDOW = 3


def columns_by_hand(x, y, swapped=False, instruction="im2col", kernel_name="columns_by_hand"):
    """Rows of three neighbouring positions, zeros outside; positions in blocks of 16, channels
    last.
    """
    batch, positions, channels = x["shape"]
    shape = (batch, WINDOW, channels, 16) if swapped else (batch, WINDOW, 16, channels)
    image = tvm.placeholder((batch, positions, channels), name="image", dtype=x["dtype"])

    def column(n, k, *rest):
        channel, position = rest if swapped else rest[::-1]
        at = position + k - 1
        outside = tvm.any(at < 0, at > positions - 1)
        return tvm.select(outside, tvm.const(0, x["dtype"]), image(n, at, channel))

    columns = tvm.compute(shape, column, name="columns")
    result = tvm.compute(shape, lambda *index: columns(*index), name="result")
    schedule = tvm.create_schedule(result.op)
    schedule[columns].set_scope(scope_ubuf)
    schedule[columns].compute_at(schedule[result], result.op.axis[0])
    schedule[columns].emit_insn(columns.op.axis[1], instruction)
    schedule[result].emit_insn(result.op.axis[1], "dma_copy")
    with build_config:
        tvm.build(schedule, [image, result], "cce", name=kernel_name)
