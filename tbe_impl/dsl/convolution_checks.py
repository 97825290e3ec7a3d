"""Checks that the sizes of a convolution fit together: image, filter and result."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

from tbe_impl.dsl.expr import Const, Expr
from tbe_impl.dsl.layouts import blocks_of
from tbe_impl.dsl.location import here
from tbe_impl.errors import InputError


def check_sizes(
    word: str,
    image: Sequence[Any],
    filter_shape: Sequence[Any],
    result: Sequence[Any] | None,
    parameters: dict[str, Any],
    *,
    block: int = 1,
) -> None:
    """Checks batch, channels and each spatial axis; sizes that are known late are taken to fit.

    Args:
        word: the DSL operation.
        image: batch, channels and spatial sizes of what the filter runs over.
        filter_shape: output channels, input channels of a group, then the kernel.
        result: batch, channels and spatial sizes of what it makes; None where they are derived.
        parameters: ``strides``, ``pads``, ``dilations`` and ``groups``.
        block: how many channels a block holds; the number of blocks has to fit.

    Raises:
        InputError: a size does not fit.
    """
    strides, dilations = parameters["strides"], parameters["dilations"]
    for name, values in (("strides", strides), ("dilations", dilations)):
        if any(value < 1 for value in values):
            raise _wrong(word, f"{name} are positive", "1 or more", values)

    inner = known_size(filter_shape[1])
    pairs = [
        (
            "the filter has the channels of the image",
            image[1],
            None if inner is None else inner * parameters.get("groups", 1),
            block,
        ),
    ]
    if result is not None:
        pairs += [
            ("image and result have one batch", image[0], result[0], 1),
            ("the result has the filter's output channels", filter_shape[0], result[1], block),
        ]
    for rule, *sizes, together in pairs:
        expected, got = map(known_size, sizes)
        if expected is None or got is None:
            continue
        if blocks_of(expected, together) != blocks_of(got, together):
            raise _wrong(word, rule, expected, got)
    for at, axis in enumerate("DHW"[-len(strides) :]):
        size, kernel = known_size(image[2 + at]), known_size(filter_shape[2 + at])
        before, after = map(known_size, parameters["pads"][at])
        if size is None or kernel is None or before is None or after is None:
            continue
        window, padded = (kernel - 1) * dilations[at] + 1, before + size + after
        if window > padded:
            rule = f"the filter lies within the padded image along {axis}"
            raise _wrong(word, rule, f"at most {padded}", window)
        steps = (padded - window) // strides[at] + 1
        found = None if result is None else known_size(result[2 + at])
        if found is not None and found != steps:
            rule = f"the result has as many steps as the filter along {axis}"
            raise _wrong(word, rule, steps, found)


def check_bias(word: str, bias: Sequence[Any], channels: Any, *, block: int = 1) -> None:
    """Checks that a bias has one number for each output channel, or whole blocks of them.

    Raises:
        InputError: it has more or fewer.
    """
    expected, sizes = known_size(channels), [known_size(size) for size in bias]
    if expected is None or None in sizes:
        return
    got = prod(size for size in sizes if size is not None)
    if got not in (expected, blocks_of(expected, block) * block):
        raise _wrong(word, "a bias has one number for each output channel", expected, got)


def known_size(size: Any) -> int | None:
    """A size as an int; None for one that is known late."""
    number = size.value if isinstance(size, Const) else size
    return None if number is None or isinstance(number, Expr) else int(number)


def _wrong(word: str, rule: str, expected: Any, got: Any) -> InputError:
    return InputError(f"{word}: {rule}", place=str(here()), expected=str(expected), got=str(got))
