"""Installs the fast call path: monkeypatches six methods of MindSpore's class Cell.

Each of our methods handles the common case and calls MindSpore's original method in all other
cases. Our methods are installed when the first preset (a named set of fusion flags) is enabled, and
stay installed. A method is not replaced if this MindSpore version lacks it or if another package
has already replaced it.
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
"""Attributes of a function that override the signature given by its code object."""
NO_ENTRIES: Mapping[Any, Any] = {}


def install(scopes: Scopes) -> None:
    """Replaces methods of MindSpore's class Cell by our faster methods; a second call does nothing.

    Args:
        scopes: object that returns the flags in force. If these flags have changed since the last
            call of a Cell, the Cell's next call does not take the fast path.
    """
    from mindspore import nn

    cell = nn.Cell
    check: Any = getattr(cell, "_check_construct_args", None)
    if _is_mindspore_method(check):
        cell._check_construct_args = wrap_check_arguments(check)
    # `wrap_setattr` is written for the MindSpore versions that have `_set_attr_for_object`.
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
        # Containers override `__setattr__`, but delegate to `Cell.__setattr__` for this attribute.
        setters = {one.__setattr__ for one in (cell, nn.SequentialCell, nn.CellDict)}
        known = {
            one for one in setters if _is_mindspore_method(one) or _defining_module(one) == __name__
        }
        cell.compile_phase = wrap_compile_phase(cell, phase, known)


def _defining_module(method: Any) -> str:
    """Returns the name of the module that defines the code of a function.

    The name is empty if the module is unknown.

    For a wrapper, the result is the module of the wrapper, not the module of the wrapped function.
    """
    return str(getattr(method, "__globals__", NO_ENTRIES).get("__name__", ""))


def _is_mindspore_method(method: Any) -> bool:
    """Returns whether a method is MindSpore's own; False if another package has replaced it."""
    return _defining_module(method).startswith("mindspore.nn.")


def wrap_check_arguments(original: Callable[..., None]) -> Callable[..., None]:
    """Wraps `Cell._check_construct_args` and caches successful signature checks.

    The cache key consists of the function `construct` (a weak reference), the number of its default
    values and the number of arguments. A cache entry is valid as long as the function has the same
    code object.
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
    """Wraps `Cell.__setattr__`; the wrapper sets plain attributes without MindSpore's checks.

    An attribute is plain if three conditions hold. The attribute already exists in the Cell. The
    type of the new value is in `PLAIN_TYPES`. No registered parameter, Cell or buffer has the name
    of the attribute.
    """

    @functools.wraps(original)
    def set_attribute(self: Any, name: str, value: Any) -> None:
        if type(value) in PLAIN_TYPES:
            own = self.__dict__
            if (
                name in own
                # MindSpore rejects a plain value for a name that is registered here.
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
    """Returns a faster property `Cell.compile_phase`.

    Like the original setter, the setter of this property also sets the property of all inner Cells.
    Unlike the original setter, the setter writes directly to the attribute ``_compile_phase``.

    Args:
        owner: MindSpore's Cell class.
        found: the original property.
        setters: the ``__setattr__`` functions of Cells and containers that may be bypassed. If a
            Cell has another ``__setattr__``, the setter calls this other function.
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
        # Containers delegate to `Cell.__setattr__`, which another package may have replaced.
        light = type(value) is str and owner.__setattr__ in setters
        (spread if light else found.__set__)(self, value)

    lighter = property(found.fget, compile_phase, found.fdel, found.__doc__)
    return lighter
