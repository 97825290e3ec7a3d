"""Reads the arguments of convolutions: strides, dilations, pads, groups and options."""

from __future__ import annotations

import operator
from collections.abc import Mapping, Sequence
from math import gcd
from typing import Any

import numpy as np

from tbe_impl.dsl.convolution_checks import known_size
from tbe_impl.dsl.expr import Const, Expr
from tbe_impl.dsl.layouts import BLOCK, blocks_of, packed_groups
from tbe_impl.dsl.location import here
from tbe_impl.errors import InputError

OPTIONS = frozenset(
    "strides dilations pads padding groups group_dict res_dtype tensor_bias bias_tensor "
    # of the toolkit's signatures, without effect here
    "kernel_name offset_x offset_w offset_w_tensor fusion_para dsl_flag impl_mode mad_dtype "
    "op_type correct_range_flag ori_tensors pooling_mode switch_to_general_scheme".split()
)
"""Keywords that the gradients of convolutions take."""
GROUPS = frozenset(
    "groups filter_batch_ori filter_c_ori cin_ori cout_ori mag_factor real_g cin1_g cout_g".split()
)
"""Keys of the toolkit's ``group_dict`` that are read here."""


def whole_number(word: str, name: str, value: Any) -> int:
    """An integer that has to be known when a kernel is built.

    Raises:
        InputError: it is none, or known late.
    """
    try:
        return operator.index(value)
    except TypeError:
        raise InputError(
            f"{word} needs {name} as integers",
            place=str(here()),
            expected="integers that are known when the kernel is built",
            got=str(value),
        ) from None


def listed(word: str, name: str, values: Any, *counts: int) -> list[Any]:
    """`values` as a list; a single number is a list of one.

    Raises:
        InputError: the length is none of `counts`.
    """
    if isinstance(values, np.ndarray):
        values = values.tolist()
    if isinstance(values, str) or not isinstance(values, Sequence):
        values = [values]
    if len(values) not in counts:
        raise InputError(
            f"{word}: {name} have another length",
            place=str(here()),
            expected=f"{' or '.join(map(str, counts))} numbers",
            got=str(list(values)),
        )
    return list(values)


def first_of(given: Mapping[str, Any], *names: str, default: Any = None) -> Any:
    """The first option that is there and not None."""
    return next((given[name] for name in names if given.get(name) is not None), default)


def window_of(
    word: str, given: Mapping[str, Any], rank: int, orders: Sequence[str]
) -> dict[str, Any]:
    """Strides, dilations and pads of each spatial axis.

    Args:
        word: the DSL operation.
        given: ``strides``, ``dilations`` and ``pads``, or ``stride_h``, ``dilate_h``, ``pad_h`` …
        rank: the number of spatial axes.
        orders: the layouts that strides and dilations of all axes may have.

    Raises:
        InputError: a length or a number does not fit.
    """

    def of_axes(stem: str, default: int) -> list[Any]:
        axes = "dhw"[-rank:]
        return [first_of(given, f"{stem}_{a}", f"{stem}{a}", default=default) for a in axes]

    strides = first_of(given, "strides", default=of_axes("stride", 1))
    dilations = first_of(given, "dilations", "dilation_dhw", default=of_axes("dilate", 1))
    pads = first_of(given, "pads", "padding", "pad")
    if pads is None:
        pads = [pair for one in of_axes("pad", 0) for pair in _pads(word, one, 1)]
    return {
        "strides": _steps(word, "strides", strides, rank, orders),
        "dilations": _steps(word, "dilations", dilations, rank, orders),
        "pads": _pads(word, pads, rank),
    }


def _steps(word: str, name: str, values: Any, rank: int, orders: Sequence[str]) -> list[int]:
    """One number for each spatial axis, of one for all, one for each, or those of all axes."""
    found = [
        whole_number(word, name, value) for value in listed(word, name, values, 1, rank, rank + 2)
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
            f"{word}: {name} {rule}", place=str(here()), expected=expected, got=numbers
        )
    return list(readings.pop())


