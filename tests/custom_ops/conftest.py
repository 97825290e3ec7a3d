"""Fixtures: PyNative mode; `make test` compiles no kernels unless a test needs them."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Any, NoReturn

import pytest

from custom_ops import Swish
from custom_ops.core import dispatch
from tbe_impl.errors import MissingError
from tbe_impl.runtime import compiler
from tests.tbe_impl.kernel_fixtures import little_optimization as little_optimization


@pytest.fixture
def pynative() -> None:
    """The test starts in PyNative mode."""
    import mindspore

    mindspore.set_context(mode=mindspore.PYNATIVE_MODE)


OPERATORS_OF_A_TEST = 64
"""Entry points that are free before a test that compiles nothing."""


def _missing(*_: Any, **__: Any) -> NoReturn:
    raise MissingError("this test compiles nothing")


@pytest.fixture
def compiled_in_full(full: bool) -> Iterator[None]:
    """`make test` uses the NumPy back end here, as on a machine without a C compiler.

    MindSpore then calls no kernel.
    """
    with pytest.MonkeyPatch.context() as patch:
        if not full:
            Swish()  # compiles the entry points for MindSpore, which all operators share
            if dispatch._banks[-1].size - len(dispatch._banks[-1].slots) < OPERATORS_OF_A_TEST:
                dispatch._banks.append(dispatch.Bank(len(dispatch._banks)))
            patch.setattr(compiler, "build", _missing)
            patch.setattr("tbe_impl.runtime.sequence._load_sequence_runner", _missing)
        yield
