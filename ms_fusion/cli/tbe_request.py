"""Parses command-line arguments into the `Request` from which `tbe_impl` builds an operator."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ms_fusion.target import parse_input
from tbe_impl.cli.arguments import UNKNOWN_SIZE, ArrayDescription
from tbe_impl.errors import InputError
from tbe_impl.loading.operator_reference import check_operator_file, split_target
from tbe_impl.soc import find_soc as soc_of

if TYPE_CHECKING:
    from tbe_impl.cli.commands import Request


def request_of(
    target: str,
    *,
    inputs: Sequence[str] = (),
    outputs: Sequence[str] = (),
    attributes: Sequence[tuple[str, str]] = (),
    soc: str = "Ascend910A",
    search_path: Sequence[str] = (),
    backend: str = "cpu",
    seed: int = 0,
) -> Request:
    """Parse command-line arguments into a `Request`.

    Args:
        target: ``FILE.py:operator`` or ``FILE.py``.
        inputs, outputs: strings such as ``16x32:float16``; see `description_of`.
        attributes: pairs of strings (name, value).
        soc, search_path, backend, seed: see `tbe_impl.cli.commands.Request`.

    Raises:
        InputError: an argument is malformed.
    """
    names = [name for name, _ in attributes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise InputError("an attribute is given twice", place=f"--attr {twice}")
    read = [_parse_description(text) for text in inputs]
    wanted = [_parse_description(text, option="--output") for text in outputs]
    check_operator_file(split_target(target)[0])
    _check_chip(soc)
    from tbe_impl.cli.commands import Request

    return Request(
        target,
        tuple(_attach_array(*one) for one in read),
        tuple(_attach_array(*one) for one in wanted),
        dict(attributes),
        soc,
        tuple(search_path),
        backend,
        seed,
    )


def _check_chip(name: str) -> None:
    try:
        soc_of(name)
    except InputError as error:
        error.place = f"--soc {name}"
        raise


def description_of(text: str, *, option: str = "--input") -> ArrayDescription:
    """Parses an array description.

    Forms: ``16x32:float16``, ``1x1x4x4x16:float16:NC1HWC0`` (with a format), ``:int32`` (a scalar)
    or ``file.npy``. A size of -1 is unknown at build time. A shape of -2 has any number of unknown
    sizes. If a size is unknown, the array's actual sizes follow an @: ``-1x128@64x128:float32``.

    Raises:
        InputError: the text is malformed. The message names the error.
    """
    return _attach_array(*_parse_description(text, option=option))


def _parse_description(
    text: str, *, option: str = "--input"
) -> tuple[ArrayDescription, Path | None]:
    """Returns (description of an array, path of the array's file or None).

    The file is not read.
    """
    shape_and_dtype, layout = text, "ND"
    if text.count(":") == 2:
        shape_and_dtype, _, layout = text.rpartition(":")
    written, colon, dtype = shape_and_dtype.partition(":")
    told, at, given = written.partition("@")
    sizes = told.split("x")
    unknown = not written.endswith(".npy") and (bool(at) or "-1" in sizes or "-2" in sizes)
    if sizes == ["-2"] and not at:
        raise InputError(
            "any number of sizes, but no sizes for the array",
            place=f"{option} {text}",
            remedy="Give the array's sizes after @: -2@3x4:float32",
        )
    if unknown:
        known = (
            given if at else "x".join(str(UNKNOWN_SIZE) if size == "-1" else size for size in sizes)
        )
        shape_and_dtype = f"{known}{colon}{dtype}"
    try:
        spec = parse_input(shape_and_dtype)
        shape = _dynamic_shape(text, sizes, spec.shape) if unknown else spec.shape
    except InputError as error:
        if error.place:
            error.place = f"{option} {text}"
        raise
    if spec.file is None:
        return ArrayDescription(shape, spec.dtype, layout, sizes=spec.shape if at else ()), None
    return ArrayDescription((), format=layout), spec.file


def _attach_array(described: ArrayDescription, file: Path | None) -> ArrayDescription:
    """Returns the description of an input with the array from `file`.

    The shape and the dtype are those of the array; the format is the format of `described`. If
    `file` is None, the function returns `described` unchanged.
    """
    if file is None:
        return described
    import numpy as np

    try:
        array = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError("not an array that NumPy can read", place=str(file)) from error
    return ArrayDescription(array.shape, array.dtype.name, described.format, array)


def _dynamic_shape(text: str, told: Sequence[str], actual: tuple[int, ...]) -> tuple[int, ...]:
    """Returns the shape at build time, where -1 is an unknown size and -2 an unknown rank.

    Raises `InputError` if the actual shape has another rank than the shape at build time, or
    differs in a known size.
    """
    if list(told) == ["-2"]:
        return (-2,)
    fits = len(told) == len(actual) and all(
        size in ("-1", str(real)) for size, real in zip(told, actual, strict=True)
    )
    if not fits:
        raise InputError(
            "the sizes after @ do not fit the shape before it",
            place=f"--input {text}",
            expected=f"{len(told)} sizes, with "
            f"{' and '.join(size for size in told if size != '-1') or 'any number'} "
            "where they are known",
            got="x".join(map(str, actual)),
        )
    return tuple(map(int, told))


def attribute_of(text: str) -> tuple[str, str]:
    """Splits ``name=value`` into its two parts.

    Raises:
        InputError: the text has another form.

    >>> attribute_of("axis=-1")
    ('axis', '-1')
    """
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise InputError(
            "not an attribute", place=f"--attr {text}", expected="name=value", got=repr(text)
        )
    return name, value
