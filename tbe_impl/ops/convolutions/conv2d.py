"""Convolutions with bias and activation, and the gradients of a convolution.

y = activation(conv(x, weight) + bias). The bias and the activation (relu, leaky_relu or swish) are
optional.
grad_x = conv(grad_y dilated by the strides, weight mirrored)
grad_weight = Σ grad_y·x over images and positions
padding: a number, four numbers (above, below, left, right), "same" (or a list of −1), or "valid".

Shapes: x and grad_x (N, C, H, W), weight and grad_weight (O, C / groups, h, w), bias (O,), y and
    grad_y (N, O, H', W'). `conv2d_grad_x` reads only the shape of the input x.
    `conv2d_grad_weight` reads only the shape of the input weight. On a device, images are in
    NC1HWC0 and weights in FRACTAL_Z.
dtypes: float16; gradients are summed in float32.
Raises:
    OperatorError: the dtype is unsupported.
"""

from tbe import dsl, tvm
from tbe.common.utils import para_check, shape_util

DTYPES = ("float16",)
"""Dtypes that the cube unit supports as input."""
FORMATS = {
    **dict.fromkeys(("x", "y", "grad_x", "grad_y"), "5HD"),
    **dict.fromkeys(("weight", "grad_weight"), "FracZ"),
}
"""Maps the name of a tensor to its layout for the cube unit; other tensors keep their layout."""
WINDOW = (
    (para_check.OPTION_ATTR_INT, para_check.OPTION_ATTR_LIST_INT),
    (para_check.OPTION_ATTR_INT, para_check.OPTION_ATTR_LIST_INT, para_check.OPTION_ATTR_STR),
    (para_check.OPTION_ATTR_INT, para_check.OPTION_ATTR_LIST_INT),
    para_check.OPTION_ATTR_INT,
)
"""Permitted types of the attributes stride, padding, dilation and groups."""


def check_params(inputs, *more):
    """Returns a decorator that checks the arguments of an operator with `inputs` input tensors."""
    return para_check.check_op_params(
        *[para_check.REQUIRED_INPUT] * inputs,
        para_check.REQUIRED_OUTPUT,
        *WINDOW,
        *more,
        para_check.KERNEL_NAME,
    )


def sizes(tensor):
    """Returns the shape of a tensor as a list of integers."""
    return shape_util.shape_to_list(tensor.shape)


def two(number):
    """Returns the pair (height, width); if `number` is an int, height and width are equal."""
    return [number, number] if isinstance(number, int) else list(number)


