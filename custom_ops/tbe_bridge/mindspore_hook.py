"""Monkeypatches MindSpore so that primitives with a TBE function run on CPU.

In graph mode, MindSpore's parser calls ``_clone`` of each primitive that has ``__setattr_flag__``,
and uses the result instead of the primitive. In PyNative mode, a primitive first calls its own
method ``check_elim``. This method may return the result of the operator.
`custom_ops.tbe_bridge.primitive` builds the CPU primitive that replaces a user's primitive. The
patched ``_clone`` returns this CPU primitive, and the patched ``check_elim`` calls this CPU
primitive. A proxy of MindSpore's operator library records each registration (``op_info_register``).
"""

from __future__ import annotations

import functools
import inspect
import json
import os
import sys
from collections.abc import Callable
from contextlib import suppress
from dataclasses import replace
from typing import Any

from custom_ops.tbe_bridge.registrations import Registration, registrations
from tbe_impl import environment
from tbe_impl.errors import InputError

_PRIMITIVE = "mindspore.ops.primitive"
_REGISTER = "mindspore.ops.op_info_register"
_CUSTOM = "mindspore.ops.operations.custom_ops"
_OWN_PACKAGES = ("mindspore.", "custom_ops.")
"""Packages whose primitives are not user-defined."""


def replace_functions() -> None:
    """Patches MindSpore; further calls have no effect.

    The function also does nothing with ``MS_FUSION=off``, or if MindSpore's modules are not yet
    imported.
    """
    with suppress(InputError):  # `doctor` reports an invalid value of ``MS_FUSION``
        if environment.is_off():
            return
    if not {_PRIMITIVE, _REGISTER, _CUSTOM} <= sys.modules.keys():
        return
    base = sys.modules[_PRIMITIVE].PrimitiveWithInfer
    if isinstance(vars(base).get("__setattr_flag__"), _ReplacementFlag):
        return
    base.__setattr_flag__ = _ReplacementFlag()
    base._clone = _wrap_clone(base._clone)
    base.check_elim = _wrap_check_elim(base.check_elim)
    register: Any = sys.modules[_REGISTER]
    register.Oplib = functools.partial(_RecordingLibrary, register.Oplib)
    custom = sys.modules[_CUSTOM].Custom
    custom._update_func_imply_path = _wrap_update_path(custom._update_func_imply_path)


def _registration(primitive: Any) -> Registration | None:
    """Returns the user's registration of this primitive.

    Returns None for primitives of MindSpore and of this package, and for primitives that are not
    registered.
    """
    found = registrations.get(str(vars(primitive).get("name")))
    return None if type(primitive).__module__.startswith(_OWN_PACKAGES) else found


def registration_of(primitive: Any) -> Registration | None:
    """Returns the user's registration of this primitive, with its TBE function loaded.

    Returns None if there is no registration.

    Raises:
        InputError: the TBE function does not exist.
    """
    found = _registration(primitive)
    if found is None:
        return None
    if found.function is None:
        from custom_ops.tbe_bridge.kernels import load_registered_function

        name = str(found.info["op_name"])
        found = registrations[name] = replace(found, function=load_registered_function(found))
    return found


def _has_function(primitive: Any) -> bool:
    """Whether the device target is CPU and this primitive has a TBE function."""
    if _registration(primitive) is None and vars(primitive).get("func_type") != "tbe":
        return False
    from custom_ops.core.framework import device_target

    return device_target() == "CPU"


def _replacement(primitive: Any) -> Any:
    """Returns a primitive that runs the TBE function of `primitive` on CPU.

    The result is None if `primitive` has no TBE function, or if the device target is not CPU.

    Raises:
        InputError: the TBE function does not exist, or needs an attribute that `primitive` lacks.
    """
    if not _has_function(primitive):
        return None
    from custom_ops.tbe_bridge.primitive import tbe_primitive

    return tbe_primitive(primitive, registration_of(primitive))


class _ReplacementFlag:
    """Descriptor of an attribute that is True for replaced primitives; other primitives lack it."""

    def __get__(self, primitive: Any, kind: Any = None) -> bool:
        # a failed replacement raises in `_clone`: `hasattr` on this flag would hide the error
        if primitive is not None and _has_function(primitive):
            return True
        raise AttributeError("__setattr_flag__")


def _wrap_clone(clone: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(clone)
    def _clone(self: Any) -> Any:
        return _replacement(self) or clone(self)

    return _clone


def _wrap_check_elim(check_elim: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(check_elim)
    def check_or_call(self: Any, *arguments: Any) -> Any:
        found = _replacement(self)
        return check_elim(self, *arguments) if found is None else (True, found(*arguments))

    return check_or_call


def _wrap_update_path(update: Callable[[Any], str]) -> Callable[[Any], str]:
    """Wraps the method of ``ops.Custom`` that returns the file of a TBE function.

    On CPU, the wrapper only returns the path of the file. MindSpore's own method would also check
    the file, and execute the file for this purpose, even if the file is the user's main script.
    """

    @functools.wraps(update)
    def _update_func_imply_path(self: Any) -> str:
        from custom_ops.core.framework import device_target

        if self.func_type == "tbe" and device_target() == "CPU":
            return os.path.realpath(inspect.getfile(self.func))
        return update(self)

    return _update_func_imply_path


class _RecordingLibrary:
    """Proxy of MindSpore's operator library that records TBE operators."""

    def __init__(self, library: Callable[[], Any]):
        self._library = library()

    def reg_op(self, info: str, file: str) -> Any:
        """Registers an operator with MindSpore; records TBE operators that MindSpore accepted."""
        is_taken = self._library.reg_op(info, file)
        known: Any = None
        with suppress(ValueError):  # MindSpore logs invalid JSON
            known = json.loads(info)
        if is_taken and file and isinstance(known, dict) and known.get("imply_type") == "TBE":
            name = known.get("op_name")
            if isinstance(name, str):
                registrations[name] = Registration(known, file)
        return is_taken

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)
