"""Computes 2-D convolution with oneDNN or im2col, and an optional fused activation."""

from __future__ import annotations

import math
from dataclasses import replace
from typing import Any

from custom_ops.core.cell_call import check_choice
from custom_ops.core.framework import ops
from custom_ops.core.function_spec import function_of_spec
from custom_ops.core.gradient import gradient_of
from custom_ops.core.kernel_chain import Chain, CompiledStep, make_step
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.weighted_cells import (
    WeightedCell,
    keep_names,
    make_parameter,
    uniform_initializer,
)
from custom_ops.onednn import im2col, prepare_conv2d, prepare_conv2d_backward
from custom_ops.onednn.epilogues import Epilogue
from custom_ops.onednn.geometry import geometry
from custom_ops.operators import epilogues
from custom_ops.operators.epilogues import (
    ACTIVATION_GRADIENT,
    LEAK,
    ROWS_SUM,
    SLOPE_FROM_RESULT,
    activation_steps,
)
from custom_ops.operators.linear import dsl_kernel, threads
from custom_ops.tbe_bridge.tbe_sequence import TbeStep, TbeSteps
from tbe_impl.errors import InputError

_OPERATOR_FILE = "convolutions/conv2d"
"""Module of `tbe_impl.ops` with the convolutions that CANN builds, in layouts of the cube unit."""
LOWERINGS = ("auto", "onednn", "im2col")


def _check_same_dtypes(name: str, x: ArraySpec, *others: ArraySpec) -> None:
    for one in others:
        if one.dtype != x.dtype:
            raise InputError(f"{name}: dtypes differ", place=name, expected=x.dtype, got=one.dtype)


