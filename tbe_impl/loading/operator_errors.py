"""Converts exceptions of operator files to errors with source line, arguments and remedy."""

from __future__ import annotations

import linecache
import textwrap
from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any

from tbe_impl.compat.operator_errors import CheckError
from tbe_impl.errors import InputError

PYTHON_ERRORS = (
    ArithmeticError,
    AssertionError,
    AttributeError,
    LookupError,
    TypeError,
    UnboundLocalError,
)
"""Exceptions that Python itself raises, and that argument checks of operators do not raise."""
PACKAGE_PREFIX = f"{Path(__file__).parent.parent}/"
IMPORTS = {
    "tvm": "from te import tvm",
    "te": "import te.lang.cce",
    "tbe": "import te.lang.cce as tbe, or from tbe import dsl as tbe",
    "dsl": "from tbe import dsl",
    "generic": "from topi import generic",
    "util": "from topi.cce import util",
    "fusion_manager": "from te.platform.fusion_manager import fusion_manager",
    "para_check": "from tbe.common.utils import para_check",
    "shape_util": "from tbe.common.utils import shape_util",
    "reduce": "from functools import reduce",
    "np": "import numpy as np",
}
"""Dict from a name to the line that imports it, for imports that copied operators often lack."""


def call_error(
    error: BaseException,
    name: str,
    file: Path | None,
    names: Iterable[str],
    arguments: Sequence[Any],
    keywords: Mapping[str, Any],
) -> InputError:
    """Converts an exception of an operator to an error that names the operator's line.

    Args:
        error: the exception that the operator raised.
        name: name of the operator.
        file: file of the operator. None if the operator was loaded from a function object.
        names: names of the operator's parameters.
        arguments, keywords: arguments of the call.
    """
    line = _line_in(error, file) if file else None
    what, place = (
        f"{name} fails: {_error_text(error)}",
        f"{file}:{line}" if line else str(file or name),
    )
    info = error.args[0] if error.args else None
    if isinstance(error, RuntimeError) and isinstance(info, dict) and "errCode" in info:
        # The operator itself raises an error dict as the helpers of the CANN toolkit do.
        return CheckError(info, f"{name}: {_refusal(info, error)}", place=place)
    if not isinstance(error, PYTHON_ERRORS):
        return InputError(what, place=place, remedy=_missing_import(error) or _exit_remedy(error))
    called = {**dict(zip(names, arguments, strict=False)), **keywords}
    text = ", ".join(_argument_text(*one) for one in called.items())
    return InputError(
        what,
        place=place,
        expected="arguments that the file is written for",
        got=textwrap.shorten(text, 300, placeholder=" …") + _statement(file, line),
        remedy=_python_error_remedy(error),
    )


def import_error(error: BaseException, file: Path) -> InputError:
    """Converts an exception in the import of an operator file to an error that names the line."""
    line = _line_in(error, file)
    is_slip = isinstance(error, PYTHON_ERRORS)
    return InputError(
        f"the operator's file fails while it is imported: {_error_text(error)}",
        place=f"{file}:{line}" if line else str(file),
        expected="a file that Python can import" if is_slip else None,
        got=_statement(file, line).removeprefix(", at ") if is_slip and line else None,
        remedy="Name the parent directory of its helper packages in search_path"
        if isinstance(error, ImportError)
        else _python_error_remedy(error)
        if is_slip
        else _exit_remedy(error),
    )


def _argument_text(name: str, value: Any) -> str:
    """Formats a tensor description as dtype and shape, and any other argument as its value."""
    if isinstance(value, dict) and "shape" in value:
        return f"{name} {value.get('dtype')} {value['shape']}"
    if isinstance(value, (list, tuple)) and any(isinstance(one, dict) for one in value):
        return ", ".join(_argument_text(f"{name}[{place}]", one) for place, one in enumerate(value))
    return f"{name}={textwrap.shorten(repr(value), 60, placeholder=' …')}"


def _statement(file: Path | None, line: int | None) -> str:
    """Returns the text of a source line for the end of a message, or an empty string if unknown."""
    if not file or not line:
        return ""
    linecache.checkcache(str(file))
    text = linecache.getline(str(file), line).strip()
    return f", at `{text}`" if text else ""


def _python_error_remedy(error: BaseException) -> str:
    """Returns a remedy for a Python exception that occurred while an operator file was run.

    If the exception occurred in a file of this package, the remedy also asks the user to report
    that file and line.
    """
    trace, innermost = error.__traceback__, ""
    while trace is not None:
        innermost, trace = f"{trace.tb_frame.f_code.co_filename}:{trace.tb_lineno}", trace.tb_next
    change = "Change the arguments, or the line"
    if innermost.startswith(PACKAGE_PREFIX):
        return (
            f"{change}; if both are right, report tbe_impl/{innermost.removeprefix(PACKAGE_PREFIX)}"
        )
    return change


def _refusal(info: Mapping[str, Any], error: BaseException) -> str:
    said = " ".join(str(one) for one in error.args[1:]).removeprefix(f"[{info['errCode']}]").strip()
    return said.rstrip(".") or f"its arguments are refused ({info['errCode']})"


def _error_text(error: BaseException) -> str:
    return f"{type(error).__name__}: {error}".removesuffix(": ")


def _exit_remedy(error: BaseException) -> str | None:
    """Returns a remedy if `error` is a SystemExit, otherwise None.

    A SystemExit that is not caught would end the user's program.
    """
    return "Take the call of sys.exit out of the file" if isinstance(error, SystemExit) else None


def _missing_import(error: BaseException) -> str | None:
    name = getattr(error, "name", None) or ""
    line = IMPORTS.get(name) if isinstance(error, NameError) else None
    return f"The file lacks a line: {line}" if line else None


def _line_in(error: BaseException, file: Path) -> int | None:
    """Returns the number of the innermost line of a file in a traceback, or None."""
    found, trace = None, error.__traceback__
    while trace is not None:
        if Path(trace.tb_frame.f_code.co_filename) == file:
            found = trace.tb_lineno
        trace = trace.tb_next
    return found
