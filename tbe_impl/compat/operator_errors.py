"""Defines errors in the toolkit's form: ``RuntimeError`` whose first argument is a dict."""

from __future__ import annotations

from typing import Any

from tbe_impl.dsl.location import user_location
from tbe_impl.errors import InputError


class OperatorError(InputError, RuntimeError):
    """An error of an operator's checks or of the toolkit's.

    Operators catch ``RuntimeError`` and read ``error.args[0]["errCode"]``; the message is for
    users.

    Attributes:
        info: the dict with ``errCode``, ``op_name``, ``param_name`` and other keys of the check.
    """

    code = "operator"

    def __init__(self, info: dict[str, Any], message: str, **parts: Any):
        self.info = info
        InputError.__init__(self, message, **{"place": str(user_location()), **parts})
        self.args = (info, message)


def fault(error_code: str, message: str, **info: Any) -> OperatorError:
    """Returns an error with this code; `info` is added to its dict."""
    return OperatorError({"errCode": error_code, **info}, message.rstrip("."))


class CheckError(OperatorError):
    """An error of a check that holds for every value of the unknown sizes."""


def refusal(error_code: str, message: str, **info: Any) -> CheckError:
    """Returns a `CheckError` with this code; `info` is added to its dict."""
    return CheckError({"errCode": error_code, **info}, message.rstrip("."))