def convolution_spec(name: str, *, bias: bool = True, activation: str = "") -> OpSpec:
    """Builds the operator ``y = activation(conv(x, weight) + bias)``.

    The attributes of the operator mean the same as the equally named parameters of
    `custom_ops.onednn.prepare_conv2d`.

    Args:
        name: name of the operator.
        bias: whether the operator has the input ``bias``, after x and weight.
        activation: a key of `custom_ops.onednn.epilogues.ACTIVATIONS`, or empty.
    """
    more = ("bias",) * bias
    inputs = ("x", "weight", *more)
    from_result = activation in SLOPE_FROM_RESULT
    saves = ("x", "weight", *(("y",) if from_result else more if activation else ()))
    leak = {"alpha": LEAK} if activation == "leaky_relu" else {}

    def forward(
        known: dict[str, ArraySpec], activation: str, sizes: dict[str, Any], alpha: float | None
    ) -> Any:
        return prepare_conv2d(
            known["x"].shape,
            known["weight"].shape,
            bias=bias,
            activation=activation,
            alpha=alpha,
            operator=name,
            **sizes,
        )

    def build_kernel(*given: ArraySpec, alpha: float | None = None, **attributes: Any) -> Chain:
        known = dict(zip(inputs, given, strict=True))
        _check_same_dtypes(name, *given)
        sizes = {**attributes, "dtype": given[0].dtype, "threads": threads()}
        kernel = forward(known, activation, sizes, alpha)
        if bias and known["bias"].shape != given[1].shape[:1]:
            raise InputError(
                f"{name}: bias does not fit weight",
                place=name,
                expected=str(given[1].shape[:1]),
                got=str(given[2]),
            )
        y = ArraySpec(kernel.outputs[0].shape, given[0].dtype)
        return Chain(name, known, {"y": y}, (make_step(kernel, inputs, ("y",)),))

    def build_backward_kernel(
        *given: ArraySpec,
        wanted: tuple[str, ...] = ("x", "weight", *more),
        alpha: float | None = None,
        **attributes: Any,
    ) -> Chain:
        known = dict(zip((*saves, "grad"), given, strict=True))
        _check_same_dtypes(f"{name}_grad", *given)
        x, weight, grad = given[0], given[1], given[-1]
        sizes = {**attributes, "dtype": x.dtype, "threads": threads()}
        steps: list[CompiledStep] = []
        source, made = "y", "grad"
        if activation and not from_result:
            source = "z"
            steps.append(make_step(forward(known, "", sizes, None), inputs, (source,)))
        if activation:
            made = "made"
            kernel = dsl_kernel(
                ACTIVATION_GRADIENT, (grad, grad), activation=activation, alpha=alpha or 0.0
            )
            steps.append(make_step(kernel, (source, "grad"), (made,)))
        backward = prepare_conv2d_backward(
            x.shape, weight.shape, wanted=wanted, operator=f"{name}_grad", **sizes
        )
        if backward.inputs[0].shape != grad.shape:
            raise InputError(
                f"{name}_grad: the gradient does not fit",
                place=name,
                expected=str(backward.inputs[0]),
                got=str(grad),
            )
        like = {"x": x, "weight": weight, "bias": ArraySpec(weight.shape[:1], x.dtype)}
        outputs = {f"grad_{one}": like[one] for one in wanted}
        reads = {"grad": made, "weight": "weight", "x": "x"}
        steps.append(
            make_step(backward, tuple(reads[one.name] for one in backward.inputs), tuple(outputs))
        )
        return Chain(f"{name}_grad", known, outputs, tuple(steps))

    def tbe_gradient_steps(**attributes: Any) -> TbeSteps:
        alpha = {key: attributes.pop(key) for key in ("alpha",) if key in attributes}
        again = TbeStep(CONV2D_BIAS if bias else CONV2D, inputs, ("z",), attributes)
        own = activation_steps(activation, again, **alpha)
        made = "made" if own else "grad_y"
        own += (TbeStep(CONV2D_GRAD_X, ("x", "weight", made), ("grad_x",), attributes),)
        own += (TbeStep(CONV2D_GRAD_WEIGHT, ("x", "weight", made), ("grad_weight",), attributes),)
        own += (TbeStep(ROWS_SUM, (made,), ("grad_bias",), {"kept": 1}),) * bias
        return TbeSteps(own)

    def composite(  # type: ignore[no-untyped-def]
        x, weight, *bias, stride, padding, dilation, groups, lowering, alpha=0.1
    ):
        if lowering == "im2col":
            z = convolve_by_im2col(x, weight, stride, padding, dilation, groups)
        else:
            z = convolve(x, weight, stride, padding, dilation, groups)
        for one in bias:
            z = ops.add(z, ops.reshape(one, (1, -1, 1, 1)))
        return epilogues.composite(z, activation, alpha)

    def formula(*arrays: Any, **attributes: Any) -> Any:
        given = {
            key: value for key, value in attributes.items() if key not in ("lowering", "alpha")
        }
        sizes = geometry(name, arrays[0].shape, arrays[1].shape, **given)
        z = im2col.forward(sizes, Epilogue(bias=bias), *arrays)
        return epilogues.formula(z, activation, attributes.get("alpha", LEAK))

    return OpSpec(
        name=name,
        inputs=inputs,
        kernel_builder=build_kernel,
        backward_kernel_builder=build_backward_kernel,
        # with an activation there is only one group, because two kernels would both compute the
        # gradient of the activation
        gradient_groups=() if activation else (("x",), ("weight", *more)),
        saves=saves,
        attributes={"stride": 1, "padding": 0, "dilation": 1, "groups": 1, "lowering": "auto"}
        | leak,
        variants=({"alpha": 0.25},) if leak else (),
        composite=composite,
        formula=formula,
        samples=tuple(
            (x, weight, weight[:1]) if bias else (x, weight)
            for x, weight in (
                ((2, 6, 9, 8), (10, 6, 3, 3)),
                ((3, 16, 7, 7), (24, 16, 1, 1)),
                ((1, 3, 5, 6), (4, 3, 5, 2)),
            )
        ),
        nan="undefined",
        tbe=_OPERATOR_FILE + "_".join(filter(None, (":conv2d", "bias" * bias, activation))),
        tbe_gradient_steps=tbe_gradient_steps,
        doc="y = activation(conv(x, weight) + bias)",
    )


