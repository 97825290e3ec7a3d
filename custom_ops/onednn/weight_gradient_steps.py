"""Adds the plan steps of a weight gradient in pieces (`split_weight_gradient`)."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

from custom_ops.onednn import constants, convolution_primitives, layouts, pointwise_convolution
from custom_ops.onednn.geometry import Geometry
from custom_ops.onednn.matrix_product_step import multiply
from custom_ops.onednn.plans import OutputPlace, Place, PlanBuilder, Unimplemented, row_major
from custom_ops.onednn.split_weight_gradient import FEW_CHANNELS, Piece, pieces

BYTES = 4
"""Bytes of a float32."""


@dataclass(frozen=True)
class Images:
    """Array of float32 images.

    Attributes:
        place: the memory.
        shape: batch, channels, height, width.
        last: whether the memory order is channels-last.
    """

    place: Place
    shape: Sequence[int]
    last: bool

    def view_at(self, builder: PlanBuilder, description: Any, image: int, row: int) -> Place:
        """Returns the memory from a row of an image on, with the given layout."""
        strides = layouts.strides(self.shape, self.last) or row_major(self.shape)
        return builder.part(
            self.place, description, BYTES * (image * strides[0] + row * strides[2])
        )

    def block(self, builder: PlanBuilder, shape: Sequence[int], image: int, row: int) -> Place:
        """Returns rows of an image, or whole images, in the array's layout."""
        strides = layouts.strides(shape, self.last) or row_major(self.shape)
        return self.view_at(builder, builder.dense_layout(shape, "float32", strides), image, row)


def add_split_gradient(
    builder: PlanBuilder,
    sizes: Geometry,
    grad: Images,
    x: Images,
    weight: OutputPlace,
    bias: OutputPlace | None,
) -> bool:
    """Adds the steps of the gradient in pieces.

    Returns:
        False, without any step, if splitting is not needed or oneDNN has no fast primitive.
    """
    parts = pieces(sizes, builder.threads)
    if sizes.weight[2:] == (1, 1) and not (grad.last and x.last):
        # too few sums to pay for reorders of the images
        return (
            pointwise_convolution.is_applicable(sizes)
            and not (grad.last or x.last or bias)
            and _add_piece_products(builder, sizes, parts, grad, x, weight)
        )
    primitives = _fast_primitives(
        builder, sizes, parts, bias, last=grad.last or x.last or sizes.weight[1] >= FEW_CHANNELS
    )
    if not primitives:
        return False
    target = builder.target(
        weight, builder.argument_layout(primitives[0], constants.WEIGHTS_GRADIENT)
    )
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
                name: builder.convert(place, builder.argument_layout(primitive, name))
                for name, place in read.items()
            }
            builder.execute(
                primitive, {**given, **{name: places[number] for name, places in sums.items()}}
            )
    for name, made, place in written:
        builder.add_sum(sums[name], made)
        builder.deliver(made, place)
    return True


def _add_piece_products(
    builder: PlanBuilder,
    sizes: Geometry,
    parts: Sequence[Piece],
    grad: Images,
    x: Images,
    weight: OutputPlace,
) -> bool:
    """Adds each piece of one image as a product (out, positions) · (positions, channels).

    The operands need no reorder.
    """
    if not parts or any(one.sizes.x[0] > 1 for one in parts):
        return False
    (out, channels), places, before = sizes.weight[:2], math.prod(sizes.x[2:]), len(builder.names)
    sums = [builder.scratch(builder.dense_layout((out, channels), "float32")) for _ in parts]
    for one, made in zip(parts, sums, strict=True):
        here = math.prod(one.sizes.x[2:])
        left, right = (
            builder.dense_layout((out, here), "float32", (places, 1)),
            builder.dense_layout((here, channels), "float32", (1, places)),
        )
        with builder.piece():
            multiply(
                builder,
                grad.view_at(builder, left, one.image, one.y_row),
                x.view_at(builder, right, one.image, one.x_row),
                OutputPlace(made, made),
            )
    builder.names[before:] = sorted(set(builder.names[before:]))
    builder.add_sum(sums, builder.view(weight.dense, (out, channels)))
    builder.deliver(weight.dense, weight)
    return True


def _fast_primitives(
    builder: PlanBuilder,
    sizes: Geometry,
    parts: Sequence[Piece],
    bias: OutputPlace | None,
    *,
    last: bool,
) -> list[Any]:
    """Returns one primitive per piece, all with the same weight layout; empty if one is slow."""
    before, found = len(builder.names), []
    with builder.use_one_thread():
        for one in parts:
            laid = {"weight": builder.any_layout(sizes.grouped_weight, "float32")}
            for name, shape in (("x", one.sizes.x), ("y", one.sizes.y)):
                laid[name] = (
                    builder.dense_layout(shape, "float32", layouts.strides(shape, True))
                    if last
                    else builder.any_layout(shape, "float32")
                )
            try:
                forward = convolution_primitives.create_forward_hint(builder, one.sizes, laid)
                found.append(
                    convolution_primitives.create_weight_gradient(
                        builder, one.sizes, laid, forward, bias and bias.dense.description
                    )
                )
            except Unimplemented:
                return []
    names = set(builder.names[before:])
    layouts_of = [builder.argument_layout(one, constants.WEIGHTS_GRADIENT) for one in found]
    quick = all(name.startswith("jit") for name in names) and all(
        builder.is_same_layout(one, layouts_of[0]) for one in layouts_of
    )
    builder.names[before:] = sorted(names) if quick else []
    return found if quick else []
