"""Parses the arguments of convolutions: strides, dilations, pads, groups and options."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any

import numpy as np

from tbe_impl.dsl.expr import Const, Expr
from tbe_impl.dsl.layouts import BLOCK, block_count, group_packing
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operations.convolution_checks import known_size
from tbe_impl.errors import InputError

OPTIONS = frozenset(
    "strides dilations pads padding groups group_dict res_dtype tensor_bias bias_tensor "
    # part of the toolkit's signatures, ignored here
    "kernel_name offset_x offset_w offset_w_tensor fusion_para dsl_flag impl_mode mad_dtype "
    "op_type correct_range_flag ori_tensors pooling_mode switch_to_general_scheme".split()
)
"""Keyword arguments that the DSL operations for gradients of convolutions accept."""
GROUPS = frozenset(
    "groups filter_batch_ori filter_c_ori cin_ori cout_ori mag_factor real_g cin1_g cout_g".split()
)
"""Keys of the toolkit's ``group_dict`` that this module reads."""


def check_integer(word: str, name: str, value: Any) -> int:
    """Converts `value` to an int; the value must be known when the kernel is built.

    Raises:
        InputError: `value` is not an integer, or is known only at run time.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise InputError(
            f"{word} needs {name} as integers",
            place=str(user_location()),
            expected="integers that are known when the kernel is built",
            got=str(value),
        ) from None


def check_list(word: str, name: str, values: Any, *counts: int) -> list[Any]:
    """Converts `values` to a list; a single number becomes a list of one element.

    Raises:
        InputError: the length of the list is not in `counts`.
    """
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, str) or not isinstance(values, Sequence):
        values = [values]
    if len(values) not in counts:
        raise InputError(
            f"{word}: {name} have a wrong length",
            place=str(user_location()),
            expected=f"{' or '.join(map(str, counts))} numbers",
            got=str(list(values)),
        )
    return list(values)


def first_option(given: Mapping[str, Any], *names: str, default: Any = None) -> Any:
    """Returns ``given[name]`` for the first of `names` whose value is not None, else `default`."""
    return next((given[name] for name in names if given.get(name) is not None), default)


def window_of(
    word: str, given: Mapping[str, Any], rank: int, orders: Sequence[str]
) -> dict[str, Any]:
    """Parses strides, dilations and pads to one entry per spatial axis.

    Args:
        word: name of the DSL operation.
        given: dict of options. The keys are ``strides``, ``dilations`` and ``pads``, or one key for
            each axis, such as ``stride_h``, ``dilate_h`` and ``pad_h``.
        rank: the number of spatial axes.
        orders: layouts, such as ``NCHW``. Strides and dilations may also have one number for every
            axis of one of these layouts, including batch and channels.

    Returns:
        A dict with ``strides`` and ``dilations`` (one number per axis) and ``pads`` (one pair per
        axis).

    Raises:
        InputError: a list has a wrong length, or a value is not an integer.
    """

    def of_axes(stem: str, default: int) -> list[Any]:
        axes = "dhw"[-rank:]
        return [first_option(given, f"{stem}_{a}", f"{stem}{a}", default=default) for a in axes]

    strides = first_option(given, "strides", default=of_axes("stride", 1))
    dilations = first_option(given, "dilations", "dilation_dhw", default=of_axes("dilate", 1))
    pads = first_option(given, "pads", "padding", "pad")
    if pads is None:
        pads = [pair for one in of_axes("pad", 0) for pair in _spatial_pads(word, one, 1)]
    return {
        "strides": _spatial_steps(word, "strides", strides, rank, orders),
        "dilations": _spatial_steps(word, "dilations", dilations, rank, orders),
        "pads": _spatial_pads(word, pads, rank),
    }


def _spatial_steps(
    word: str, name: str, values: Any, rank: int, orders: Sequence[str]
) -> list[int]:
    """Returns one number per spatial axis.

    `values` is one number for all axes, one number per spatial axis, or one number for every axis
    of a layout, such as ``NCHW``.
    """
    found = [
        check_integer(word, name, value)
        for value in check_list(word, name, values, 1, rank, rank + 2)
    ]
    if len(found) <= rank:
        return found * (rank // len(found))
    readings = {
        tuple(found[order.index(axis)] for axis in "DHW"[-rank:])
        for order in orders
        if all(found[order.index(axis)] == 1 for axis in "NC")
    }
    if len(readings) != 1:
        layouts, numbers = " or ".join(orders), str(tuple(found))
        rule, expected = (
            ("of all axes fit several layouts", f"{rank} numbers")
            if readings
            else ("are steps along spatial axes only", f"1 for N and C of {layouts}")
        )
        raise InputError(
            f"{word}: {name} {rule}", place=str(user_location()), expected=expected, got=numbers
        )
    return list(readings.pop())


def _spatial_pads(word: str, values: Any, rank: int) -> tuple[tuple[Any, Any], ...]:
    """Returns a pair (padding before, padding after) for each spatial axis.

    `values` is one number, one number per axis, or one pair per axis. A value that is known only at
    run time stays an expression.
    """
    values = values.tolist() if isinstance(values, np.ndarray) else values
    if isinstance(values, (list, tuple)):
        pairs = [one if isinstance(one, (list, tuple)) else [one] for one in values]
        values = [number for pair in pairs for number in pair]
    found = [
        value
        if isinstance(value, Expr) and not isinstance(value, Const)
        else check_integer(word, "pads", value)
        for value in check_list(word, "pads", values, 1, rank, 2 * rank)
    ]
    if len(found) < 2 * rank:
        found = [one for one in found * (rank // len(found)) for _ in range(2)]
    return tuple(zip(found[::2], found[1::2], strict=True))


def options_of(
    word: str,
    para_dict: Any,
    names: Sequence[str],
    args: Sequence[Any],
    keywords: Mapping[str, Any],
) -> dict[str, Any]:
    """Merges options into one mapping; keywords take precedence.

    A mapping `para_dict` contains the options by name. Otherwise the options `names` were passed as
    positional arguments. `para_dict` is then the value of the first option, and `args` are the
    values of the others.

    Raises:
        InputError: a keyword is unknown, or there are too many positional arguments.
    """
    whole = isinstance(para_dict, Mapping)
    listed_ones = args if whole else (para_dict, *args)
    unknown = [name for name in keywords if name not in OPTIONS]
    if unknown or len(listed_ones) > (0 if whole else len(names)):
        raise InputError(
            f"{word} has no such option",
            place=str(user_location()),
            expected="para_dict, or " + ", ".join(names),
            got=", ".join(unknown) or f"{len(listed_ones)} positional arguments",
        )
    one_by_one = zip(names, listed_ones, strict=False)  # other options keep their defaults
    return {**(para_dict if whole else dict(one_by_one)), **keywords}


def groups_of(
    word: str, given: Mapping[str, Any], shape: Sequence[int], block: int = BLOCK
) -> tuple[int, list[int]]:
    """Returns the number of groups, and the filter's shape (O, C / groups, kernel…).

    If ``group_dict`` contains the numbers of channels of the filter, these numbers replace the
    numbers of channels in `shape`. For three spatial axes, ``group_dict`` describes how the groups
    are packed into block-diagonal matrices (see `group_packing`). The number of groups is then
    derived from this description.

    Args:
        word: name of the DSL operation.
        given: options: ``group`` or ``groups``, and ``group_dict``.
        shape: shape of the filter that the caller passed.
        block: number of input channels of a block.

    Raises:
        InputError: ``group_dict`` lacks a key, or does not determine the number of groups.
    """
    packed = given.get("group_dict") or {}
    numbers = {name: known_size(packed[name]) for name in GROUPS if name in packed}
    known = {name: number for name, number in numbers.items() if number is not None}
    stated = first_option(given, "group", "groups", default=known.get("groups"))
    groups = 1 if stated is None else check_integer(word, "groups", stated)
    needed = {"filter_batch_ori": ["filter_c_ori"], "real_g": ["mag_factor", "cin_ori", "cout_ori"]}
    kind = next((name for name in needed if name in known), "")
    lacking = [name for name in needed.get(kind, ()) if name not in known]
    if lacking:
        raise InputError(
            f"{word}: group_dict lacks {', '.join(lacking)}",
            place=str(user_location()),
            expected=f"numbers for {', '.join([kind, *needed[kind]])}",
            got=", ".join(sorted(known)),
        )
    if kind == "filter_batch_ori":
        return groups, [known[kind] * groups, known["filter_c_ori"], *shape[2:]]
    if kind != "real_g":
        return groups, list(shape)
    inner, outer = known["cin_ori"], known["cout_ori"]
    both = gcd(inner, outer)
    fits = [
        candidate
        for candidate in ([groups] if stated is not None else range(1, both + 1))
        if candidate > 0 and both % candidate == 0 and _is_packing(known, candidate, block)
    ]
    # prefer the candidates that match the channels in the passed filter shape
    agreed = [n for n in fits if _has_channels(shape, (outer, inner // n), block)] or fits
    if len(agreed) != 1:
        raise InputError(
            f"{word}: group_dict fits {' or '.join(map(str, agreed)) or 'no number of'} groups",
            place=str(user_location()),
            expected="real_g packs of mag_factor groups that share cin_ori and cout_ori",
            got=", ".join(f"{name} {number}" for name, number in sorted(known.items())),
            remedy="Give groups" if agreed else None,
        )
    channels = (outer, inner // agreed[0])
    if not _has_channels(shape, channels, block):
        raise InputError(
            f"{word}: the filter does not fit the images of a convolution",
            place=str(user_location()),
            expected="{} output channels, {} input channels of a group".format(*channels),
            got=f"{shape[0]} and {shape[1]}",
        )
    return agreed[0], [*channels, *shape[2:]]


def _is_packing(known: Mapping[str, int], groups: int, block: int) -> bool:
    """Whether the packing of `groups` groups agrees with all values in ``group_dict``.

    `known` contains the values of ``group_dict``; absent keys are not compared.
    """
    outer, inner = known["cout_ori"] // groups, known["cin_ori"] // groups
    together, packs = group_packing(outer, inner, groups, block)
    found = {
        "mag_factor": together,
        "real_g": packs,
        "cin1_g": block_count(inner * together, block),
        "cout_g": block_count(outer * together) * BLOCK,
    }
    return all(known.get(name, number) == number for name, number in found.items())


def _has_channels(shape: Sequence[int], channels: tuple[int, int], block: int) -> bool:
    """Whether `shape` starts with the numbers `channels`.

    The numbers in `shape` may be padded to whole blocks.
    """
    return all(
        given in (number, block_count(number, size) * size)
        for given, number, size in zip(shape, channels, (BLOCK, block), strict=False)
    )
