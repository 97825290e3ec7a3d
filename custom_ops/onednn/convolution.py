"""Convolution in two dimensions: forward with its epilogue, and its gradients."""

from __future__ import annotations

from collections.abc import Sequence

from custom_ops.onednn import im2col
from custom_ops.onednn.convolution_plans import plan_forward, plan_gradients
from custom_ops.onednn.epilogues import Epilogue
from custom_ops.onednn.geometry import Padding, Pair, geometry
from custom_ops.onednn.prepared import Prepared, TensorType
from custom_ops.onednn.routes import check_dtype, checked_threads, chosen


def prepare_conv2d(
    x_shape: Sequence[int],
    weight_shape: Sequence[int],
    *,
    dtype: str = "float32",
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
    bias: bool = False,
    residual: bool = False,
    activation: str = "",
    alpha: float | None = None,
    threads: int | None = None,
    lowering: str = "auto",
    operator: str = "Conv2d",
) -> Prepared:
    """``y = activation(conv(x, weight) + bias + residual)``, arrays as batch, channels, height, width.

    Inputs ``x``, ``weight``, then ``bias`` (channels out) and ``residual`` (shape of y) when asked for; output ``y``.
    Sums are float32; float16 and bfloat16 are rounded once, at the end.

    Args:
        x_shape, weight_shape, stride, padding, dilation, groups: as for `geometry.geometry`.
        dtype: of all arrays: ``float32``, ``float16``, ``bfloat16``, or ``float64``, which NumPy computes.
        bias, residual: whether they are inputs.
        activation: a key of `epilogues.ACTIVATIONS`; empty for none.
        alpha: its parameter where it has one.
        threads: that share the work; by default those of `tbe_impl.environment.threads`.
        lowering: ``onednn``, ``im2col`` (NumPy; no address for C), or ``auto``: oneDNN where it is there.
        operator: the name in errors.

    Raises:
        InputError: names operator, argument, expected and got.
        MissingError: oneDNN is asked for and not there.
    """
    sizes = geometry(operator, x_shape, weight_shape, stride=stride, padding=padding, dilation=dilation, groups=groups)  # fmt: skip
    after = Epilogue(bias, residual, activation, alpha)
    after.check(operator)
    check_dtype(operator, dtype)
    inputs = [TensorType("x", sizes.x, dtype), TensorType("weight", sizes.weight, dtype)]
    inputs += [TensorType("bias", sizes.weight[:1], dtype)] if bias else []
    inputs += [TensorType("residual", sizes.y, dtype)] if residual else []
    output = TensorType("y", sizes.y, dtype)
    return plan_forward(operator, sizes, tuple(inputs), output, after, checked_threads(operator, threads), chosen(operator, lowering, dtype))  # fmt: skip


def prepare_conv2d_backward(
    x_shape: Sequence[int],
    weight_shape: Sequence[int],
    *,
    dtype: str = "float32",
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
    wanted: Sequence[str] = ("x", "weight", "bias"),
    threads: int | None = None,
    lowering: str = "auto",
    operator: str = "Conv2dGrad",
) -> Prepared:
    """The gradients of `prepare_conv2d` without its epilogue.

    Inputs ``grad`` (of y), then ``weight`` when the gradient of x is wanted, then ``x`` when that of weight is; outputs
    the gradients ``grad_x``, ``grad_weight``, ``grad_bias`` that are wanted, in this order.

    Args:
        wanted: some of ``x``, ``weight``, ``bias``.
        x_shape and the rest: as for `prepare_conv2d`.

    Raises:
        InputError: names operator, argument, expected and got.
        MissingError: oneDNN is asked for and not there.
    """
    sizes = geometry(operator, x_shape, weight_shape, stride=stride, padding=padding, dilation=dilation, groups=groups)  # fmt: skip
    check_dtype(operator, dtype)
    wishes = im2col.check_wanted(operator, wanted)
    inputs = [TensorType("grad", sizes.y, dtype)]
    inputs += [TensorType("weight", sizes.weight, dtype)] if "x" in wishes else []
    inputs += [TensorType("x", sizes.x, dtype)] if "weight" in wishes else []
    shapes = {"x": sizes.x, "weight": sizes.weight, "bias": sizes.weight[:1]}
    outputs = [TensorType(f"grad_{name}", shapes[name], dtype) for name in wishes]
    return plan_gradients(operator, sizes, tuple(inputs), tuple(outputs), checked_threads(operator, threads), chosen(operator, lowering, dtype))  # fmt: skip
