"""The oldest style: one call of a device function with its parameters in tensors."""

from te import tvm
from te.platform.cce_build import build_config
from topi.cce import util


@util.check_input_type((list, tuple), (list, tuple), str, str, (list, tuple), str, bool, bool)
def device_2018(
    shape_x,
    shape_y,
    dtype,
    function,
    numbers,
    kernel_name="device_2018",
    need_build=True,
    need_print=False,
):
    """A function of one tensor or of two."""
    shapes = [shape_x] + [shape_y] * bool(shape_y)
    data = [tvm.placeholder(shape, dtype, f"data_{place}") for place, shape in enumerate(shapes)]
    given = [util.create_param_ptr([number], dtype, "p_number") for number in numbers]
    sizes = util.create_param_ptr(shape_x, "int32", "p_shape")
    kind, rank, padding = util.get_device_api_dtype(dtype), len(shape_x), tvm.const(0, "int32")

    def call(ins, outs):
        pointers = [item.access_ptr("r") for item in ins]
        return tvm.call_extern(
            "int32_t",
            function,
            "block_num",
            "block_idx",
            kind,
            *pointers[len(data) :],
            rank,
            padding,
            *pointers[: len(data)],
            outs[0].access_ptr("w"),
        )

    output = tvm.extern(shape_x, [*data, *given, sizes], call, name="output", dtype=dtype)
    schedule = tvm.create_schedule(output.op)
    if need_build:
        with build_config:
            tvm.build(schedule, [*data, output], "cce", name=kernel_name)
