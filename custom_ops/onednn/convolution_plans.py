"""What oneDNN does for a convolution and its gradients: layouts of its own choice, the epilogue within."""

from __future__ import annotations

from functools import lru_cache
from typing import Any

from custom_ops.onednn import constants, im2col, pointwise
from custom_ops.onednn.building import build
from custom_ops.onednn.dnnl_library import Library
from custom_ops.onednn.epilogues import Epilogue
from custom_ops.onednn.geometry import Geometry
from custom_ops.onednn.plans import Builder, Place, Unimplemented, dims
from custom_ops.onednn.prepared import Prepared, TensorType

KEPT = 512
"""How many prepared operators stay for the next who asks."""


@lru_cache(maxsize=KEPT)
def plan_forward(operator: str, sizes: Geometry, inputs: tuple[TensorType, ...], output: TensorType, after: Epilogue, threads: int, library: Library | None) -> Prepared:  # fmt: skip
    """activation(conv(x, weight) + bias + residual); without a library by NumPy."""
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
def plan_gradients(operator: str, sizes: Geometry, inputs: tuple[TensorType, ...], outputs: tuple[TensorType, ...], threads: int, library: Library | None) -> Prepared:  # fmt: skip
    """The gradients that the outputs name; without a library by NumPy."""
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
