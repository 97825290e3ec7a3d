"""The fast call path: replaces six methods of MindSpore's Cells that calls go through.

Each replacement does what MindSpore's own does, and leaves to that whatever is not the everyday case. So they come with the first
preset and stay, as what stands around compilations does. What this version of MindSpore does not have, and what somebody else has
replaced, is left alone.
"""

from __future__ import annotations

import functools
from collections.abc import Callable, Collection, Mapping
from types import CodeType, FunctionType, MethodType
from typing import Any
from weakref import WeakKeyDictionary

from ms_fusion.presets import graph_keys, repeated_calls, single_kernel_calls
from ms_fusion.presets.call_records import LastCalls
from ms_fusion.presets.graph_keys import Scopes

PLAIN = frozenset((str, bool, int, float, type(None)))
"""Exact types of values that MindSpore makes nothing of when they become attributes of a Cell."""
OTHER_SIGNATURE = frozenset(("__wrapped__", "__signature__"))
"""Attributes of a function whose signature is not that of its own code."""
NOTHING: Mapping[Any, Any] = {}


def install(scopes: Scopes) -> None:
    """From now on Cells have the lighter methods; doing it again changes nothing.

    Args:
        scopes: what holds, which a call is compared with.
    """
    from mindspore import nn

    cell = nn.Cell
    check: Any = getattr(cell, "_check_construct_args", None)
    if _is_mindspores(check):
        cell._check_construct_args = checking(check)
    # what it sets by is a method of its own in the versions whose way with attributes is known
    if _is_mindspores(cell.__setattr__) and hasattr(cell, "_set_attr_for_object"):
        cell.__setattr__ = setting(cell.__setattr__)
    predict: Any = getattr(cell, "_predict", None)
    if _is_mindspores(predict):
        cell._predict = graph_keys.looking_up(predict, scopes)
    run: Any = getattr(cell, "compile_and_run", None)
    if _is_mindspores(run) and repeated_calls.is_known(run):
        calls = LastCalls(scopes)
        cell.compile_and_run = repeated_calls.repeating(run, calls)
        if _is_mindspores(cell.__call__) and single_kernel_calls.is_known(cell.__call__):
            cell.__call__ = single_kernel_calls.calling(cell.__call__, calls)
        calls.replaced()
    phase = getattr(cell, "compile_phase", None)
    if isinstance(phase, property) and _is_mindspores(phase.fset):
        # containers have methods of their own, which go on to that of Cells for all but one kind of Cell
        setters = {one.__setattr__ for one in (cell, nn.SequentialCell, nn.CellDict)}
        known = {one for one in setters if _is_mindspores(one) or _home(one) == __name__}
        cell.compile_phase = spreading(cell, phase, known)


def _home(method: Any) -> str:
    """The module in whose source it stands, whatever it wraps; empty for what has none."""
    return str(getattr(method, "__globals__", NOTHING).get("__name__", ""))


def _is_mindspores(method: Any) -> bool:
    """Whether it is the one that Cells came with, and no replacement, of ours or somebody else."""
    return _home(method).startswith("mindspore.nn.")


def checking(original: Callable[..., None]) -> Callable[..., None]:
    """`Cell._check_construct_args`, which asks for the signature of a `construct` once for each number of arguments.

    What was right is remembered by function, as long as that lives and has the same code.
    """
    right: WeakKeyDictionary[FunctionType, dict[tuple[int, int], CodeType]] = WeakKeyDictionary()

    @functools.wraps(original)
    def check(self: Any, *args: Any, **kwargs: Any) -> None:
        construct = self.construct
        function = construct.__func__ if type(construct) is MethodType else None
        if type(function) is not FunctionType or kwargs:
            return original(self, *args, **kwargs)
        numbers = (len(function.__defaults__ or ()), len(args))
        if right.get(function, NOTHING).get(numbers) is function.__code__:
            return None
        original(self, *args)
        if OTHER_SIGNATURE.isdisjoint(vars(function)):
            right.setdefault(function, {})[numbers] = function.__code__
        return None

    return check


def setting(original: Callable[..., None]) -> Callable[..., None]:
    """`Cell.__setattr__`, which does not look for what a plain value is when it replaces an attribute."""

    @functools.wraps(original)
    def set_attribute(self: Any, name: str, value: Any) -> None:
        if type(value) in PLAIN:
            own = self.__dict__
            if (
                name in own
                # a name can be here as well, and then MindSpore refuses the value
                and name not in (own.get("_params") or ())
                and name not in (own.get("_cells") or ())
                and name not in (own.get("_buffers") or ())
            ):
                return object.__setattr__(self, name, value)
        return original(self, name, value)

    return set_attribute


def spreading(owner: Any, found: property, setters: Collection[Callable[..., None]]) -> property:
    """`Cell.compile_phase`, which is written into the Cells inside; MindSpore sets it as any attribute, twice in each Cell.

    Args:
        owner: MindSpore's class of Cells.
        found: its own property.
        setters: ``__setattr__`` of Cells and containers; a Cell that has another is told by that.
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
        # containers call that of Cells, which somebody may have replaced
        light = type(value) is str and owner.__setattr__ in setters
        (spread if light else found.__set__)(self, value)

    lighter = property(found.fget, compile_phase, found.fdel, found.__doc__)
    return lighter
