"""Errors in the toolkit's form: an ``InputError`` that is also a ``RuntimeError`` whose first argument is a dict."""

from __future__ import annotations

from typing import Any

from tbe_impl.dsl.location import here
from tbe_impl.errors import InputError


class OperatorError(InputError, RuntimeError):
    """What an operator's own checks and the toolkit's raise.

    Operators catch ``RuntimeError`` and read ``error.args[0]["errCode"]``; people read the sentence.

    Attributes:
        info: the dict: ``errCode``, ``op_name``, ``param_name`` and what else the check knows.
    """

    code = "operator"

    def __init__(self, info: dict[str, Any], message: str, **parts: Any):
        self.info = info
        InputError.__init__(self, message, **{"place": str(here()), **parts})
        self.args = (info, message)


def fault(error_code: str, message: str, **info: Any) -> OperatorError:
    """An error of that code; `info` goes into its dict."""
    return OperatorError({"errCode": error_code, **info}, message.rstrip("."))


class CheckError(OperatorError):
    """What a check refuses, whatever the sizes turn out to be that are not known yet."""


def refusal(error_code: str, message: str, **info: Any) -> CheckError:
    """An error of a check; `info` goes into its dict."""
    return CheckError({"errCode": error_code, **info}, message.rstrip("."))
