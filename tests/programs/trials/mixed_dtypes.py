"""``te.lang.cce`` operators with inputs of several dtypes, whose output cast is visible."""

import te.lang.cce as cce
from te import tvm


def _tensors(**descriptions):
    return [
        tvm.placeholder(item["shape"], item["dtype"], name) for name, item in descriptions.items()
    ]


def _build(name, inputs, *results):
    with tvm.target.cce():
        schedule = cce.auto_schedule(list(results))
    cce.cce_build_code(schedule, {"name": name, "tensor_list": [*inputs, *results]})


def chosen_by_index(x, index, update, places, y, kernel_name="chosen_by_index"):
    """The update where an index equals the position, else x: the gradient of an arg-max."""
    inputs = _tensors(x=x, index=index, update=update, places=places)
    _build(
        kernel_name, inputs, cce.vsel(cce.vcmp(inputs[1], inputs[3], "eq"), inputs[2], inputs[0])
    )


def step_of_moments(rate, gradient, moment, y, z, kernel_name="step_of_moments"):
    """moment + rate·gradient and its root; the rate has a wider dtype."""
    inputs = _tensors(rate=rate, gradient=gradient, moment=moment)
    total = cce.vadd(cce.vmul(inputs[0], inputs[1]), inputs[2])
    _build(kernel_name, inputs, total, cce.vsqrt(cce.vabs(total)))


def difference_of_two(a, b, y, kernel_name="difference_of_two"):
    """a − b in the wider dtype of both, then in that of b."""
    inputs = _tensors(a=a, b=b)
    _build(kernel_name, inputs, cce.vabs(cce.vsub(*inputs)))