def pads(size, reach, stride, padding, side):
    """Returns the padding before and after an axis; `side` is 0 for height and 1 for width."""
    if padding == "same" or (not isinstance(padding, (int, str)) and padding[0] < 0):
        whole = max((-(-size // stride) - 1) * stride + reach - size, 0)
        return [whole // 2, whole - whole // 2]
    if padding == "valid":
        return [0, 0]
    return [padding] * 2 if isinstance(padding, int) else list(padding[2 * side :][:2])


def around_image(places, filter_shape, strides, padding, dilations):
    """Returns the padding (above, below) and (left, right) of an image."""
    return [
        pads(size, (kernel - 1) * apart + 1, step, padding, side)
        for side, (size, kernel, apart, step) in enumerate(
            zip(places, filter_shape[2:], dilations, strides, strict=True)
        )
    ]


def build(compute, inputs, kernel_name):
    """Builds the kernel of a graph; creates the placeholders from the descriptions of the inputs.

    Args:
        compute: a function from the placeholders of the inputs to the result.
        inputs: dict from the name of each input to the tensor description, in order.
        kernel_name: name of the kernel.
    """
    data = []
    for name, item in inputs.items():
        para_check.check_dtype(item.get("dtype").lower(), DTYPES, param_name=name)
        data.append(tvm.placeholder(item.get("shape"), name=f"data_{name}", dtype="float16"))
    made = compute(*data)
    with tvm.target.cce():
        schedule = dsl.auto_schedule(made)
    dsl.build(schedule, {"name": kernel_name, "tensor_list": [*data, made]})


def build_forward(inputs, window, kernel_name, activation=None):
    """Builds the kernel of a convolution.

    Args:
        inputs: dict from the names of x, weight and the bias (if any) to the tensor descriptions.
        window: stride, padding, dilation and groups.
        kernel_name: name of the kernel.
        activation: a function that is applied to conv(x, weight) + bias; None for no activation.
    """
    filter_shape = list(inputs["weight"].get("ori_shape"))
    stride, padding, dilation, groups = window

    def compute(x, weight, bias=None):
        strides, dilations = two(stride), two(dilation)
        around = around_image(sizes(x)[2:4], filter_shape, strides, padding, dilations)
        given = {
            "stride_h": strides[0],
            "stride_w": strides[1],
            "pad_h": around[0],
            "pad_w": around[1],
            "dilate_h": dilations[0],
            "dilate_w": dilations[1],
            "filter_h": filter_shape[2],
            "filter_w": filter_shape[3],
            "weight_ori_shape_nchw": filter_shape,
            "group": groups,
            "res_dtype": x.dtype,
        }
        if bias is not None:
            given["bias_tensor"] = bias
        made = dsl.conv(x, weight, given)
        return made if activation is None else activation(made)

    build(compute, inputs, kernel_name)


def gradient_arguments(x, filter_shape, stride, padding, dilation, groups):
    """Returns the options for the DSL operations that compute the gradients of a convolution."""
    strides, dilations = two(stride), two(dilation)
    rows, columns = around_image(sizes(x)[2:4], filter_shape, strides, padding, dilations)
    return {
        "strides": strides,
        "padding": [*rows, *columns],
        "dilations": [1, 1, *dilations],
        "groups": groups,
        "res_dtype": "float32",
    }


@check_params(2)
def conv2d(x, weight, y, stride=1, padding=0, dilation=1, groups=1, kernel_name="conv2d"):
    """Builds the kernel of y = conv(x, weight)."""
    window = stride, padding, dilation, groups
    build_forward({"x": x, "weight": weight}, window, kernel_name)


@check_params(3)
def conv2d_bias(
    x, weight, bias, y, stride=1, padding=0, dilation=1, groups=1, kernel_name="conv2d_bias"
):
    """Builds the kernel of y = conv(x, weight) + bias."""
    window = stride, padding, dilation, groups
    build_forward({"x": x, "weight": weight, "bias": bias}, window, kernel_name)


@check_params(3)
def conv2d_bias_relu(
    x, weight, bias, y, stride=1, padding=0, dilation=1, groups=1, kernel_name="conv2d_bias_relu"
):
    """Builds the kernel of y = max(conv(x, weight) + bias, 0)."""
    window = stride, padding, dilation, groups
    inputs = {"x": x, "weight": weight, "bias": bias}
    build_forward(inputs, window, kernel_name, lambda z: dsl.vmaxs(z, 0.0))


@check_params(3, para_check.OPTION_ATTR_FLOAT)
def conv2d_bias_leaky_relu(
    x,
    weight,
    bias,
    y,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    alpha=0.1,
    kernel_name="conv2d_bias_leaky_relu",
):
    """Builds the kernel of leaky ReLU after a convolution with bias.

    y = z if z > 0, and alpha·z otherwise, where z = conv(x, weight) + bias.
    """

    def activation(z):
        wide = dsl.cast_to(z, "float32")
        made = dsl.vcmpsel(wide, 0.0, "gt", wide, dsl.vmuls(wide, alpha))
        return dsl.cast_to(made, z.dtype)

    window = stride, padding, dilation, groups
    build_forward({"x": x, "weight": weight, "bias": bias}, window, kernel_name, activation)


@check_params(3)
def conv2d_bias_silu(
    x, weight, bias, y, stride=1, padding=0, dilation=1, groups=1, kernel_name="conv2d_bias_silu"
):
    """Builds the kernel of y = z / (1 + e^(−z)), where z = conv(x, weight) + bias."""

    def activation(z):
        wide = dsl.cast_to(z, "float32")
        share = dsl.vrec(dsl.vadds(dsl.vexp(dsl.vmuls(wide, -1.0)), 1.0))
        return dsl.cast_to(dsl.vmul(wide, share), z.dtype)

    window = stride, padding, dilation, groups
    build_forward({"x": x, "weight": weight, "bias": bias}, window, kernel_name, activation)


@check_params(3)
def conv2d_grad_x(
    x,
    weight,
    grad_y,
    grad_x,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    kernel_name="conv2d_grad_x",
):
    """Builds the kernel of the gradient with respect to x."""
    filter_shape = list(weight.get("ori_shape"))

    def compute(x, weight, grad_y):
        told = gradient_arguments(x, filter_shape, stride, padding, dilation, groups)
        size = [sizes(x)[0], filter_shape[1] * groups, *sizes(x)[2:4]]
        made = dsl.conv2d_backprop_input(weight, grad_y, filter_shape, size, told)
        return dsl.cast_to(made, x.dtype)

    build(compute, {"x": x, "weight": weight, "grad_y": grad_y}, kernel_name)


@check_params(3)
def conv2d_grad_weight(
    x,
    weight,
    grad_y,
    grad_weight,
    stride=1,
    padding=0,
    dilation=1,
    groups=1,
    kernel_name="conv2d_grad_weight",
):
    """Builds the kernel of the gradient with respect to weight."""
    filter_shape = list(weight.get("ori_shape"))

    def compute(x, weight, grad_y):
        told = gradient_arguments(x, filter_shape, stride, padding, dilation, groups)
        made = dsl.conv2d_backprop_filter(x, grad_y, filter_shape, told)
        return dsl.cast_to(made, weight.dtype)

    build(compute, {"x": x, "weight": weight, "grad_y": grad_y}, kernel_name)
