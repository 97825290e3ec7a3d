"""Convolution in two dimensions through oneDNN: forward with its epilogue, both gradients, layouts of its own choice."""

from __future__ import annotations

from collections.abc import Sequence
from functools import lru_cache
from typing import Any

from custom_ops.onednn import constants, im2col, pointwise
from custom_ops.onednn.dnnl_library import Library
from custom_ops.onednn.epilogues import Epilogue
from custom_ops.onednn.geometry import Geometry, Padding, Pair, geometry
from custom_ops.onednn.plans import Builder, Place, Unimplemented, dims
from custom_ops.onednn.prepared import Prepared, TensorType
from custom_ops.onednn.routes import build, check_dtype, checked_threads, chosen

KEPT = 512
"""How many prepared operators stay for the next who asks."""


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
    return _forward(operator, sizes, tuple(inputs), output, after, checked_threads(operator, threads), chosen(operator, lowering, dtype))  # fmt: skip


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
    return _backward(operator, sizes, tuple(inputs), tuple(outputs), checked_threads(operator, threads), chosen(operator, lowering, dtype))  # fmt: skip


@lru_cache(maxsize=KEPT)
def _forward(operator: str, sizes: Geometry, inputs: tuple[TensorType, ...], output: TensorType, after: Epilogue, threads: int, library: Library | None) -> Prepared:  # fmt: skip
    if library is None:
        return Prepared(operator, inputs, (output,), formula=lambda *given: [im2col.forward(sizes, after, *given)])  # fmt: skip

    def steps(builder: Builder, dtype: str) -> None:
        read = {kind.name: builder.read(kind, dtype, _view(sizes, kind)) for kind in inputs}
        y = builder.written(output, dtype)
        if pointwise.applies(sizes):
            pointwise.forward(builder, sizes, read["x"], read["weight"], y, after, read.get("bias"), read.get("residual"))  # fmt: skip
            return
        attributes = builder.attributes()
        after.join(library, attributes)
        bias = read["bias"].description if after.bias else None
        primitive = builder.primitive(
            "convolution_forward", library.engine, constants.FORWARD_TRAINING, constants.CONVOLUTION_DIRECT,
            builder.free(sizes.x, dtype), builder.free(sizes.grouped_weight, dtype), bias, builder.free(sizes.y, dtype),
            *_attributes(sizes), attributes,
        )  # fmt: skip
        result = builder.target(y, builder.wanted(primitive, constants.RESULT))
        if after.residual:
            builder.copy(read["residual"], result)
        given = {name: builder.converted(read[key], builder.wanted(primitive, name)) for name, key in ((constants.SOURCE, "x"), (constants.WEIGHTS, "weight"))}  # fmt: skip
        given |= {constants.BIAS: read["bias"]} if after.bias else {}
        builder.execute(primitive, {**given, constants.RESULT: result})
        builder.deliver(result, y, relu=after.has_own_relu)

    return build(library, threads, operator, inputs, (output,), steps)


@lru_cache(maxsize=KEPT)
def _backward(operator: str, sizes: Geometry, inputs: tuple[TensorType, ...], outputs: tuple[TensorType, ...], threads: int, library: Library | None) -> Prepared:  # fmt: skip
    if library is None:
        names = [kind.name for kind in inputs]
        wishes = [kind.name.removeprefix("grad_") for kind in outputs]
        return Prepared(operator, inputs, outputs, formula=lambda *given: im2col.backward(sizes, wishes, **dict(zip(names, given, strict=True))))  # fmt: skip

    def steps(builder: Builder, dtype: str) -> None:
        if dtype != "float32" and sizes.is_narrower_than_stride:
            # 3.10.1 reads memory that nobody wrote for the gradient of the weights in bfloat16
            raise Unimplemented("gradient of x narrower than the stride")
        read = {kind.name: builder.read(kind, dtype, _view(sizes, kind)) for kind in inputs}
        write = {kind.name: builder.written(kind, dtype, _view(sizes, kind)) for kind in outputs}
        free = {name: builder.free(shape, dtype) for name, shape in (("x", sizes.x), ("weight", sizes.grouped_weight), ("y", sizes.y))}  # fmt: skip
        hint = builder.primitive(
            "convolution_forward", library.engine, constants.FORWARD_TRAINING, constants.CONVOLUTION_DIRECT,
            free["x"], free["weight"], None, free["y"], *_attributes(sizes), builder.attributes(),
        )  # fmt: skip
        builder.names.pop()
        if "grad_x" in write and pointwise.applies(sizes):
            pointwise.gradient_of_x(builder, sizes, read["grad"], read["weight"], write["grad_x"])
        elif "grad_x" in write:
            primitive = builder.primitive(
                "convolution_backward_data", library.engine, constants.CONVOLUTION_DIRECT,
                free["x"], free["weight"], free["y"], *_attributes(sizes), hint, builder.attributes(),
            )  # fmt: skip
            _gradient(builder, primitive, read, write, {constants.RESULT_GRADIENT: "grad", constants.WEIGHTS: "weight"}, {constants.SOURCE_GRADIENT: "grad_x"})  # fmt: skip
        if "grad_weight" in write:
            bias = write.get("grad_bias")
            primitive = builder.primitive(
                "convolution_backward_weights", library.engine, constants.CONVOLUTION_DIRECT,
                free["x"], free["weight"], bias.dense.description if bias else None, free["y"], *_attributes(sizes), hint, builder.attributes(),
            )  # fmt: skip
            targets = {constants.WEIGHTS_GRADIENT: "grad_weight"} | ({constants.BIAS_GRADIENT: "grad_bias"} if bias else {})  # fmt: skip
            _gradient(builder, primitive, read, write, {constants.RESULT_GRADIENT: "grad", constants.SOURCE: "x"}, targets)  # fmt: skip

    return build(library, threads, operator, inputs, outputs, steps)


def _gradient(builder: Builder, primitive: Any, read: dict[str, Place], write: dict[str, Any], sources: dict[int, str], targets: dict[int, str]) -> None:  # fmt: skip
    given = {name: builder.converted(read[key], builder.wanted(primitive, name)) for name, key in sources.items()}  # fmt: skip
    made = {name: builder.target(write[key], builder.wanted(primitive, name)) for name, key in targets.items()}  # fmt: skip
    builder.execute(primitive, {**given, **made})
    for name, key in targets.items():
        builder.deliver(made[name], write[key])


def _view(sizes: Geometry, kind: TensorType) -> tuple[int, ...]:
    """The shape under which oneDNN sees an argument."""
    return sizes.grouped_weight if kind.name.endswith("weight") else kind.shape


def _attributes(sizes: Geometry) -> tuple[Any, ...]:
    above, below, left, right = sizes.padding
    # oneDNN counts the gaps
    return dims(sizes.stride), dims([step - 1 for step in sizes.dilation]), dims((above, left)), dims((below, right))  # fmt: skip
