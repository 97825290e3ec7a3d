"""Records registrations, schedules and builds of operators inside ``with installed():``."""

from __future__ import annotations

import contextlib
import threading
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextvars import ContextVar
from dataclasses import dataclass, field
from types import MappingProxyType
from typing import Any

from tbe_impl.dsl.location import Location, user_location
from tbe_impl.errors import InputError
from tbe_impl.records import Record
from tbe_impl.soc import Soc, find_soc


class BuildRequest(Record):
    """One call of a build function.

    Attributes:
        name: name of the kernel.
        tensors: the inputs, then the outputs, as a flat list without None. If ``te.lang.cce`` casts
            an output back to the dtype of an input, the list contains the result of the cast.
        schedule: the schedule argument.
        config: all other build options, such as ``need_build`` or ``print_ir``.
        location: location of the build call in the operator file.
        compile_info: data that the operator passes to the tiling function of the kernel.
    """

    name: str
    tensors: tuple[Any, ...]
    schedule: Any
    config: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))
    location: Location | None = None
    compile_info: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


class Registration(Record):
    """One use of a registration decorator.

    Attributes:
        kind: the decorator, such as ``register_operator`` or ``op_info_register``.
        name: the registered operator type or function name.
        function: the undecorated function.
        wrapper: the decorated function, as the operator file sees it.
        file, line: location of the function definition.
        options: other arguments of the decorator.
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
    """Records what operators do inside one ``with installed():`` block.

    Attributes:
        soc: the chip for which platform queries are answered.
        builds: build requests in order of the calls.
        schedules: schedules in order of creation.
        registrations: registrations in order of the calls.
        dynamic: whether the running operator has unknown sizes; None if no operator is running.
        operator_type: registered type of the running operator.
        in_variant: whether an operator is inside a variant block (``with tbe.dsl.compute():``).
        compile_info: data that operators pass to the tiling functions of their kernels.
        build_config: dict from the name of a build option to the value that was set.
        variables: dict from a name to a symbolic size or attribute.
        cast_outputs: dict for the outputs that ``te.lang.cce`` casts back, from the ``id`` of the
            output to the result of the cast.
        auto_casts: set of the ``id`` of each cast that ``te.lang.cce`` inserted.
        keepalive: objects that must stay alive while their ``id`` is recorded.
        real_toolkit: path of an installed CANN toolkit that stays active; nothing is recorded then.
            The path is empty if no such toolkit is used.
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
    keepalive: list[Any] = field(default_factory=list)
    real_toolkit: str = ""

    def record_build(
        self, name: str, tensors: Any, schedule: Any, config: Mapping[str, Any]
    ) -> BuildRequest:
        """Appends a build request to `builds` and returns the request."""
        request = BuildRequest(
            name,
            tuple(self.cast_outputs.get(id(tensor), tensor) for tensor in flatten_tensors(tensors)),
            schedule,
            MappingProxyType(dict(config)),
            user_location(),
            MappingProxyType(dict(self.compile_info)),
        )
        self.builds.append(request)
        return request


def flatten_tensors(value: Any) -> Sequence[Any]:
    """Flattens a nested ``tensor_list`` and drops None.

    >>> flatten_tensors([1, (2, None, [3])])
    [1, 2, 3]
    """
    if value is None:
        return []
    if not isinstance(value, (list, tuple)):
        return [value]
    return [item for part in value for item in flatten_tensors(part)]


_current_session: ContextVar[Session | None] = ContextVar("tbe_impl_session", default=None)
_open_sessions: list[Session] = []
"""Open sessions, newest last; a thread that an operator starts uses the newest session."""
_lock = threading.RLock()


def open_session(session: Session) -> Any:
    """Makes the session current in this thread and returns the token for `close_session`."""
    with _lock:
        _open_sessions.append(session)
    return _current_session.set(session), session


def close_session(token: Any) -> None:
    """Closes a session; `token` is the result of `open_session`."""
    reset, session = token
    with _lock:
        _open_sessions[:] = [item for item in _open_sessions if item is not session]
    _current_session.reset(reset)


def _find_session() -> Session | None:
    found = _current_session.get()
    if found is None:
        with _lock:
            found = _open_sessions[-1] if _open_sessions else None
    return found


def session() -> Session:
    """Returns the session of this thread, or the newest open session if the thread has none.

    Raises:
        InputError: no session is open.
    """
    found = _find_session()
    if found is None:
        raise InputError(
            "an operator function was called outside of a build",
            place=str(user_location()),
            remedy="Call it inside `with tbe_impl.compat.installed(soc=…)`, "
            "or build it with tbe_impl.load_operator",
        )
    return found


def has_session() -> bool:
    """Whether a session is open."""
    return _find_session() is not None


def current_soc() -> Soc:
    """Returns the chip of the current session, or ``Ascend910A`` if no session is open."""
    found = _find_session()
    return found.soc if found else find_soc("Ascend910A")


def is_in_variant() -> bool:
    """Whether the running operator is inside a variant block, ``with tbe.dsl.compute():``."""
    found = _find_session()
    return found is not None and found.in_variant


@contextlib.contextmanager
def operator_scope(arguments: Iterable[Any], operator_type: str = "") -> Iterator[None]:
    """Context manager: records the type of an operator, and whether the operator is dynamic."""
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
    """Whether a tensor description among the arguments has a size of -1 or an unknown rank.

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
