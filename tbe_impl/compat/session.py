"""What operators did while the names were installed: what they registered, scheduled and built."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tbe_impl.dsl.location import Location, here
from tbe_impl.errors import InputError
from tbe_impl.soc import Soc, soc


@dataclass(frozen=True)
class BuildRequest:
    """One call of a build function.

    Attributes:
        name: of the kernel.
        tensors: inputs, then outputs, flat and without None; an output that ``te.lang.cce`` casts back is the cast one.
        schedule: as it was handed over.
        config: everything else that was asked for, such as ``need_build`` or ``print_ir``.
        location: where the operator asked.
        compile_info: what the operator told its tiling function.
    """

    name: str
    tensors: tuple[Any, ...]
    schedule: Any
    config: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    location: Location | None = None
    compile_info: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass(frozen=True)
class Registration:
    """One registration decorator.

    Attributes:
        kind: the decorator, such as ``register_operator`` or ``op_info_register``.
        name: what was registered: an operator type or a function name.
        function: the decorated function, as it was written.
        wrapper: what the decorator gave back, which is what the operator's file calls.
        file, line: where the function was written.
        options: the decorator's other arguments.
    """

    kind: str
    name: str
    function: Any
    wrapper: Any
    file: str
    line: int
    options: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


@dataclass
class Session:
    """The record of one ``installed`` context.

    Attributes:
        soc: the chip that platform questions are answered for.
        builds: requests in order.
        schedules: in the order in which operators made them.
        registrations: decorators in order.
        dynamic: whether the operator that runs was given unknown sizes; None outside of operators.
        operator_type: of the operator that runs, as it was registered.
        in_variant: whether a variant of an operator is being written, as in ``with tbe.dsl.compute():``.
        compile_info: what operators told their tiling functions.
        build_config: options of the builds at hand.
        variables: sizes and attributes that are known at run time only, by name.
        cast_outputs: id of an output → the tensor that stands for it, where ``te.lang.cce`` casts it back.
        auto_casts: ids of the operations that ``te.lang.cce`` added by itself.
        kept: what must not be freed while ids of it are noted.
        real_toolkit: where a real toolkit was found and left alone, else empty; then nothing is recorded here.
    """

    soc: Soc
    builds: list[BuildRequest] = field(default_factory=list)
    schedules: list[Any] = field(default_factory=list)
    registrations: list[Registration] = field(default_factory=list)
    dynamic: bool | None = None
    operator_type: str = ""
    in_variant: bool = False
    compile_info: dict[str, Any] = field(default_factory=dict)
    build_config: dict[str, Any] = field(default_factory=dict)
    variables: dict[str, Any] = field(default_factory=dict)
    cast_outputs: dict[int, Any] = field(default_factory=dict)
    auto_casts: set[int] = field(default_factory=set)
    kept: list[Any] = field(default_factory=list)
    real_toolkit: str = ""

    def record_build(
        self, name: str, tensors: Any, schedule: Any, config: Mapping[str, Any]
    ) -> BuildRequest:
        """Adds a request and gives it back."""
        request = BuildRequest(
            name,
            tuple(self.cast_outputs.get(id(tensor), tensor) for tensor in flat(tensors)),
            schedule,
            MappingProxyType(dict(config)),
            here(),
            MappingProxyType(dict(self.compile_info)),
        )
        self.builds.append(request)
        return request

    def registered(self, name: str) -> tuple[Registration, ...]:
        """Everything registered under that name."""
        return tuple(item for item in self.registrations if item.name == name)


def flat(value: Any) -> Sequence[Any]:
    """The tensors of a nested ``tensor_list``; None is left out.

    >>> flat([1, (2, None, [3])])
    [1, 2, 3]
    """
    if value is None:
        return []
    if not isinstance(value, (list, tuple)):
        return [value]
    return [item for part in value for item in flat(part)]


_current: ContextVar[Session | None] = ContextVar("tbe_impl_session", default=None)
_latest: list[Session] = []
"""Sessions that are open, the last opened last: threads that an operator starts itself see it."""
_lock = threading.RLock()


def open_session(session: Session) -> Any:
    """Makes it the current one of this thread; hands back what `close_session` takes."""
    with _lock:
        _latest.append(session)
    return _current.set(session), session


def close_session(token: Any) -> None:
    """Undoes `open_session`."""
    reset, session = token
    with _lock:
        _latest[:] = [item for item in _latest if item is not session]
    _current.reset(reset)


def _known() -> Session | None:
    found = _current.get()
    if found is None:
        with _lock:
            found = _latest[-1] if _latest else None
    return found


def session() -> Session:
    """The session of this thread; raises when no names are installed."""
    found = _known()
    if found is None:
        raise InputError(
            "an operator function was called outside of a build",
            place=str(here()),
            remedy="Call it inside `with tbe_impl.compat.installed(soc=…)`, or build it with tbe_impl.load_operator",
        )
    return found


def has_session() -> bool:
    """Whether names are installed."""
    return _known() is not None


def current_soc() -> Soc:
    """The chip that platform questions are answered for; ``Ascend910A`` when nothing is installed."""
    found = _known()
    return found.soc if found else soc("Ascend910A")


def is_in_variant() -> bool:
    """Whether a variant of an operator is being written."""
    found = _known()
    return found is not None and found.in_variant


@contextlib.contextmanager
def running(arguments: Iterable[Any], operator_type: str = "") -> Iterator[None]:
    """While an operator runs: whether its shapes are dynamic, and its type, are known."""
    record = session()
    before = record.operator_type, record.dynamic
    record.operator_type = operator_type or record.operator_type
    if record.dynamic is None:
        record.dynamic = has_unknown_size(arguments)
    try:
        yield
    finally:
        record.operator_type, record.dynamic = before


def has_unknown_size(arguments: Iterable[Any]) -> bool:
    """Whether a description among the arguments has a size of -1 or an unknown rank.

    >>> has_unknown_size(({"shape": (-1, 4)}, 1.0)), has_unknown_size(([{"shape": (2,)}],))
    (True, False)
    """
    for item in arguments:
        if isinstance(item, dict):
            shape = item.get("shape")
            if isinstance(shape, (list, tuple)) and any(
                isinstance(size, int) and size < 0 for size in shape
            ):
                return True
        elif isinstance(item, (list, tuple)) and has_unknown_size(item):
            return True
    return False
