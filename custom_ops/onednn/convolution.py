"""Prepares 2-D convolutions with an epilogue, and their gradients.

The module also determines whether oneDNN is fast for channels-last convolutions.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from functools import cache

from custom_ops.onednn import im2col
from custom_ops.onednn.convolution_plans import plan_forward, plan_gradients
from custom_ops.onednn.epilogues import Epilogue
from custom_ops.onednn.geometry import Padding, Pair, geometry
from custom_ops.onednn.layouts import memory_shape
from custom_ops.onednn.prepared_operator import Prepared, TensorType
from custom_ops.onednn.routes import check_dtype, choose_library, resolve_threads
from custom_ops.onednn.verified_library import why_missing
from tbe_impl.errors import InputError


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
    scale: bool = False,
    activation: str = "",
    alpha: float | None = None,
    channels_last: Iterable[str] = (),
    threads: int | None = None,
    lowering: str = "auto",
    operator: str = "Conv2d",
) -> Prepared:
    """Prepares ``y = activation(conv(x, weight) · scale + bias + residual)`` on NCHW arrays.

    The inputs of the operator are ``x``, ``weight`` and, if requested, ``bias``, ``residual`` and
    ``scale``, in this order. ``bias`` and ``scale`` have one value per output channel. ``residual``
    has the shape of y. The output of the operator is ``y``. Sums are accumulated in float32.
    Float16 and bfloat16 results are rounded once, at the end.

    Args:
        x_shape, weight_shape, stride, padding, dilation, groups: as for `geometry.geometry`.
        dtype: dtype of all arrays: ``float32``, ``float16``, ``bfloat16`` or ``float64``. Float64
            is computed in NumPy.
        bias, residual, scale: whether the operator has an input of this name.
        activation: a key of `epilogues.ACTIVATIONS`; empty for no activation.
        alpha: parameter of the activation.
        channels_last: names of the arrays (``x``, ``y`` or ``residual``) that have the memory order
            batch, height, width, channels. Only oneDNN supports this order.
        threads: number of threads. By default, the number from `tbe_impl.environment.threads`, or 1
            if there is little work.
        lowering: ``onednn``, ``im2col`` (in NumPy, not callable from C), or ``auto`` (oneDNN if it
            is available, else im2col).
        operator: name of the operator in error messages.

    Raises:
        InputError: an argument is invalid; the message names the operator, the argument, the
            expected and the actual value.
        MissingError: oneDNN is requested but not available.
    """
    sizes = geometry(
        operator,
        x_shape,
        weight_shape,
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
    )
    after = Epilogue(bias, residual, activation, alpha, scale)
    after.check(operator)
    check_dtype(operator, dtype)
    last, library = frozenset(channels_last), choose_library(operator, lowering, dtype)
    _check_channels_last(operator, last, ("x", "y", "residual"), library)
    inputs = [
        TensorType("x", memory_shape(sizes.x, "x" in last), dtype),
        TensorType("weight", sizes.weight, dtype),
    ]
    inputs += [TensorType("bias", sizes.weight[:1], dtype)] if bias else []
    inputs += (
        [TensorType("residual", memory_shape(sizes.y, "residual" in last), dtype)]
        if residual
        else []
    )
    inputs += [TensorType("scale", sizes.weight[:1], dtype)] if scale else []
    output = TensorType("y", memory_shape(sizes.y, "y" in last), dtype)
    shared = resolve_threads(
        operator, threads, operations=sizes.operations, elements=sizes.elements
    )
    return plan_forward(operator, sizes, tuple(inputs), output, after, shared, library, last)


def _check_channels_last(
    operator: str, last: frozenset[str], known: tuple[str, ...], library: object
) -> None:
    if not last <= set(known):
        raise InputError(
            f"{operator}: channels_last is wrong",
            expected=f"some of {', '.join(known)}",
            got=", ".join(sorted(last)),
        )
    if last and library is None:
        raise InputError(
            f"{operator}: channels_last is oneDNN's",
            expected="none of them where NumPy computes",
            got=", ".join(sorted(last)),
        )


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
    channels_last: Iterable[str] = (),
    threads: int | None = None,
    lowering: str = "auto",
    operator: str = "Conv2dGrad",
) -> Prepared:
    """Prepares the gradients of a 2-D convolution with bias, y = conv(x, weight) + bias.

    The first input of the operator is ``grad`` (the gradient of y). ``weight`` follows if
    ``grad_x`` is requested, and ``x`` follows if ``grad_weight`` is requested. The outputs of the
    operator are the requested gradients, in the order ``grad_x``, ``grad_weight``, ``grad_bias``.

    Args:
        x_shape, weight_shape, dtype, stride, padding, dilation, groups: as for `prepare_conv2d`.
        wanted: names of the inputs whose gradients are requested (``x``, ``weight``, ``bias``).
        channels_last: names of the arrays (``grad``, ``x`` or ``grad_x``) that have the memory
            order batch, height, width, channels. Only oneDNN supports this order.
        threads, lowering, operator: as for `prepare_conv2d`.

    Raises:
        InputError: an argument is invalid; the message names the operator, the argument, the
            expected and the actual value.
        MissingError: oneDNN is requested but not available.
    """
    sizes = geometry(
        operator,
        x_shape,
        weight_shape,
        stride=stride,
        padding=padding,
        dilation=dilation,
        groups=groups,
    )
    check_dtype(operator, dtype)
    wishes = im2col.check_wanted(operator, wanted)
    last, library = frozenset(channels_last), choose_library(operator, lowering, dtype)
    _check_channels_last(operator, last, ("grad", "x", "grad_x"), library)
    inputs = [TensorType("grad", memory_shape(sizes.y, "grad" in last), dtype)]
    inputs += [TensorType("weight", sizes.weight, dtype)] if "x" in wishes else []
    inputs += (
        [TensorType("x", memory_shape(sizes.x, "x" in last), dtype)] if "weight" in wishes else []
    )
    shapes = {
        "x": memory_shape(sizes.x, "grad_x" in last),
        "weight": sizes.weight,
        "bias": sizes.weight[:1],
    }
    outputs = [TensorType(f"grad_{name}", shapes[name], dtype) for name in wishes]
    shared = resolve_threads(
        operator, threads, operations=sizes.operations, elements=sizes.elements
    )
    return plan_gradients(operator, sizes, tuple(inputs), tuple(outputs), shared, library, last)


@cache
def quick_channels_last() -> bool:
    """Whether oneDNN has a processor-specific implementation of channels-last convolutions.

    On AVX-512 this implementation (``brg_conv``) is 1.0 to 1.3 times as fast as the implementation
    for the channel-blocked layout.
    """
    if why_missing():
        return False
    probe = prepare_conv2d((1, 32, 8, 8), (32, 32, 3, 3), padding=1, channels_last=("x", "y"))
    return all("brg" in name for name in probe.implementations)
