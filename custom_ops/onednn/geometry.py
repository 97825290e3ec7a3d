"""Checks the sizes of a convolution and derives its output shape."""

from __future__ import annotations

import math
from collections.abc import Sequence
from dataclasses import dataclass
from functools import cached_property

from tbe_impl.errors import InputError, pluralize

Pair = int | Sequence[int]
Padding = int | str | Sequence[int]


@dataclass(frozen=True)
class Geometry:
    """Geometry of a 2-D convolution on NCHW arrays.

    Attributes:
        x: shape of the input.
        weight: shape of the weights: (output channels, input channels per group, height, width).
        stride, dilation: values along the height and along the width.
        padding: number of zeros above, below, left and right.
        groups: number of channel groups.
    """

    x: tuple[int, int, int, int]
    weight: tuple[int, int, int, int]
    stride: tuple[int, int]
    padding: tuple[int, int, int, int]
    dilation: tuple[int, int]
    groups: int

    @cached_property
    def y(self) -> tuple[int, int, int, int]:
        """Shape of the result."""
        above, below, left, right = self.padding
        height = (self.x[2] + above + below - self.reach[0]) // self.stride[0] + 1
        width = (self.x[3] + left + right - self.reach[1]) // self.stride[1] + 1
        return self.x[0], self.weight[0], height, width

    @cached_property
    def reach(self) -> tuple[int, int]:
        """Height and width of the receptive field."""
        return _reach(self.weight, self.dilation)

    @property
    def operations(self) -> int:
        """Number of additions and multiplications in the forward pass.

        The gradient of x and the gradient of the weights take the same number each.
        """
        return 2 * math.prod(self.y) * math.prod(self.weight[1:])

    @property
    def elements(self) -> int:
        """Number of elements of x, the weights and the result."""
        return sum(math.prod(shape) for shape in (self.x, self.weight, self.y))

    @property
    def is_narrower_than_stride(self) -> bool:
        """Whether x is smaller than the stride in height or width."""
        return self.x[2] < self.stride[0] or self.x[3] < self.stride[1]

    @property
    def grouped_weight(self) -> tuple[int, ...]:
        """Shape of the weights, with an additional first axis for the groups if `groups` > 1."""
        out, *rest = self.weight
        return (self.groups, out // self.groups, *rest) if self.groups > 1 else self.weight


def _reach(weight: Sequence[int], dilation: tuple[int, int]) -> tuple[int, int]:
    return (weight[2] - 1) * dilation[0] + 1, (weight[3] - 1) * dilation[1] + 1


def geometry(
    operator: str,
    x_shape: Sequence[int],
    weight_shape: Sequence[int],
    *,
    stride: Pair = 1,
    padding: Padding = 0,
    dilation: Pair = 1,
    groups: int = 1,
) -> Geometry:
    """Checks the sizes of a convolution and returns its `Geometry`.

    Args:
        operator: name of the operator in error messages.
        x_shape: (batch, channels, height, width).
        weight_shape: (output channels, input channels per group, height, width).
        stride, dilation: one integer, or a pair (along the height, along the width).
        padding: one integer for all sides, a tuple (above, below, left, right), ``"same"``, or
            ``"valid"`` (no padding). With ``"same"``, the output size is ⌈input size ÷ stride⌉. If
            the total padding of an axis is odd, the additional zero is below or right.
        groups: number of channel groups.

    Raises:
        InputError: a size is invalid, or x, the weights and `groups` contradict each other.

    >>> geometry("Conv2d", (8, 64, 56, 56), (128, 64, 3, 3), stride=2, padding="same").y
    (8, 128, 28, 28)
    """
    x, weight = _sizes(operator, "x", x_shape, 4, 0), _sizes(operator, "weight", weight_shape, 4, 1)
    strides, dilations = _pair(operator, "stride", stride), _pair(operator, "dilation", dilation)
    if isinstance(groups, bool) or not isinstance(groups, int) or groups < 1:
        raise InputError(
            f"{operator}: groups is wrong", expected="a positive number", got=repr(groups)
        )
    if x[1] != weight[1] * groups:
        raise InputError(
            f"{operator}: weight does not fit x",
            expected=f"{pluralize(x[1], 'channel')} of x = {pluralize(groups, 'group')} × "
            "dimension 1 of weight",
            got=f"{list(weight)}",
        )
    if weight[0] % groups:
        raise InputError(
            f"{operator}: weight cannot be parted into groups",
            expected=f"dimension 0 a multiple of {groups}",
            got=f"{list(weight)}",
        )
    pads = _padding(operator, padding, x, _reach(weight, dilations), strides)
    made = Geometry(x, weight, strides, pads, dilations, groups)  # type: ignore[arg-type]
    if min(made.y[2:]) < 1:
        raise InputError(
            f"{operator}: weight reaches beyond x",
            expected=f"at most {x[2] + pads[0] + pads[1]} × {x[3] + pads[2] + pads[3]}",
            got=f"{made.reach[0]} × {made.reach[1]}",
        )
    return made


def _sizes(
    operator: str, name: str, given: Sequence[int], rank: int, least: int
) -> tuple[int, ...]:
    found = tuple(int(item) for item in given)
    if len(found) != rank or min(found) < least:
        raise InputError(
            f"{operator}: {name} has a wrong shape",
            expected=f"{rank} sizes of at least {least}",
            got=f"{list(found)}",
        )
    return found


def _pair(operator: str, name: str, given: Pair) -> tuple[int, int]:
    found = (given, given) if isinstance(given, int) else tuple(given)
    if len(found) != 2 or not all(
        isinstance(item, int) and not isinstance(item, bool) and item > 0 for item in found
    ):
        raise InputError(
            f"{operator}: {name} is wrong", expected="one positive number, or two", got=repr(given)
        )
    return found


def _padding(
    operator: str, given: Padding, x: Sequence[int], reach: tuple[int, int], stride: tuple[int, int]
) -> tuple[int, int, int, int]:
    if given == "valid":
        return 0, 0, 0, 0
    if given == "same":
        whole = [
            max((-(-size // step) - 1) * step + span - size, 0)
            for size, step, span in zip(x[2:], stride, reach, strict=True)
        ]
        return whole[0] // 2, whole[0] - whole[0] // 2, whole[1] // 2, whole[1] - whole[1] // 2
    found = (given,) * 4 if isinstance(given, int) else tuple(given)
    if (
        isinstance(given, str)
        or len(found) != 4
        or not all(
            isinstance(item, int) and not isinstance(item, bool) and item >= 0 for item in found
        )
    ):
        raise InputError(
            f"{operator}: padding is wrong",
            expected='a number, four (above, below, left, right), "same" or "valid"',
            got=repr(given),
        )
    return found  # type: ignore[return-value]
