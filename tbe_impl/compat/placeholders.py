"""Defines placeholders for the names of the CANN toolkit that are not implemented here.

Operator files can import a placeholder; any use of the placeholder raises `NotWritten`.
"""

from __future__ import annotations

import difflib
import importlib
from collections.abc import Iterable
from types import ModuleType
from typing import Any, NoReturn

from tbe_impl.dsl.location import user_location
from tbe_impl.errors import MissingError


class NotWritten(MissingError, RuntimeError):
    """Raised if an operator uses a name of the CANN toolkit that is not implemented here."""

    code = "not-written"


def _missing_name_hint(module: str, attribute: str) -> str:
    """Returns a hint for the error message about a name that a toolkit module lacks.

    The hint suggests, for example, a function of TVM or of `tbe_impl.dsl.ext`. The hint is empty if
    there is nothing to suggest.
    """
    if module in ("te", "tbe") and attribute in dir(importlib.import_module(f"{module}.tvm")):
        return (
            f"`{module}` is the toolkit's package; "
            f"TVM's is `tvm.{attribute}` after `from {module} import tvm`"
        )
    if module.startswith(("te.lang", "tbe.dsl", "topi.cce")):
        from tbe_impl.dsl import ext

        if attribute == "reshape":
            return (
                "The toolkit has no such operation: give the placeholder the other shape; "
                "arrays keep the declared one"
            )
        if attribute in dir(ext):
            return (
                "The toolkit has no such operation: compose it from others, or use "
                f"tbe_impl.dsl.ext.{attribute} in an operator that runs on a processor only"
            )
    return ""


class Placeholder:
    """Stands for an unimplemented name; calls and computations with it raise `NotWritten`.

    There is one exception: a call of a name that starts with ``register`` returns a decorator
    without effect.
    """

    def __init__(self, name: str, known: Iterable[str] = ()):
        object.__setattr__(self, "_name", name)
        object.__setattr__(self, "_known", tuple(known))
        object.__setattr__(self, "__name__", name.rpartition(".")[2])

    def _refuse(self, *_: Any, **__: Any) -> NoReturn:
        module, _, attribute = self._name.rpartition(".")
        near = difflib.get_close_matches(attribute, self._known, n=1)
        device_code = ".tik" in self._name or "tikcpp" in self._name
        raise NotWritten(
            f"`{self._name}` has no counterpart here",
            place=str(user_location()),
            remedy="TIK and Ascend C kernels are the device's own instructions; "
            "only DSL operators run here"
            if device_code
            else _missing_name_hint(module, attribute)
            or (f"The nearest name is `{module}.{near[0]}`" if near else "")
            or "Write the operator with DSL operations, or build it with the real toolkit",
        )

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(name)
        return type(self)(f"{self._name}.{name}")

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if self._name.rpartition(".")[2].startswith("register"):
            return lambda function: function
        self._refuse()

    def __instancecheck__(self, instance: Any) -> bool:
        return False

    def __mro_entries__(self, bases: tuple[Any, ...]) -> tuple[type, ...]:
        # a derived class can be defined; an instance of it raises the error
        return (type("NotWrittenBase", (), {"__init__": lambda _, *__, **___: self._refuse()}),)

    def __repr__(self) -> str:
        return f"<{self._name}: not written here>"

    __iter__ = __len__ = __getitem__ = __contains__ = __bool__ = __int__ = __float__ = __index__ = (
        _refuse
    )
    __enter__ = __add__ = __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = _refuse
    __floordiv__ = __mod__ = __lt__ = __le__ = __gt__ = __ge__ = __neg__ = _refuse

    def __exit__(self, *_: Any) -> None:
        return None


class DeviceCode(Placeholder):
    """An object of the TIK API; the methods of the object do nothing.

    Some operators create a TIK object for every shape, but use the object for few shapes only.
    Creation of the object is therefore permitted. Building a kernel from the object, or computing
    with it, raises `NotWritten`.
    """

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        if self._name.endswith(".BuildCCE"):
            self._refuse()
        return DeviceCode(f"{self._name}()")


class CompatModule(ModuleType):
    """A module whose unknown attributes are instances of `Placeholder`."""

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__"):
            raise AttributeError(f"module {self.__name__!r} has no attribute {name!r}")
        late = self.__dict__.get("_late")
        if late is not None:
            found = late(name)
            if found is not None:
                return found
        return Placeholder(f"{self.__name__}.{name}", self.__dir__())

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        """Calls the function that `CALLABLE_MODULES` lists for this module."""
        call = self.__dict__.get("_call")
        if call is None:
            raise TypeError(f"module {self.__name__!r} is not callable")
        return call(*args, **keywords)

    def __dir__(self) -> list[str]:
        listed = [name for name in self.__dict__ if not name.startswith("_")]
        more = self.__dict__.get("_late_names")
        return sorted({*listed, *(more() if more else ())})
