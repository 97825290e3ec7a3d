"""Texts of the command line → what `tbe_impl` builds an operator with."""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

from ms_fusion.target import parse_input
from tbe_impl.errors import InputError

if TYPE_CHECKING:
    from tbe_impl.arguments import Description
    from tbe_impl.command import Request


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
        soc, search_path, backend, seed: see `tbe_impl.command.Request`.

    Raises:
        InputError: a text is wrong.
    """
    from tbe_impl.command import Request

    names = [name for name, _ in attributes]
    twice = next((name for name in names if names.count(name) > 1), None)
    if twice:
        raise InputError("an attribute is given twice", place=f"--attr {twice}")
    return Request(
        target,
        tuple(description_of(text) for text in inputs),
        tuple(description_of(text, option="--output") for text in outputs),
        dict(attributes),
        soc,
        tuple(search_path),
        backend,
        seed,
    )


def description_of(text: str, *, option: str = "--input") -> Description:
    """``16x32:float16``, with a format ``1x1x4x4x16:float16:NC1HWC0``, ``:int32`` (a scalar), or ``file.npy``.

    Raises:
        InputError: says what is wrong with it.
    """
    from tbe_impl.arguments import Description

    shape_and_dtype, layout = text, "ND"
    if text.count(":") == 2:
        shape_and_dtype, _, layout = text.rpartition(":")
    try:
        spec = parse_input(shape_and_dtype)
    except InputError as error:
        if option != "--input" and error.place:
            error.place = error.place.replace("--input", option, 1)
        raise
    if spec.file is None:
        return Description(spec.shape, spec.dtype, layout)
    import numpy as np

    try:
        array = np.load(spec.file, allow_pickle=False)
    except (OSError, ValueError, EOFError) as error:
        raise InputError("not an array that NumPy can read", place=str(spec.file)) from error
    return Description(array.shape, array.dtype.name, layout, array)


def attribute_of(text: str) -> tuple[str, str]:
    """``name=value`` → its two parts.

    Raises:
        InputError: it has another form.

    >>> attribute_of("axis=-1")
    ('axis', '-1')
    """
    name, sign, value = text.partition("=")
    if not sign or not name.isidentifier():
        raise InputError("not an attribute", place=f"--attr {text}", expected="name=value", got=repr(text))  # fmt: skip
    return name, value
