"""Computes the weight gradient of a convolution piece by piece, and adds up the results.

Each element of the gradient is a sum over all positions of all images. oneDNN adds the terms
sequentially, in particular if there are few input channels. The error of a sequential sum grows
with the square root of the number of terms. The images are therefore divided into pieces: a piece
consists of some rows of an image, or of several images. The sums within a piece are shorter, and
the results of all pieces are added in float64. One thread computes each piece, without
synchronization.
"""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass, replace
from itertools import pairwise
from typing import Any

from custom_ops.onednn import constants, convolution_primitives, layouts, pointwise_convolution
from custom_ops.onednn.geometry import Geometry
from custom_ops.onednn.matrix_product_step import multiply
from custom_ops.onednn.plans import OutputPlace, Place, PlanBuilder, Unimplemented, row_major

FEW_CHANNELS = 16
"""Number of input channels below which oneDNN adds all terms of a piece sequentially.

With this number of channels or more, oneDNN first sums each row.
"""
TERMS, MAX_PIECES = (128, 256), (64, 16)
"""Minimum number of terms in a sum of a piece, and maximum number of pieces.

Each constant is a pair. The first value applies to fewer than `FEW_CHANNELS` input channels, the
second to `FEW_CHANNELS` or more. A piece has an overhead of some 2 µs.
"""
MAX_GRADIENT_ELEMENTS = 1 << 20
"""Maximum number of elements in the gradients of all pieces, so that they stay in the caches."""


@dataclass(frozen=True)
class Piece:
    """Block of rows of the result y, and the part of x that the block depends on.

    Attributes:
        sizes: geometry of the convolution that computes only this block.
        image: index of the block's first image.
        x_row, y_row: indices of the block's first row in x and in y.
    """

    sizes: Geometry
    image: int
    x_row: int
    y_row: int


def pieces(sizes: Geometry, threads: int) -> list[Piece]:
    """Returns all pieces, or an empty list if the gradient should not be split.

    Short sums and large weights limit the number of pieces. The gradient is not split if there
    would be fewer than max(2, `threads`) pieces, or if a piece would depend only on padding.

    >>> from custom_ops.onednn.geometry import geometry
    >>> sizes = geometry("", (1, 16, 16, 64), (16, 16, 3, 3), padding=1)
    >>> [(one.y_row, one.sizes.x[2], one.sizes.padding[:2]) for one in pieces(sizes, 2)]
    [(0, 5, (1, 0)), (4, 6, (0, 0)), (8, 6, (0, 0)), (12, 5, (0, 1))]
    """
    images, _, height, width = sizes.y
    more = sizes.weight[1] >= FEW_CHANNELS
    most = min(
        max(MAX_PIECES[more], 2 * threads), MAX_GRADIENT_ELEMENTS // max(math.prod(sizes.weight), 1)
    )
    number = min(images * height * width // TERMS[more], most)
    if number < max(threads, 2):
        return []
    terms = -(-images * height * width // number)
    several = max(1, terms // (height * width))
    rows = height if several > 1 else min(height, -(-terms // width))
    found = [
        _piece(sizes, image, next_image - image, row, next_row - row)
        for image, next_image in pairwise(_share_bounds(images, several))
        for row, next_row in pairwise(_share_bounds(height, rows))
    ]
    # a piece that depends on padding rows only has no rows of x
    return found if all(one.sizes.x[2] > 0 for one in found) else []


def _share_bounds(extent: int, most: int) -> list[int]:
    """Returns the bounds of ranges that divide `extent` evenly, with at most `most` rows each.

    An uneven division could leave a range of a single row. oneDNN has no fast implementation for a
    single row.
    """
    number = -(-extent // most)
    return [extent * index // number for index in range(number + 1)]


def _piece(sizes: Geometry, image: int, images: int, row: int, rows: int) -> Piece:
    if rows == sizes.y[2]:
        # the piece also includes rows that no weight multiplies, so that images stay contiguous
        return Piece(replace(sizes, x=(images, *sizes.x[1:])), image, 0, 0)
    begin = row * sizes.stride[0] - sizes.padding[0]
    end = begin + (rows - 1) * sizes.stride[0] + sizes.reach[0]
    # the piece also includes the rows that the last stride skips, because oneDNN's fast 1 × 1
    # implementation requires them
    first, last = max(begin, 0), min(max(end, begin + rows * sizes.stride[0]), sizes.x[2])
    x = (images, sizes.x[1], max(last - first, 0), sizes.x[3])
    return Piece(
        replace(sizes, x=x, padding=(first - begin, max(end - last, 0), *sizes.padding[2:])),
        image,
        first,
        row,
    )


BYTES = 4
"""Bytes of a float32."""


@dataclass(frozen=True)
class Images:
    """Array of float32 images.

    Attributes:
        place: the buffer that contains the array.
        shape: batch, channels, height, width.
        last: whether the memory order is channels-last.
    """

    place: Place
    shape: Sequence[int]
    last: bool

    def view_at(self, builder: PlanBuilder, description: Any, image: int, row: int) -> Place:
        """Returns a view of the array that starts at row `row` of image `image`.

        `description` is oneDNN's memory descriptor of the view.
        """
        strides = layouts.strides(self.shape, self.last) or row_major(self.shape)
        return builder.part(
            self.place, description, BYTES * (image * strides[0] + row * strides[2])
        )

    def block(self, builder: PlanBuilder, shape: Sequence[int], image: int, row: int) -> Place:
        """Returns a view of some rows of an image, or of several whole images.

        The view has the shape `shape` (batch, channels, height, width) and the memory order of the
        array. It starts at row `row` of image `image`.
        """
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
    """Adds the steps that compute the weight gradient in pieces to a plan.

    Returns:
        True if the steps were added. False if a split is not needed, or oneDNN has no fast
        primitive for the pieces.
    """
    parts = pieces(sizes, builder.threads)
    if sizes.weight[2:] == (1, 1) and not (grad.last and x.last):
        # a 1 × 1 convolution has too few operations to outweigh reorders of the images
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
    """Adds one matrix product for each piece, and the sum of these products.

    The operands of a product have the shapes (output channels, positions) and (positions, input
    channels), and need no reorder. If there are no pieces, or a piece has several images, the
    function adds nothing and returns False.
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
    """Returns one primitive per piece, all with the same weight layout.

    Returns an empty list in these cases: oneDNN has no primitive for a piece, oneDNN has only slow
    primitives for a piece, or the primitives require different weight layouts.
    """
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