def _pads(word: str, values: Any, rank: int) -> tuple[tuple[Any, Any], ...]:
    """Before and after each spatial axis, of one number for all, one for each axis, or pairs.

    Numbers known late stay expressions.
    """
    values = values.tolist() if isinstance(values, np.ndarray) else values
    if isinstance(values, (list, tuple)):
        pairs = [one if isinstance(one, (list, tuple)) else [one] for one in values]
        values = [number for pair in pairs for number in pair]
    found = [
        value
        if isinstance(value, Expr) and not isinstance(value, Const)
        else whole_number(word, "pads", value)
        for value in listed(word, "pads", values, 1, rank, 2 * rank)
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
    """Options in one dictionary, or one by one in the order of `names`, and keywords.

    Raises:
        InputError: a keyword is unknown, or there are more positional arguments than options.
    """
    whole = isinstance(para_dict, Mapping)
    listed_ones = args if whole else (para_dict, *args)
    unknown = [name for name in keywords if name not in OPTIONS]
    if unknown or len(listed_ones) > (0 if whole else len(names)):
        raise InputError(
            f"{word} has no such option",
            place=str(here()),
            expected="para_dict, or " + ", ".join(names),
            got=", ".join(unknown) or f"{len(listed_ones)} positional arguments",
        )
    one_by_one = zip(names, listed_ones, strict=False)  # the rest have their defaults
    return {**(para_dict if whole else dict(one_by_one)), **keywords}


def groups_of(
    word: str, given: Mapping[str, Any], shape: Sequence[int], block: int = BLOCK
) -> tuple[int, list[int]]:
    """The number of groups, and the filter's shape as ``group_dict`` has it, where one is given.

    For three axes ``group_dict`` holds how groups are packed, from which their number follows.

    Args:
        word: the DSL operation.
        given: ``group`` or ``groups``, and ``group_dict``.
        shape: the filter's, as given.
        block: how many input channels a block holds.

    Raises:
        InputError: a key is missing, or no single number of groups is packed like that.
    """
    packed = given.get("group_dict") or {}
    numbers = {name: known_size(packed[name]) for name in GROUPS if name in packed}
    known = {name: number for name, number in numbers.items() if number is not None}
    stated = first_of(given, "group", "groups", default=known.get("groups"))
    groups = 1 if stated is None else whole_number(word, "groups", stated)
    needed = {"filter_batch_ori": ["filter_c_ori"], "real_g": ["mag_factor", "cin_ori", "cout_ori"]}
    kind = next((name for name in needed if name in known), "")
    lacking = [name for name in needed.get(kind, ()) if name not in known]
    if lacking:
        raise InputError(
            f"{word}: group_dict lacks {', '.join(lacking)}",
            place=str(here()),
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
    # what a filter declares of its channels decides between several
    agreed = [n for n in fits if _agrees(shape, (outer, inner // n), block)] or fits
    if len(agreed) != 1:
        raise InputError(
            f"{word}: group_dict fits {' or '.join(map(str, agreed)) or 'no number of'} groups",
            place=str(here()),
            expected="real_g packs of mag_factor groups that share cin_ori and cout_ori",
            got=", ".join(f"{name} {number}" for name, number in sorted(known.items())),
            remedy="Give groups" if agreed else None,
        )
    channels = (outer, inner // agreed[0])
    if not _agrees(shape, channels, block):
        raise InputError(
            f"{word}: the filter does not fit the images of a convolution",
            place=str(here()),
            expected="{} output channels, {} input channels of a group".format(*channels),
            got=f"{shape[0]} and {shape[1]}",
        )
    return agreed[0], [*channels, *shape[2:]]


def _is_packing(known: Mapping[str, int], groups: int, block: int) -> bool:
    """Whether so many groups are packed as ``group_dict`` has it."""
    outer, inner = known["cout_ori"] // groups, known["cin_ori"] // groups
    together, packs = packed_groups(outer, inner, groups, block)
    found = {
        "mag_factor": together,
        "real_g": packs,
        "cin1_g": blocks_of(inner * together, block),
        "cout_g": blocks_of(outer * together) * BLOCK,
    }
    return all(known.get(name, number) == number for name, number in found.items())


def _agrees(shape: Sequence[int], channels: tuple[int, int], block: int) -> bool:
    """Whether a filter's shape has these channels, or whole blocks of them."""
    return all(
        given in (number, blocks_of(number, size) * size)
        for given, number, size in zip(shape, channels, (BLOCK, block), strict=False)
    )