def _padding_amounts(size, reach, stride, padding, axis):  # type: ignore[no-untyped-def]
    if padding == "same":
        whole = max((-(-size // stride) - 1) * stride + reach - size, 0)
        return whole // 2, whole - whole // 2
    if padding == "valid":
        return 0, 0
    if isinstance(padding, int):
        return padding, padding
    return padding[2 * axis], padding[2 * axis + 1]


def _to_pair(value):  # type: ignore[no-untyped-def]
    if isinstance(value, int):
        return value, value
    return value[0], value[1]


def _pad_input(x, weight, strides, padding, dilations):  # type: ignore[no-untyped-def]
    high, wide = weight.shape[2:]
    above, below = _padding_amounts(
        x.shape[2], (high - 1) * dilations[0] + 1, strides[0], padding, 0
    )
    left, right = _padding_amounts(
        x.shape[3], (wide - 1) * dilations[1] + 1, strides[1], padding, 1
    )
    if above + below + left + right == 0:
        return x
    return ops.pad(x, (left, right, above, below))


def convolve(x, weight, stride, padding, dilation, groups):  # type: ignore[no-untyped-def]
    """Computes the convolution with MindSpore's `ops.conv2d`."""
    strides, dilations = _to_pair(stride), _to_pair(dilation)
    padded = _pad_input(x, weight, strides, padding, dilations)
    return ops.conv2d(padded, weight, None, strides, "valid", 0, dilations, groups)


def convolve_by_im2col(  # type: ignore[no-untyped-def]
    x, weight, stride, padding, dilation, groups
):
    """Computes the convolution by im2col and a matrix product, for devices without convolution."""
    strides, dilations = _to_pair(stride), _to_pair(dilation)
    padded = _pad_input(x, weight, strides, padding, dilations)
    out, channels, high, wide = weight.shape
    rows = (padded.shape[2] - (high - 1) * dilations[0] - 1) // strides[0] + 1
    columns = (padded.shape[3] - (wide - 1) * dilations[1] - 1) // strides[1] + 1
    patches = ops.unfold(padded, (high, wide), dilations, 0, strides)
    patches = ops.reshape(patches, (x.shape[0], groups, channels * high * wide, rows * columns))
    flat = ops.reshape(weight, (1, groups, out // groups, channels * high * wide))
    return ops.reshape(ops.matmul(flat, patches), (x.shape[0], out, rows, columns))


CONV2D = convolution_spec("Conv2d", bias=False)
CONV2D_BIAS = convolution_spec("Conv2dBias")
CONV2D_GRAD_X, CONV2D_GRAD_WEIGHT = (
    replace(gradient_of(CONV2D, (one,)), name=name, tbe=f"{_OPERATOR_FILE}:{function}")
    for one, name, function in (
        ("x", "Conv2dGradX", "conv2d_grad_x"),
        ("weight", "Conv2dGradWeight", "conv2d_grad_weight"),
    )
)
"""Operators that CANN builds for the gradients of x and of weight.

The gradient of x reads only the shape of x, and the gradient of weight only the shape of weight.
Nevertheless both operators have the tensors x and weight as inputs.
"""


def _pair(name: str, argument: str, value: Any) -> tuple[int, int]:
    """Converts an argument of nn.Conv2d to (height, width).

    The argument is one int for both sizes, a tuple (height, width), or a tuple (1, 1, height,
    width).
    """
    found = (value, value) if isinstance(value, int) else tuple(value)
    found = found[2:] if len(found) == 4 else found
    if len(found) != 2 or not all(
        isinstance(one, int) and not isinstance(one, bool) and one > 0 for one in found
    ):
        raise InputError(
            f"{name}: {argument} is wrong",
            place=name,
            expected="one positive number, or two",
            got=repr(value),
        )
    return found[0], found[1]


def padding_of(name: str, pad_mode: str, padding: Any) -> Any:
    """Converts the padding arguments of nn.Conv2d to the operator's attribute ``padding``.

    Returns:
        For the mode ``pad`` the tuple (above, below, left, right); for any other mode the name of
        the mode in lower case.

    Raises:
        InputError: `pad_mode` is unknown, or `pad_mode` is not ``pad`` and `padding` is not 0.
    """
    mode = str(pad_mode).lower()
    if mode not in ("same", "valid", "pad"):
        raise InputError(
            f"{name}: unknown pad_mode",
            place=name,
            expected="same, valid or pad",
            got=repr(pad_mode),
        )
    whole = (padding,) * 4 if isinstance(padding, int) else tuple(padding)
    if mode == "pad":
        return whole
    if any(whole):
        raise InputError(
            f"{name}: padding is given to a pad_mode without it",
            place=name,
            expected='0, or pad_mode="pad"',
            got=repr(padding),
        )
    return mode


def conv_attributes(
    name: str, stride: Any, pad_mode: str, padding: Any, dilation: Any, group: int, lowering: str
) -> dict[str, Any]:
    """Converts the arguments of nn.Conv2d to the operator's attributes."""
    check_choice(name, "lowering", lowering, LOWERINGS)
    return {
        "stride": _pair(name, "stride", stride),
        "padding": padding_of(name, pad_mode, padding),
        "dilation": _pair(name, "dilation", dilation),
        "groups": group,
        "lowering": lowering,
    }


CONVOLUTION_TYPES = dict.fromkeys(("stride", "padding", "dilation"), "Any")
"""Type annotations of the attributes whose value is an integer or a sequence of integers."""


class Conv2d(WeightedCell):
    r"""2-D convolution; replaces nn.Conv2d.

    .. math::
        y_{n,o} = b_o + \sum_c w_{o,c} \star x_{n,c}

    oneDNN computes the convolution and its gradients, in layouts that oneDNN chooses. Each call
    reads the weights again, so that changed weights take effect.

    Args:
        in_channels, out_channels (int): number of channels of x and of y.
        kernel_size (Union[int, tuple[int]]): height and width of the kernel.
        stride (Union[int, tuple[int]]): stride over height and width. Default: ``1``.
        pad_mode (str): ``same``, ``valid`` or ``pad``. Default: ``'same'``.
        padding (Union[int, tuple[int]]): number of zeros around x if `pad_mode` is ``pad``. An int
            is used for all sides; a tuple is (above, below, left, right). Default: ``0``.
        dilation (Union[int, tuple[int]]): distance between kernel taps. Default: ``1``.
        group (int): number of channel groups. Default: ``1``.
        has_bias (bool): whether a bias is added. Default: ``False``.
        weight_init, bias_init: initial values, as for nn.Conv2d. Default: ``None``, which means
            the initialiser of nn.Conv2d.
        data_format (str): only ``NCHW`` is supported. Default: ``'NCHW'``.
        dtype: dtype of the weights. Default: ``mindspore.float32``.
        lowering (str): ``onednn``, ``im2col`` (im2col and a matrix product), or ``auto``
            (``onednn`` if oneDNN is available, otherwise ``im2col``). On the native route,
            ``im2col`` runs in NumPy. On the composite route, ``im2col`` runs as MindSpore's basic
            operators. These operators also exist on devices without a convolution operator.
            Default: ``'auto'``.
        route (str): ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an
            empty string for the default route.

    Inputs:
        - **x** (Tensor) - (batch, in_channels, height, width); float16, bfloat16, float32 or
          float64. Float64 convolutions run in NumPy.

    Outputs:
        Tensor (batch, out_channels, height, width) of the dtype of x.

    Raises:
        InputError: an argument or the size of an input is invalid; the message names the argument
            or input.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import Conv2d
        >>> x = np.ones((1, 1, 3, 3), np.float32)
        >>> Conv2d(1, 1, 3).forward(x, x)[0, 0]
        array([[4., 6., 4.],
               [6., 9., 6.],
               [4., 6., 4.]], dtype=float32)
    """

    def __init__(
        self,
        in_channels: int,
        out_channels: int,
        kernel_size: Any,
        stride: Any = 1,
        pad_mode: str = "same",
        padding: Any = 0,
        dilation: Any = 1,
        group: int = 1,
        has_bias: bool = False,
        weight_init: Any = None,
        bias_init: Any = None,
        data_format: str = "NCHW",
        dtype: Any = None,
        lowering: str = "auto",
        route: str = "",
    ):
        attributes = conv_attributes("Conv2d", stride, pad_mode, padding, dilation, group, lowering)
        if data_format != "NCHW":
            raise InputError(
                "Conv2d: data_format is not computed on CPU",
                place="Conv2d",
                expected="NCHW",
                got=repr(data_format),
            )
        kernel = _pair("Conv2d", "kernel_size", kernel_size)
        for argument, value in (("in_channels", in_channels), ("out_channels", out_channels)):
            if group < 1 or value < 1 or value % group:
                raise InputError(
                    f"Conv2d: {argument} does not fit group",
                    place="Conv2d",
                    expected=f"a multiple of {group}",
                    got=repr(value),
                )
        shape = (out_channels, in_channels // group, *kernel)
        bound = 1 / math.sqrt(math.prod(shape[1:]))
        initial = uniform_initializer(bound, he=True) if weight_init is None else weight_init
        weights = {"weight": make_parameter(initial, shape, dtype, "weight")}
        if has_bias:
            initial = uniform_initializer(bound) if bias_init is None else bias_init
            weights["bias"] = make_parameter(initial, (out_channels,), dtype, "bias")
        super().__init__(CONV2D_BIAS if has_bias else CONV2D, attributes, weights, route)
        self.in_channels, self.out_channels, self.kernel_size = in_channels, out_channels, kernel
        self.stride, self.pad_mode, self.padding = stride, pad_mode, padding
        self.dilation, self.group, self.has_bias = dilation, group, bool(has_bias)
        self.data_format = data_format

    @classmethod
    def from_cells(cls, conv: Any, lowering: str = "auto", route: str = "") -> Any:
        """Builds the Cell from an nn.Conv2d; both Cells use the same Parameters."""
        bias = conv.bias if conv.has_bias else None
        with keep_names(conv.weight, bias):
            made = cls(
                conv.in_channels,
                conv.out_channels,
                conv.kernel_size,
                conv.stride,
                conv.pad_mode,
                conv.padding,
                conv.dilation,
                conv.group,
                conv.has_bias,
                conv.weight,
                bias,
                conv.data_format,
                lowering=lowering,
                route=route,
            )
        made.set_train(conv.training)
        return made

    def construct(self, x: Any) -> Any:
        """Runs one kernel (native route), or MindSpore's basic operators (composite route)."""
        if self.has_bias:
            return self.run(x, self.weight.astype(x.dtype), self.bias.astype(x.dtype))
        return self.run(x, self.weight.astype(x.dtype))


FUNCTION_SPECS = (
    function_of_spec(
        "conv2d",
        CONV2D_BIAS,
        """Returns conv(x, weight) + bias; see `custom_ops.Conv2d`.

        Args:
            x: (batch, channels, height, width).
            weight: (output channels, channels per group, kernel height, kernel width).
            bias: (output channels,), or None.
            stride, dilation: one integer, or a pair (along the height, along the width).
            padding: one integer, or (above, below, left, right), or ``same`` or ``valid``.
            groups: number of channel groups.
            lowering, route: as in `custom_ops.Conv2d`.

        Returns:
            Tensor (batch, output channels, output height, output width) of the dtype of x.

        Raises:
            InputError: an attribute or the size of an input is invalid.
        """,
        without=CONV2D,
        types=CONVOLUTION_TYPES,
    ),
)
