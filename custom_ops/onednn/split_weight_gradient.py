"""The gradient of a convolution's weights as a sum over pieces of its result.

Each of these numbers is a sum over all places of all images. oneDNN adds them one after the other, most of all where few
channels come in, so that its error grows with the root of how many there are: 1e-6 of 8,192. Pieces, which are some rows of
an image or some images, have shorter sums, and those are added in float64. Threads take a piece each and do not wait for
each other.
"""

from __future__ import annotations

import math
from dataclasses import dataclass, replace
from itertools import pairwise

from custom_ops.onednn.geometry import Geometry

FEW_CHANNELS = 16
"""Below it oneDNN keeps a sum for a whole piece; else it adds sums of rows."""
TERMS, MOST = (128, 256), (64, 16)
"""Of a sum in a piece at least, and pieces at most: for few channels and for more. A piece takes some 2 µs besides its sums."""
NUMBERS = 1 << 20
"""Of all pieces' gradients: they stay in a core's cache and the one behind."""


@dataclass(frozen=True)
class Piece:
    """A block of the result with what of x its weights meet.

    Attributes:
        sizes: of the convolution that computes it.
        image: its first one.
        x_row, y_row: where its rows begin.
    """

    sizes: Geometry
    image: int
    x_row: int
    y_row: int


def pieces(sizes: Geometry, threads: int) -> list[Piece]:
    """All of them; none where the sums are short, or where threads would be left without one.

    >>> from custom_ops.onednn.geometry import geometry
    >>> [(one.y_row, one.sizes.x[2], one.sizes.padding[:2]) for one in pieces(geometry("", (1, 16, 16, 64), (16, 16, 3, 3), padding=1), 2)]
    [(0, 5, (1, 0)), (4, 6, (0, 0)), (8, 6, (0, 0)), (12, 5, (0, 1))]
    """
    images, _, height, width = sizes.y
    more = sizes.weight[1] >= FEW_CHANNELS
    most = min(max(MOST[more], 2 * threads), NUMBERS // max(math.prod(sizes.weight), 1))
    number = min(images * height * width // TERMS[more], most)
    if number < max(threads, 2):
        return []
    terms = -(-images * height * width // number)
    several = max(1, terms // (height * width))
    rows = height if several > 1 else min(height, -(-terms // width))
    found = [
        _piece(sizes, image, next_image - image, row, next_row - row)
        for image, next_image in pairwise(_shares(images, several))
        for row, next_row in pairwise(_shares(height, rows))
    ]
    # rows of padding alone meet nothing of x
    return found if all(one.sizes.x[2] > 0 for one in found) else []


def _shares(extent: int, most: int) -> list[int]:
    """Where equal shares of at most so many begin, and the end: oneDNN has no quick way for a single row that is left over."""
    number = -(-extent // most)
    return [extent * index // number for index in range(number + 1)]


def _piece(sizes: Geometry, image: int, images: int, row: int, rows: int) -> Piece:
    if rows == sizes.y[2]:
        # also rows that no weight meets, or images would not lie one after the other
        return Piece(replace(sizes, x=(images, *sizes.x[1:])), image, 0, 0)
    begin = row * sizes.stride[0] - sizes.padding[0]
    end = begin + (rows - 1) * sizes.stride[0] + sizes.reach[0]
    # rows between two steps as well: oneDNN's quick way with weights of 1 × 1 wants them
    first, last = max(begin, 0), min(max(end, begin + rows * sizes.stride[0]), sizes.x[2])
    x = (images, sizes.x[1], max(last - first, 0), sizes.x[3])
    return Piece(
        replace(sizes, x=x, padding=(first - begin, max(end - last, 0), *sizes.padding[2:])),
        image,
        first,
        row,
    )
