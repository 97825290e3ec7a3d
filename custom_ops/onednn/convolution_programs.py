"""What oneDNN does for a convolution and its gradients: layouts of its own choice, the epilogue within."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from custom_ops.onednn import (
    constants,
    convolution_primitives,
    im2col,
    layouts,
    pointwise,
    split_channels,
)
from custom_ops.onednn.convolution_epilogue import Following
from custom_ops.onednn.convolution_primitives import window
from custom_ops.onednn.dnnl_library import Library
from custom_ops.onednn.epilogues import Epilogue
from custom_ops.onednn.geometry import Geometry
from custom_ops.onednn.prepared_operator import Prepared, TensorType
from custom_ops.onednn.program_building import build
from custom_ops.onednn.programs import Builder, Place, Unimplemented, Written
from custom_ops.onednn.weight_gradient_steps import Images, in_pieces

KEPT = 512
"""How many prepared operators stay for the next who asks."""


@lru_cache(maxsize=KEPT)
def plan_forward(
    operator: str,
    sizes: Geometry,
    inputs: tuple[TensorType, ...],
    output: TensorType,
    after: Epilogue,
    threads: int,
    library: Library | None,
    last: frozenset[str] = frozenset(),
) -> Prepared:
    """activation(conv(x, weight) · scale + bias + residual); without a library by NumPy."""
    if library is None:
        return Prepared(
            operator,
            inputs,
            (output,),
            formula=lambda *given: [im2col.forward(sizes, after, *given)],
        )

    def steps(builder: Builder, dtype: str) -> None:
        read = {kind.name: _read(builder, sizes, kind, dtype, last) for kind in inputs}
        y = layouts.written(builder, output, dtype, sizes.y, "y" in last)
        if pointwise.applies(sizes) and not last and not after.scale:
            pointwise.forward(
                builder,
                sizes,
                read["x"],
                read["weight"],
                y,
                after,
                read.get("bias"),
                read.get("residual"),
            )
            return
        _refuse_narrow(sizes, dtype)
        following = _following(builder, sizes, after, read)
        if split_channels.forward(
            builder, sizes, dtype, read["x"], read["weight"], y, following, last
        ):
            return
        within = (
            frozenset[str]()
            if last and convolution_primitives.adds_in_blocks(builder, sizes, dtype)
            else last
        )
        laid = {"weight": builder.free(sizes.grouped_weight, dtype)}
        laid |= {
            name: _image(builder, shape, dtype, within)
            for name, shape in (("x", sizes.x), ("y", sizes.y))
        }
        bias = following.bias and following.bias.description
        primitive = convolution_primitives.convolution(
            builder, sizes, laid, bias, following.attributes(builder, laid["y"])
        )
        result = builder.target(y, builder.wanted(primitive, constants.RESULT))
        taken = {
            constants.SOURCE: read["x"],
            constants.WEIGHTS: read["weight"],
            **following.arguments(),
        }
        given = {
            name: builder.converted(place, builder.wanted(primitive, name))
            for name, place in taken.items()
        }
        builder.execute(primitive, {**given, constants.RESULT: result})
        builder.deliver(result, y, relu=after.has_own_relu)

    return build(library, threads, operator, inputs, (output,), steps)


@lru_cache(maxsize=KEPT)
def plan_gradients(
    operator: str,
    sizes: Geometry,
    inputs: tuple[TensorType, ...],
    outputs: tuple[TensorType, ...],
    threads: int,
    library: Library | None,
    last: frozenset[str] = frozenset(),
) -> Prepared:
    """The gradients that the outputs name; without a library by NumPy."""
    if library is None:
        names = [kind.name for kind in inputs]
        wishes = [kind.name.removeprefix("grad_") for kind in outputs]
        return Prepared(
            operator,
            inputs,
            outputs,
            formula=lambda *given: im2col.backward(
                sizes, wishes, **dict(zip(names, given, strict=True))
            ),
        )

    def steps(builder: Builder, dtype: str) -> None:
        _refuse_narrow(sizes, dtype)
        read = {kind.name: _read(builder, sizes, kind, dtype, last) for kind in inputs}
        write = {kind.name: _written(builder, sizes, kind, dtype, last) for kind in outputs}
        free = {"weight": builder.free(sizes.grouped_weight, dtype)}
        free |= {
            name: _image(builder, shape, dtype, last)
            for name, shape in (("x", sizes.x), ("y", sizes.y))
        }
        hint = convolution_primitives.hint(builder, sizes, free)
        if "grad_x" in write and pointwise.applies(sizes) and not last:
            pointwise.gradient_of_x(builder, sizes, read["grad"], read["weight"], write["grad_x"])
        elif "grad_x" in write:
            primitive = builder.primitive(
                "convolution_backward_data",
                library.engine,
                constants.CONVOLUTION_DIRECT,
                free["x"],
                free["weight"],
                free["y"],
                *window(sizes),
                hint,
                builder.attributes(),
            )
            _gradient(
                builder,
                primitive,
                read,
                write,
                {constants.RESULT_GRADIENT: "grad", constants.WEIGHTS: "weight"},
                {constants.SOURCE_GRADIENT: "grad_x"},
            )
        if "grad_weight" not in write:
            return
        bias = write.get("grad_bias")
        if dtype == "float32":
            grad, x = (
                Images(read[name], shape, name in last)
                for name, shape in (("grad", sizes.y), ("x", sizes.x))
            )
            if in_pieces(builder, sizes, grad, x, write["grad_weight"], bias):
                return
        primitive = convolution_primitives.gradient_of_weights(
            builder, sizes, free, hint, bias and bias.dense.description
        )
        targets = {constants.WEIGHTS_GRADIENT: "grad_weight"} | (
            {constants.BIAS_GRADIENT: "grad_bias"} if bias else {}
        )
        _gradient(
            builder,
            primitive,
            read,
            write,
            {constants.RESULT_GRADIENT: "grad", constants.SOURCE: "x"},
            targets,
        )

    return build(library, threads, operator, inputs, outputs, steps)


def _following(
    builder: Builder, sizes: Geometry, after: Epilogue, read: dict[str, Place]
) -> Following:
    if not after.scale:
        return Following(after, bias=read.get("bias"), residual=read.get("residual"))
    shape = (1, sizes.weight[0], 1, 1)
    channels = tuple(builder.seen(read[name], shape) for name in ("scale", "bias") if name in read)
    return Following(after, channels=channels, residual=read.get("residual"))


def _refuse_narrow(sizes: Geometry, dtype: str) -> None:
    """In bfloat16 oneDNN 3.10.1 reads memory that nobody wrote: for gradients of weights, and where the processor has AMX for results."""
    if dtype != "float32" and sizes.is_narrower_than_stride:
        raise Unimplemented("x narrower than the stride")


def _gradient(
    builder: Builder,
    primitive: Any,
    read: dict[str, Place],
    write: dict[str, Any],
    sources: dict[int, str],
    targets: dict[int, str],
) -> None:
    given = {
        name: builder.converted(read[key], builder.wanted(primitive, name))
        for name, key in sources.items()
    }
    made = {
        name: builder.target(write[key], builder.wanted(primitive, name))
        for name, key in targets.items()
    }
    builder.execute(primitive, {**given, **made})
    for name, key in targets.items():
        builder.deliver(made[name], write[key])


def _image(builder: Builder, shape: tuple[int, ...], dtype: str, last: frozenset[str]) -> Any:
    """How a primitive lays out an image: channels last where any array lies so, else as it likes."""
    return (
        builder.dense(shape, dtype, layouts.strides(shape, True))
        if last
        else builder.free(shape, dtype)
    )


def _read(
    builder: Builder, sizes: Geometry, kind: TensorType, dtype: str, last: frozenset[str]
) -> Place:
    """The next buffer, an input, as oneDNN sees it."""
    if kind.name == "weight":
        return builder.read(kind, dtype, sizes.grouped_weight)
    if len(kind.shape) == 1:
        return builder.read(kind, dtype)
    return layouts.read(
        builder, kind, dtype, sizes.x if kind.name == "x" else sizes.y, kind.name in last
    )


def _written(
    builder: Builder, sizes: Geometry, kind: TensorType, dtype: str, last: frozenset[str]
) -> Written:
    """The next buffer, a gradient."""
    if kind.name == "grad_x":
        return layouts.written(builder, kind, dtype, sizes.x, kind.name in last)
    return builder.written(
        kind, dtype, sizes.grouped_weight if kind.name == "grad_weight" else None
    )
