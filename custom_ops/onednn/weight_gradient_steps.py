"""The steps of a gradient of weights whose sums are those of `weight_pieces`."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from custom_ops.onednn import constants, convolution_primitives, layouts, pointwise
from custom_ops.onednn.geometry import Geometry
from custom_ops.onednn.matrix_product_step import multiply
from custom_ops.onednn.programs import Builder, Place, Unimplemented, Written, row_major
from custom_ops.onednn.split_weight_gradient import FEW_CHANNELS, Piece, pieces

BYTES = 4
"""Of a float32."""


@dataclass(frozen=True)
class Images:
    """An array of images in float32.

    Attributes:
        place: where they are.
        shape: batch, channels, height, width.
        last: whether the channels come last in memory.
    """

    place: Place
    shape: Sequence[int]
    last: bool

    def within(self, builder: Builder, description: Any, image: int, row: int) -> Place:
        """What begins at a row of an image, laid out in some way."""
        strides = layouts.strides(self.shape, self.last) or row_major(self.shape)
        return builder.part(
            self.place, description, BYTES * (image * strides[0] + row * strides[2])
        )

    def block(self, builder: Builder, shape: Sequence[int], image: int, row: int) -> Place:
        """Some rows of an image, or whole images, as they lie."""
        strides = layouts.strides(shape, self.last) or row_major(self.shape)
        return self.within(builder, builder.dense(shape, "float32", strides), image, row)


def in_pieces(
    builder: Builder,
    sizes: Geometry,
    grad: Images,
    x: Images,
    weight: Written,
    bias: Written | None,
) -> bool:
    """Writes them; False, and nothing written, where the whole is as good or oneDNN has no quick primitive."""
    parts = pieces(sizes, builder.threads)
    if sizes.weight[2:] == (1, 1) and not (grad.last and x.last):
        # so few sums that turning the images would take longer
        return (
            pointwise.applies(sizes)
            and not (grad.last or x.last or bias)
            and _products(builder, sizes, parts, grad, x, weight)
        )
    primitives = _quick(
        builder, sizes, parts, bias, last=grad.last or x.last or sizes.weight[1] >= FEW_CHANNELS
    )
    if not primitives:
        return False
    target = builder.target(weight, builder.wanted(primitives[0], constants.WEIGHTS_GRADIENT))
    written = [(constants.WEIGHTS_GRADIENT, target, weight)]
    written += [(constants.BIAS_GRADIENT, bias.dense, bias)] if bias else []
    sums = {name: [builder.scratch(made.description) for _ in parts] for name, made, _ in written}
    for number, (one, primitive) in enumerate(zip(parts, primitives, strict=True)):
        read = {
            constants.RESULT_GRADIENT: grad.block(builder, one.sizes.y, one.image, one.y_row),
            constants.SOURCE: x.block(builder, one.sizes.x, one.image, one.x_row),
        }
        with builder.piece():
            given = {
                name: builder.converted(place, builder.wanted(primitive, name))
                for name, place in read.items()
            }
            builder.execute(
                primitive, {**given, **{name: places[number] for name, places in sums.items()}}
            )
    for name, made, place in written:
        builder.sum_of(sums[name], made)
        builder.deliver(made, place)
    return True


def _products(
    builder: Builder,
    sizes: Geometry,
    parts: Sequence[Piece],
    grad: Images,
    x: Images,
    weight: Written,
) -> bool:
    """A piece of one image is a product of matrices as they lie: (out, places) · (places, channels)."""
    if not parts or any(one.sizes.x[0] > 1 for one in parts):
        return False
    (out, channels), places, before = sizes.weight[:2], math.prod(sizes.x[2:]), len(builder.names)
    sums = [builder.scratch(builder.dense((out, channels), "float32")) for _ in parts]
    for one, made in zip(parts, sums, strict=True):
        here = math.prod(one.sizes.x[2:])
        left, right = (
            builder.dense((out, here), "float32", (places, 1)),
            builder.dense((here, channels), "float32", (1, places)),
        )
        with builder.piece():
            multiply(
                builder,
                grad.within(builder, left, one.image, one.y_row),
                x.within(builder, right, one.image, one.x_row),
                Written(made, made),
            )
    builder.names[before:] = sorted(set(builder.names[before:]))
    builder.sum_of(sums, builder.seen(weight.dense, (out, channels)))
    builder.deliver(weight.dense, weight)
    return True


def _quick(
    builder: Builder, sizes: Geometry, parts: Sequence[Piece], bias: Written | None, *, last: bool
) -> list[Any]:
    """A primitive for each piece, all with one layout of the weights; none where one is of the slow kind."""
    before, found = len(builder.names), []
    with builder.alone():
        for one in parts:
            laid = {"weight": builder.free(sizes.grouped_weight, "float32")}
            for name, shape in (("x", one.sizes.x), ("y", one.sizes.y)):
                laid[name] = (
                    builder.dense(shape, "float32", layouts.strides(shape, True))
                    if last
                    else builder.free(shape, "float32")
                )
            try:
                forward = convolution_primitives.hint(builder, one.sizes, laid)
                found.append(
                    convolution_primitives.gradient_of_weights(
                        builder, one.sizes, laid, forward, bias and bias.dense.description
                    )
                )
            except Unimplemented:
                return []
    names = set(builder.names[before:])
    layouts_of = [builder.wanted(one, constants.WEIGHTS_GRADIENT) for one in found]
    quick = all(name.startswith("jit") for name in names) and all(
        builder.same(one, layouts_of[0]) for one in layouts_of
    )
    builder.names[before:] = sorted(names) if quick else []
    return found if quick else []
