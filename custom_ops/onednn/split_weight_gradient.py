"""Splits the weight gradient of a convolution into a sum over pieces of its result.

Each element is a sum over all positions of all images. oneDNN sums sequentially, above all for few
input channels, so that the error grows with the square root of the number of terms. Pieces (rows
of an image, or several images) have shorter sums, which are added in float64. Threads compute one
piece each, without synchronization.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

from custom_ops.onednn.geometry import Geometry

FEW_CHANNELS = 16
"""Below so many input channels oneDNN has one running sum per piece; else it sums by rows."""
TERMS, MAX_PIECES = (128, 256), (64, 16)
"""Minimum terms per sum of a piece, and maximum number of pieces: for few channels, for more.

A piece costs some 2 µs besides its sums.
"""
MAX_GRADIENT_ELEMENTS = 1 << 20
"""Maximum elements of all pieces' gradients, which then stay in the caches."""


@dataclass(frozen=True)
class Piece:
    """Block of the result and the part of x that it depends on.

    Attributes:
        sizes: geometry of the convolution of this block.
        image: index of its first image.
        x_row, y_row: first row in x and in the result.
    """

    sizes: Geometry
    image: int
    x_row: int
    y_row: int


def pieces(sizes: Geometry, threads: int) -> list[Piece]:
    """Returns all pieces; none for short sums, or for fewer pieces than threads.

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
    # pieces of padding rows only have no rows of x
    return found if all(one.sizes.x[2] > 0 for one in found) else []


def _share_bounds(extent: int, most: int) -> list[int]:
    """Returns the bounds of equal shares of at most `most` rows.

    Shares are equal because oneDNN has no fast implementation for a single remaining row.
    """
    number = -(-extent // most)
    return [extent * index // number for index in range(number + 1)]


def _piece(sizes: Geometry, image: int, images: int, row: int, rows: int) -> Piece:
    if rows == sizes.y[2]:
        # includes rows that no weight multiplies, so that images stay contiguous
        return Piece(replace(sizes, x=(images, *sizes.x[1:])), image, 0, 0)
    begin = row * sizes.stride[0] - sizes.padding[0]
    end = begin + (rows - 1) * sizes.stride[0] + sizes.reach[0]
    # includes rows between two strides: oneDNN's fast 1 × 1 implementation requires them
    first, last = max(begin, 0), min(max(end, begin + rows * sizes.stride[0]), sizes.x[2])
    x = (images, sizes.x[1], max(last - first, 0), sizes.x[3])
    return Piece(
        replace(sizes, x=x, padding=(first - begin, max(end - last, 0), *sizes.padding[2:])),
        image,
        first,
        row,
    )
