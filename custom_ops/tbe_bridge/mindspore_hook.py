"""What is replaced in MindSpore so that primitives with a TBE function run on CPU.

MindSpore's parser calls ``_clone`` of a primitive that has ``__setattr_flag__`` and takes what that gives; in PyNative a
primitive calls its ``check_elim`` first and takes its result. Both give the primitive of `custom_ops.tbe_bridge.primitive` where
there is one. A registration (``op_info_register``) is noted as it goes to MindSpore's library of operators.
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
_OURS = ("mindspore.", "custom_ops.")
"""Packages whose primitives are no user's."""


def replace_functions() -> None:
    """Once for each MindSpore; nothing where ``MS_FUSION=off``, or where it has no such modules."""
    with suppress(InputError):  # an unknown value of the variable is `doctor`'s to report
        if environment.is_off():
            return
    if not {_PRIMITIVE, _REGISTER, _CUSTOM} <= sys.modules.keys():
        return
    base = sys.modules[_PRIMITIVE].PrimitiveWithInfer
    if isinstance(vars(base).get("__setattr_flag__"), _IsReplaced):
        return
    base.__setattr_flag__ = _IsReplaced()
    base._clone = _or_own(base._clone)
    base.check_elim = _called_or(base.check_elim)
    register = sys.modules[_REGISTER]
    register.Oplib = functools.partial(_Library, register.Oplib)  # type: ignore[attr-defined]
    custom = sys.modules[_CUSTOM].Custom
    custom._update_func_imply_path = _place_or(custom._update_func_imply_path)


def _registration(primitive: Any) -> Registration | None:
    """What a user registered for this primitive; None for one of MindSpore's or of ours."""
    found = registrations.get(str(vars(primitive).get("name")))
    return None if type(primitive).__module__.startswith(_OURS) else found


def registration_of(primitive: Any) -> Registration | None:
    """What a user registered for this primitive, with its function.

    Raises:
        InputError: there is no such function.
    """
    found = _registration(primitive)
    if found is None:
        return None
    if found.function is None:
        from custom_ops.tbe_bridge.kernels import registered_function

        name = str(found.info["op_name"])
        found = registrations[name] = replace(found, function=registered_function(found))
    return found


def _has_function(primitive: Any) -> bool:
    """Whether MindSpore is set to CPU and this primitive has a TBE function."""
    if _registration(primitive) is None and vars(primitive).get("func_type") != "tbe":
        return False
    from custom_ops.core.framework import device_target

    return device_target() == "CPU"


def _replacement(primitive: Any) -> Any:
    """The primitive that runs the TBE function of this one; None where it has none.

    Raises:
        InputError: there is no such function, or it needs an attribute that the primitive lacks.
    """
    if not _has_function(primitive):
        return None
    from custom_ops.tbe_bridge.primitive import tbe_primitive

    return tbe_primitive(primitive, registration_of(primitive))


class _IsReplaced:
    """An attribute that is there, and true, where a primitive is replaced."""

    def __get__(self, primitive: Any, kind: Any = None) -> bool:
        # what cannot be replaced is an error of `_clone`: who asks whether this is there would not hear of it
        if primitive is not None and _has_function(primitive):
            return True
        raise AttributeError("__setattr_flag__")


def _or_own(clone: Callable[[Any], Any]) -> Callable[[Any], Any]:
    @functools.wraps(clone)
    def _clone(self: Any) -> Any:
        return _replacement(self) or clone(self)

    return _clone


def _called_or(check_elim: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(check_elim)
    def called(self: Any, *arguments: Any) -> Any:
        found = _replacement(self)
        return check_elim(self, *arguments) if found is None else (True, found(*arguments))

    return called


def _place_or(update: Callable[[Any], str]) -> Callable[[Any], str]:
    """Where a TBE function is written; MindSpore runs its file, the user's script among them, to see whether it could."""

    @functools.wraps(update)
    def _update_func_imply_path(self: Any) -> str:
        from custom_ops.core.framework import device_target

        if self.func_type == "tbe" and device_target() == "CPU":
            return os.path.realpath(inspect.getfile(self.func))
        return update(self)

    return _update_func_imply_path


class _Library:
    """MindSpore's library of operators, whose TBE operators are noted."""

    def __init__(self, library: Callable[[], Any]):
        self._library = library()

    def reg_op(self, info: str, file: str) -> Any:
        """Registers an operator; notes one of TBE that MindSpore took."""
        is_taken = self._library.reg_op(info, file)
        known: Any = None
        with suppress(ValueError):  # MindSpore logs what is no JSON
            known = json.loads(info)
        if is_taken and file and isinstance(known, dict) and known.get("imply_type") == "TBE":
            name = known.get("op_name")
            if isinstance(name, str):
                registrations[name] = Registration(known, file)
        return is_taken

    def __getattr__(self, name: str) -> Any:
        return getattr(self._library, name)
