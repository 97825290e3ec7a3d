"""Checks that the sizes of the image, filter and result of a convolution are consistent."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tbe_impl.dsl.expr import Const, Expr
from tbe_impl.dsl.layouts import block_count
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.tensor import Tensor, shape_text
from tbe_impl.errors import InputError


def check_sizes(
    word: str,
    image: Sequence[Any],
    filter_shape: Sequence[Any],
    result: Sequence[Any] | None,
    parameters: dict[str, Any],
    *,
    block: int = 1,
) -> list[Any]:
    """Checks that the known sizes of image, filter and result are consistent.

    Args:
        word: name of the DSL operation.
        image: batch, channels and spatial sizes of the image.
        filter_shape: number of output channels, number of input channels of a group, then the sizes
            of the kernel.
        result: batch, channels and spatial sizes of the result; None if no result is given.
        parameters: ``strides``, ``pads``, ``dilations`` and ``groups``.
        block: number of channels of a block; numbers of channels are compared in whole blocks.

    Returns:
        The spatial sizes of the result.

    Raises:
        InputError: a size contradicts the other sizes.
    """
    outer, inner, *kernel = filter_shape
    strides, dilations, pads = (parameters[name] for name in ("strides", "dilations", "pads"))
    groups = parameters.get("groups", 1)
    sides = [known_size(side) for pair in pads for side in pair]
    for name, values, least in (
        ("strides", strides, 1),
        ("dilations", dilations, 1),
        ("groups", [groups], 1),
        ("sizes of the kernel", kernel, 1),
        ("pads", sides, 0),
    ):
        if any(value is not None and value < least for value in values):
            rule = f"{name} are {'positive' if least else 'not negative'}"
            raise _size_error(word, rule, f"{least} or more", values)
    given, made = known_size(inner), known_size(outer)
    if made is not None and made % groups:
        rule = "each group has the same number of output channels"
        raise _size_error(word, rule, f"a multiple of {groups}", made)
    pairs = [
        (
            "the filter has the channels of the image",
            image[1],
            None if given is None else given * groups,
            block,
        ),
    ]
    if result is not None:
        pairs += [
            ("image and result have one batch", image[0], result[0], 1),
            ("the result has the filter's output channels", outer, result[1], block),
        ]
    for rule, *both, together in pairs:
        expected, got = map(known_size, both)
        if expected is None or got is None:
            continue
        if block_count(expected, together) != block_count(got, together):
            raise _size_error(word, rule, expected, got)
    outputs = []
    for at, axis in enumerate("DHW"[-len(strides) :]):
        window = (kernel[at] - 1) * dilations[at] + 1
        padded = image[2 + at] + pads[at][0] + pads[at][1]
        outputs.append((padded - window) // strides[at] + 1)
        whole, steps = known_size(padded), known_size(outputs[-1])
        if whole is not None and window > whole:
            rule = f"the filter lies within the padded image along {axis}"
            raise _size_error(word, rule, f"at most {whole}", window)
        found = None if result is None else known_size(result[2 + at])
        if found is not None and steps is not None and found != steps:
            rule = f"the result has as many steps as the filter along {axis}"
            raise _size_error(word, rule, steps, found)
    return outputs


def check_shape(word: str, name: str, tensor: Tensor, *expected: Sequence[Any]) -> int:
    """Checks that a tensor has one of the `expected` shapes; run-time sizes are not checked.

    Returns:
        The position of the matching shape in `expected`.

    Raises:
        InputError: the shape of the tensor matches none of the expected shapes.
    """
    got = [known_size(size) for size in tensor.shape]
    for at, shape in enumerate(expected):
        sizes = [known_size(size) for size in shape]
        if len(sizes) == len(got) and all(
            None in both or both[0] == both[1] for both in zip(sizes, got, strict=True)
        ):
            return at
    shapes = " or ".join(shape_text(shape) for shape in expected)
    raise _size_error(word, f"{name} has the declared shape", shapes, shape_text(tensor.shape))


def check_bias(word: str, bias: Sequence[Any], channels: Any, *, block: int = 1) -> None:
    """Checks that a bias has one element per output channel; padding to whole blocks is allowed.

    Raises:
        InputError: the bias has more or fewer elements.
    """
    expected, sizes = known_size(channels), [known_size(size) for size in bias]
    if expected is None or None in sizes:
        return
    got = prod(size for size in sizes if size is not None)
    if got not in (expected, block_count(expected, block) * block):
        raise _size_error(word, "a bias has one number for each output channel", expected, got)


def known_size(size: Any) -> int | None:
    """Converts a size to an int, or returns None if the size is known only at run time."""
    number = size.value if isinstance(size, Const) else size
    return None if number is None or isinstance(number, Expr) else int(number)


def _size_error(word: str, rule: str, expected: Any, got: Any) -> InputError:
    return InputError(
        f"{word}: {rule}", place=str(user_location()), expected=str(expected), got=str(got)
    )
