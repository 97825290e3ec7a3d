"""Texts of the command line → what `tbe_impl` builds an operator with."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import TYPE_CHECKING

from ms_fusion.target import parse_input
from tbe_impl.cli.arguments import UNKNOWN_SIZE, Description
from tbe_impl.errors import InputError
from tbe_impl.loading.operator_reference import check_operator_file, split_target
from tbe_impl.soc import soc as soc_of

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
    """What to build.

    Args:
        target: ``FILE.py:operator`` or ``FILE.py``.
        inputs, outputs: texts such as ``16x32:float16``; see `description_of`.
        attributes: pairs of name and text.
        soc, search_path, backend, seed: see `tbe_impl.cli.commands.Request`.

    Raises:
        InputError: a text is wrong.
    """
    names = [name for name, _ in attributes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise InputError("an attribute is given twice", place=f"--attr {twice}")
    read = [_described(text) for text in inputs]
    wanted = [_described(text, option="--output") for text in outputs]
    check_operator_file(split_target(target)[0])
    _check_chip(soc)
    from tbe_impl.cli.commands import Request

    return Request(
        target,
        tuple(_with_array(*one) for one in read),
        tuple(_with_array(*one) for one in wanted),
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


def description_of(text: str, *, option: str = "--input") -> Description:
    """``16x32:float16``, with a format ``1x1x4x4x16:float16:NC1HWC0``, ``:int32`` (a scalar), or ``file.npy``.

    A size of -1 is one that the operator does not know when it is built, and -2 stands for any number of sizes; what they are in
    the array follows behind an @: ``-1x128@64x128:float32``.

    Raises:
        InputError: says what is wrong with it.
    """
    return _with_array(*_described(text, option=option))


def _described(text: str, *, option: str = "--input") -> tuple[Description, Path | None]:
    """The description that a text gives, and the file that its array lies in.

    The file is not read yet.
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
            "any number of sizes, and none for the array",
            place=f"{option} {text}",
            remedy="Say them behind @: -2@3x4:float32",
        )
    if unknown:
        known = (
            given if at else "x".join(str(UNKNOWN_SIZE) if size == "-1" else size for size in sizes)
        )
        shape_and_dtype = f"{known}{colon}{dtype}"
    try:
        spec = parse_input(shape_and_dtype)
        shape = _unknown_shape(text, sizes, spec.shape) if unknown else spec.shape
    except InputError as error:
        if error.place:
            error.place = f"{option} {text}"
        raise
    if spec.file is None:
        return Description(shape, spec.dtype, layout, sizes=spec.shape if at else ()), None
    return Description((), format=layout), spec.file


def _with_array(described: Description, file: Path | None) -> Description:
    """The description with the array of a file, where there is one."""
    if file is None:
        return described
    import numpy as np

    try:
        array = np.load(file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError("not an array that NumPy can read", place=str(file)) from error
    return Description(array.shape, array.dtype.name, described.format, array)


def _unknown_shape(text: str, told: Sequence[str], actual: tuple[int, ...]) -> tuple[int, ...]:
    """What the operator is told of a shape that it does not know; raises `InputError` where the array has another."""
    if list(told) == ["-2"]:
        return (-2,)
    fits = len(told) == len(actual) and all(
        size in ("-1", str(real)) for size, real in zip(told, actual, strict=True)
    )
    if not fits:
        raise InputError(
            "the sizes behind @ are no sizes of the shape before it",
            place=f"--input {text}",
            expected=f"{len(told)} sizes, with {' and '.join(size for size in told if size != '-1') or 'any number'} where they are known",
            got="x".join(map(str, actual)),
        )
    return tuple(map(int, told))


def attribute_of(text: str) -> tuple[str, str]:
    """``name=value`` → its two parts.

    Raises:
        InputError: it has another form.

    >>> attribute_of("axis=-1")
    ('axis', '-1')
    """
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise InputError(
            "not an attribute", place=f"--attr {text}", expected="name=value", got=repr(text)
        )
    return name, value
