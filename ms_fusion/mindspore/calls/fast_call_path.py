"""The fast call path: monkeypatches six methods of MindSpore's Cells that every call uses.

Each replacement handles the common case and delegates all others to the original. So the
replacements are installed with the first preset and stay. Methods that this MindSpore version
lacks, or that another package has replaced, are left alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from ms_fusion.mindspore.calls import graph_keys, repeated_calls
from ms_fusion.mindspore.calls.graph_keys import Scopes

PLAIN_TYPES = frozenset((str, bool, int, float, type(None)))
"""Exact types of attribute values that `Cell.__setattr__` stores without special handling."""
SIGNATURE_OVERRIDES = frozenset(("__wrapped__", "__signature__"))
"""Function attributes that override the signature of its code."""
NO_ENTRIES: Mapping[Any, Any] = {}


def install(scopes: Scopes) -> None:
    """Installs the fast methods in Cells; idempotent.

    Args:
        scopes: the flags in force, which calls are compared with.
    """
    from mindspore import nn

    cell = nn.Cell
    check: Any = getattr(cell, "_check_construct_args", None)
    if _is_mindspore_method(check):
        cell._check_construct_args = wrap_check_arguments(check)
    # `_set_attr_for_object` exists in the versions whose attribute handling is known
    if _is_mindspore_method(cell.__setattr__) and hasattr(cell, "_set_attr_for_object"):
        cell.__setattr__ = wrap_setattr(cell.__setattr__)
    predict: Any = getattr(cell, "_predict", None)
    if _is_mindspore_method(predict):
        cell._predict = graph_keys.wrap_predict(predict, scopes)
    run: Any = getattr(cell, "compile_and_run", None)
    if _is_mindspore_method(run) and repeated_calls.is_known_compile_and_run(run):
        calls = repeated_calls.CallRecords(scopes)
        cell.compile_and_run = repeated_calls.wrap_compile_and_run(run, calls)
        if _is_mindspore_method(cell.__call__) and repeated_calls.is_known_call(cell.__call__):
            cell.__call__ = repeated_calls.wrap_call(cell.__call__, calls)
        calls.refresh_call_members()
    phase = getattr(cell, "compile_phase", None)
    if isinstance(phase, property) and _is_mindspore_method(phase.fset):
        # containers override `__setattr__` and delegate to that of Cell for all Cells but one kind
        setters = {one.__setattr__ for one in (cell, nn.SequentialCell, nn.CellDict)}
        known = {
            one for one in setters if _is_mindspore_method(one) or _defining_module(one) == __name__
        }
        cell.compile_phase = wrap_compile_phase(cell, phase, known)


def _defining_module(method: Any) -> str:
    """The module that defines a function, wrapped or not; empty if unknown."""
    return str(getattr(method, "__globals__", NO_ENTRIES).get("__name__", ""))


def _is_mindspore_method(method: Any) -> bool:
    """Whether a method is MindSpore's original."""
    return _defining_module(method).startswith("mindspore.nn.")


def wrap_check_arguments(original: Callable[..., None]) -> Callable[..., None]:
    """`Cell._check_construct_args`, with the signature check cached per number of arguments.

    The cache key is the function (weak reference) with its code.
    """
    right: WeakKeyDictionary[FunctionType, dict[tuple[int, int], CodeType]] = WeakKeyDictionary()

    @functools.wraps(original)
    def check(self: Any, *args: Any, **kwargs: Any) -> None:
        construct = self.construct
        function = construct.__func__ if type(construct) is MethodType else None
        if type(function) is not FunctionType or kwargs:
            return original(self, *args, **kwargs)
        numbers = (len(function.__defaults__ or ()), len(args))
        if right.get(function, NO_ENTRIES).get(numbers) is function.__code__:
            return None
        original(self, *args)
        if SIGNATURE_OVERRIDES.isdisjoint(vars(function)):
            right.setdefault(function, {})[numbers] = function.__code__
        return None

    return check


def wrap_setattr(original: Callable[..., None]) -> Callable[..., None]:
    """`Cell.__setattr__`, with a short cut for the replacement of plain values."""

    @functools.wraps(original)
    def set_attribute(self: Any, name: str, value: Any) -> None:
        if type(value) in PLAIN_TYPES:
            own = self.__dict__
            if (
                name in own
                # the name may be registered here as well; MindSpore then rejects the value
                and name not in (own.get("_params") or ())
                and name not in (own.get("_cells") or ())
                and name not in (own.get("_buffers") or ())
            ):
                return object.__setattr__(self, name, value)
        return original(self, name, value)

    return set_attribute


def wrap_compile_phase(
    owner: Any, found: property, setters: Collection[Callable[..., None]]
) -> property:
    """`Cell.compile_phase`, set directly in all inner Cells instead of by `__setattr__`.

    Args:
        owner: MindSpore's Cell class.
        found: its original property.
        setters: known ``__setattr__`` of Cells and containers; a Cell with another one is set
            through it.
    """

    def spread(self: Any, value: str) -> None:
        if type(self).__setattr__ in setters:
            object.__setattr__(self, "_compile_phase", value)
        else:
            self._compile_phase = value
        for cell in self._cells.values():
            kind = type(cell)
            if getattr(kind, "compile_phase", None) is lighter and kind.__setattr__ in setters:
                spread(cell, value)
            elif cell is not None:
                cell.compile_phase = value

    @functools.wraps(found.fset)  # type: ignore[arg-type]
    def compile_phase(self: Any, value: Any) -> None:
        # containers delegate to `Cell.__setattr__`, which may have been replaced
        light = type(value) is str and owner.__setattr__ in setters
        (spread if light else found.__set__)(self, value)

    lighter = property(found.fget, compile_phase, found.fdel, found.__doc__)
    return lighter
