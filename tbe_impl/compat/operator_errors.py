"""Defines errors in the form of the CANN toolkit: a ``RuntimeError`` with a dict as argument."""

from __future__ import annotations

from typing import Any

from tbe_impl.dsl.location import user_location
from tbe_impl.errors import InputError


class OperatorError(InputError, RuntimeError):
    """An error that is raised by a check of an operator or of the CANN toolkit's functions.

    Operators catch ``RuntimeError`` and read ``error.args[0]["errCode"]``. The message is written
    for users.

    Attributes:
        info: the dict with ``errCode``, ``op_name``, ``param_name`` and other keys of the check.
    """

    code = "operator"

    def __init__(self, info: dict[str, Any], message: str, **parts: Any):
        self.info = info
        InputError.__init__(self, message, **{"place": str(user_location()), **parts})
        self.args = (info, message)


def fault(error_code: str, message: str, **info: Any) -> OperatorError:
    """Returns an `OperatorError` with this code; `info` is added to the error's dict."""
    return OperatorError({"errCode": error_code, **info}, message.rstrip("."))


class CheckError(OperatorError):
    """An `OperatorError` that would be raised for any values of the unknown sizes."""


def refusal(error_code: str, message: str, **info: Any) -> CheckError:
    """Returns a `CheckError` with this code; `info` is added to the error's dict."""
    return CheckError({"errCode": error_code, **info}, message.rstrip("."))
