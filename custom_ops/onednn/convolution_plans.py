"""Plans convolutions and their gradients as sequences of oneDNN primitives.

oneDNN chooses the layouts.
"""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from custom_ops.onednn import (
    constants,
    convolution_primitives,
    im2col,
    layouts,
    pointwise_convolution,
    split_channels,
)
from custom_ops.onednn.convolution_epilogue import EpilogueOperands
from custom_ops.onednn.convolution_primitives import window
from custom_ops.onednn.dnnl_library import Library
from custom_ops.onednn.epilogues import Epilogue
from custom_ops.onednn.geometry import Geometry
from custom_ops.onednn.plan_building import build_plan
from custom_ops.onednn.plans import OutputPlace, Place, PlanBuilder, Unimplemented
from custom_ops.onednn.prepared_operator import Prepared, TensorType
from custom_ops.onednn.weight_gradient import Images, add_split_gradient

PLAN_CACHE_SIZE = 512
"""Maximum number of plans in each plan cache."""


@lru_cache(maxsize=PLAN_CACHE_SIZE)
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
    """Plans activation(conv(x, weight) · scale + bias + residual).

    If `library` is None, NumPy computes the operator.
    """
    if library is None:
        return Prepared(
            operator,
            inputs,
            (output,),
            formula=lambda *given: [im2col.forward(sizes, after, *given)],
        )

    def add_steps(builder: PlanBuilder, dtype: str) -> None:
        read = {kind.name: _input_place(builder, sizes, kind, dtype, last) for kind in inputs}
        y = layouts.output_image(builder, output, dtype, sizes.y, "y" in last)
        if pointwise_convolution.is_applicable(sizes) and not last and not after.scale:
            pointwise_convolution.forward(
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
        following = _epilogue_operands(builder, sizes, after, read)
        if split_channels.forward(
            builder, sizes, dtype, read["x"], read["weight"], y, following, last
        ):
            return
        within = (
            frozenset[str]()
            if last and convolution_primitives.adds_in_blocks(builder, sizes, dtype)
            else last
        )
        laid = {"weight": builder.any_layout(sizes.grouped_weight, dtype)}
        laid |= {
            name: _image_layout(builder, shape, dtype, within)
            for name, shape in (("x", sizes.x), ("y", sizes.y))
        }
        bias = following.bias and following.bias.description
        primitive = convolution_primitives.create_convolution(
            builder, sizes, laid, bias, following.attributes(builder, laid["y"])
        )
        result = builder.target(y, builder.argument_layout(primitive, constants.RESULT))
        taken = {
            constants.SOURCE: read["x"],
            constants.WEIGHTS: read["weight"],
            **following.arguments(),
        }
        given = {
            name: builder.convert(place, builder.argument_layout(primitive, name))
            for name, place in taken.items()
        }
        builder.execute(primitive, {**given, constants.RESULT: result})
        builder.deliver(result, y, relu=after.has_own_relu)

    return build_plan(library, threads, operator, inputs, (output,), add_steps)


@lru_cache(maxsize=PLAN_CACHE_SIZE)
def plan_gradients(
    operator: str,
    sizes: Geometry,
    inputs: tuple[TensorType, ...],
    outputs: tuple[TensorType, ...],
    threads: int,
    library: Library | None,
    last: frozenset[str] = frozenset(),
) -> Prepared:
    """Plans the gradients of a convolution that are named in `outputs`.

    If `library` is None, NumPy computes the gradients.
    """
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

    def add_steps(builder: PlanBuilder, dtype: str) -> None:
        _refuse_narrow(sizes, dtype)
        read = {kind.name: _input_place(builder, sizes, kind, dtype, last) for kind in inputs}
        write = {kind.name: _gradient_place(builder, sizes, kind, dtype, last) for kind in outputs}
        free = {"weight": builder.any_layout(sizes.grouped_weight, dtype)}
        free |= {
            name: _image_layout(builder, shape, dtype, last)
            for name, shape in (("x", sizes.x), ("y", sizes.y))
        }
        hint = convolution_primitives.create_forward_hint(builder, sizes, free)
        if "grad_x" in write and pointwise_convolution.is_applicable(sizes) and not last:
            pointwise_convolution.gradient_of_x(
                builder, sizes, read["grad"], read["weight"], write["grad_x"]
            )
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
            _add_gradient_step(
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
            if add_split_gradient(builder, sizes, grad, x, write["grad_weight"], bias):
                return
        primitive = convolution_primitives.create_weight_gradient(
            builder, sizes, free, hint, bias and bias.dense.description
        )
        targets = {constants.WEIGHTS_GRADIENT: "grad_weight"} | (
            {constants.BIAS_GRADIENT: "grad_bias"} if bias else {}
        )
        _add_gradient_step(
            builder,
            primitive,
            read,
            write,
            {constants.RESULT_GRADIENT: "grad", constants.SOURCE: "x"},
            targets,
        )

    return build_plan(library, threads, operator, inputs, outputs, add_steps)


def _epilogue_operands(
    builder: PlanBuilder, sizes: Geometry, after: Epilogue, read: dict[str, Place]
) -> EpilogueOperands:
    if not after.scale:
        return EpilogueOperands(after, bias=read.get("bias"), residual=read.get("residual"))
    shape = (1, sizes.weight[0], 1, 1)
    channels = tuple(builder.view(read[name], shape) for name in ("scale", "bias") if name in read)
    return EpilogueOperands(after, channels=channels, residual=read.get("residual"))


def _refuse_narrow(sizes: Geometry, dtype: str) -> None:
    """Raises `Unimplemented` if x has a 16-bit dtype and is smaller than the stride.

    If x is bfloat16 and smaller than the stride, oneDNN 3.10.1 reads uninitialized memory when it
    computes the weight gradient. With AMX, oneDNN also reads uninitialized memory when it computes
    the convolution.
    """
    if dtype != "float32" and sizes.is_narrower_than_stride:
        raise Unimplemented("x narrower than the stride")


def _add_gradient_step(
    builder: PlanBuilder,
    primitive: Any,
    read: dict[str, Place],
    write: dict[str, Any],
    sources: dict[int, str],
    targets: dict[int, str],
) -> None:
    given = {
        name: builder.convert(read[key], builder.argument_layout(primitive, name))
        for name, key in sources.items()
    }
    made = {
        name: builder.target(write[key], builder.argument_layout(primitive, name))
        for name, key in targets.items()
    }
    builder.execute(primitive, {**given, **made})
    for name, key in targets.items():
        builder.deliver(made[name], write[key])


def _image_layout(
    builder: PlanBuilder, shape: tuple[int, ...], dtype: str, last: frozenset[str]
) -> Any:
    """Returns the layout of a primitive's images.

    `last` has the names of the channels-last arrays. If there is at least one such array, the
    layout is channels-last. Otherwise oneDNN chooses the layout.
    """
    return (
        builder.dense_layout(shape, dtype, layouts.strides(shape, True))
        if last
        else builder.any_layout(shape, dtype)
    )


def _input_place(
    builder: PlanBuilder, sizes: Geometry, kind: TensorType, dtype: str, last: frozenset[str]
) -> Place:
    """Adds the next input of the primitive to a plan, with the shape and strides for oneDNN.

    The plan takes the input from the caller's next buffer.
    """
    if kind.name == "weight":
        return builder.read(kind, dtype, sizes.grouped_weight)
    if len(kind.shape) == 1:
        return builder.read(kind, dtype)
    return layouts.input_image(
        builder, kind, dtype, sizes.x if kind.name == "x" else sizes.y, kind.name in last
    )


def _gradient_place(
    builder: PlanBuilder, sizes: Geometry, kind: TensorType, dtype: str, last: frozenset[str]
) -> OutputPlace:
    """Adds the next gradient of the primitive to a plan, as an output.

    The plan writes the gradient into the caller's next buffer.
    """
    if kind.name == "grad_x":
        return layouts.output_image(builder, kind, dtype, sizes.x, kind.name in last)
    return builder.output_place(
        kind, dtype, sizes.grouped_weight if kind.name == "grad_weight" else None
    )
