"""The steps of a gradient of weights whose sums are those of `weight_pieces`."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from custom_ops.onednn import constants, convolution_primitives, layouts
from custom_ops.onednn.geometry import Geometry
from custom_ops.onednn.plans import Builder, Place, Unimplemented, Written
from custom_ops.onednn.weight_pieces import Piece, pieces

BYTES = 4
"""Of a float32."""


def in_pieces(builder: Builder, sizes: Geometry, grad: Place, x: Place, weight: Written, bias: Written | None) -> bool:  # fmt: skip
    """Writes them for arrays of float32; False, and nothing written, where the whole is as good or oneDNN has no quick primitive."""
    parts = pieces(sizes, builder.threads)
    shapes = [{"x": _last(builder, one.sizes.x), "y": _last(builder, one.sizes.y)} for one in parts]
    primitives = _quick(builder, sizes, parts, shapes, bias)
    if not primitives:
        return False
    target = builder.target(weight, builder.wanted(primitives[0], constants.WEIGHTS_GRADIENT))
    written = [(constants.WEIGHTS_GRADIENT, target, weight)]
    written += [(constants.BIAS_GRADIENT, bias.dense, bias)] if bias else []
    sums = {name: [builder.scratch(made.description) for _ in parts] for name, made, _ in written}
    grad, x = builder.converted(grad, _last(builder, sizes.y)), builder.converted(x, _last(builder, sizes.x))  # fmt: skip
    for number, (one, shape, primitive) in enumerate(zip(parts, shapes, primitives, strict=True)):
        given = {
            constants.RESULT_GRADIENT: builder.part(grad, shape["y"], BYTES * one.before(sizes.y, one.y_row)),
            constants.SOURCE: builder.part(x, shape["x"], BYTES * one.before(sizes.x, one.x_row)),
        }  # fmt: skip
        with builder.piece():
            builder.execute(primitive, {**given, **{name: places[number] for name, places in sums.items()}})  # fmt: skip
    for name, made, place in written:
        builder.sum_of(sums[name], made)
        builder.deliver(made, place)
    return True


def _quick(builder: Builder, sizes: Geometry, parts: Sequence[Piece], shapes: Sequence[dict[str, Any]], bias: Written | None) -> list[Any]:  # fmt: skip
    """A primitive for each piece, all with one layout of the weights; none where one is of the slow kind."""
    before, found = len(builder.names), []
    with builder.alone():
        for one, shape in zip(parts, shapes, strict=True):
            laid = {**shape, "weight": builder.free(sizes.grouped_weight, "float32")}
            try:
                forward = convolution_primitives.hint(builder, one.sizes, laid)
                found.append(convolution_primitives.gradient_of_weights(builder, one.sizes, laid, forward, bias and bias.dense.description))  # fmt: skip
            except Unimplemented:
                return []
    names = set(builder.names[before:])
    layouts_of = [builder.wanted(one, constants.WEIGHTS_GRADIENT) for one in found]
    quick = all(name.startswith("jit") for name in names) and all(builder.same(one, layouts_of[0]) for one in layouts_of)  # fmt: skip
    builder.names[before:] = sorted(names) if quick else []
    return found if quick else []


def _last(builder: Builder, shape: tuple[int, ...]) -> Any:
    return builder.dense(shape, "float32", layouts.strides(shape, True))
