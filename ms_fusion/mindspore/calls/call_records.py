"""Records each Cell's last call, for the fast call path."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, finalize

from ms_fusion.mindspore.calls.graph_keys import Scopes, effective_flags

if TYPE_CHECKING:
    from ms_fusion.mindspore.calls.direct_kernel_calls import DirectKernel

STORAGE_NAMES: Mapping[str, str] = {
    "phase": "_phase",
    "arguments_key": "arguments_key",
    "current_phase": "current_phase",
    "compile_cache": "_compile_cache",
}
"""Attributes of a Cell of MindSpore 2.10 → the names in its ``__dict__``."""
COMPILE_MEMBERS = ("compile", "phase", "compile_cache")
"""Members that select the graph of a Cell; a class or a Cell that overrides one bypasses the fast
path.
"""
CALL_MEMBERS = ("compile_and_run", "_check_construct_args", "_self_check", "_predict")
"""Further members that each call of a Cell uses."""


@dataclass(slots=True)
class SingleKernel:
    """The kernel that is equivalent to a graph.

    Attributes:
        direct: the kernel; None if there is none or it is not determined yet.
        calls: number of repeated calls before that.
    """

    direct: DirectKernel | None = None
    calls: int = 0


class CallRecord(NamedTuple):
    """The last call of a Cell.

    Attributes:
        phase: the Cell's phase, which tells whether it trains.
        key: MindSpore's key of the arguments.
        graph: the name of the executed graph.
        arguments: (shape, dtype) of each argument.
        construct: the compiled function.
        held: the flags in force for the Cell.
        kernel: the equivalent kernel, if known.
    """

    phase: str
    key: str
    graph: str
    arguments: tuple[tuple[Any, Any], ...]
    construct: Any
    held: str | tuple[str, bool]
    kernel: SingleKernel


class CallRecords:
    """Call records of all Cells of this process.

    Attributes:
        scopes: the flags in force.
        of: Cell → record.
        kernels: ``id`` of a live Cell → record, for Cells whose graph is a single kernel.
    """

    def __init__(self, scopes: Scopes) -> None:
        from mindspore import Tensor, nn

        self.scopes, self._tensor, self._cell = scopes, Tensor, nn.Cell
        self._compiled_by = _attributes(nn.Cell, COMPILE_MEMBERS)
        self._called_by = _attributes(nn.Cell, CALL_MEMBERS)
        self._watched: set[int] = set()
        self.of: WeakKeyDictionary[Any, CallRecord] = WeakKeyDictionary()
        self.kernels: dict[int, CallRecord] = {}

    def keep(self, cell: Any, last: CallRecord) -> None:
        """Records a call and replaces the previous record."""
        self.of[cell] = last
        self.kernels.pop(id(cell), None)

    def record_kernel(self, cell: Any, last: CallRecord, direct: DirectKernel) -> None:
        """Records that the graph of a call is a single kernel."""
        last.kernel.direct = direct
        self.kernels[id(cell)] = last
        if id(cell) not in self._watched:
            self._watched.add(id(cell))
            finalize(cell, self._forget_cell, id(cell)).atexit = False

    def _forget_cell(self, number: int) -> None:
        self.kernels.pop(number, None)
        self._watched.discard(number)

    def run_kernel(self, cell: Any, last: CallRecord, args: Sequence[Any]) -> Any:
        """Runs the kernel for a matching call; None if MindSpore has to execute it."""
        # another thread may reset it in the meantime
        direct = last.kernel.direct
        if direct is None:
            return None
        result = direct(args)
        if result is None and direct.is_outdated:
            self.kernels.pop(id(cell), None)
            last.kernel.direct, last.kernel.calls = None, 0
        return result

    def is_like(self, last: CallRecord, cell: Any, args: Sequence[Any]) -> bool:
        """Whether a call matches the record and the Cell is unchanged."""
        own = cell.__dict__
        if (
            own.get("_phase") != last.phase
            or own.get("arguments_key") != last.key
            or own.get("current_phase") != last.graph
            or last.graph not in (own.get("_compile_cache") or ())
            or len(args) != len(last.arguments)
            or effective_flags(cell, self.scopes) != last.held
            or not self.is_as_mindspore_has_it(cell)
        ):
            return False
        for one, (shape, dtype) in zip(args, last.arguments, strict=True):
            if not self.is_plain(one) or one.dtype is not dtype or one.shape != shape:
                return False
        return True

    def is_as_mindspore_has_it(self, cell: Any) -> bool:
        """Whether MindSpore compiles the Cell in the regular way, for static shapes."""
        return (
            _has_members(cell, self._compiled_by)
            and cell.__dict__.get("_dynamic_shape_inputs", cell) is None
        )

    def is_called_as_mindspore_has_it(self, last: CallRecord, cell: Any) -> bool:
        """Whether no member used by a call is overridden and `construct` is unchanged."""
        return (
            _has_members(cell, self._called_by)
            and getattr(cell.construct, "__func__", None) is last.construct
        )

    def refresh_call_members(self) -> None:
        """Reads the members of MindSpore's Cell class again after they were replaced."""
        self._called_by = _attributes(self._cell, CALL_MEMBERS)

    def is_plain(self, value: Any) -> bool:
        """Whether a value is a plain tensor: not constant, not lazily initialized, without extra
        attributes.
        """
        return type(value) is self._tensor and not (
            value.const_arg or value.has_init or value.__dict__
        )


def _attributes(owner: Any, names: Sequence[str]) -> Mapping[str, Any]:
    return {name: getattr(owner, name) for name in names}


def _has_members(cell: Any, wanted: Mapping[str, Any]) -> bool:
    """Whether the Cell's class has exactly these members and the Cell does not override them."""
    kind, own = type(cell), cell.__dict__
    for name, value in wanted.items():
        if name in own or getattr(kind, name) is not value:
            return False
    return True


def has_known_storage(cell: Any) -> bool:
    """Whether a Cell stores its attributes as in MindSpore 2.10."""
    own, missing = cell.__dict__, object()
    found = (
        (getattr(cell, name, missing), own.get(stored)) for name, stored in STORAGE_NAMES.items()
    )
    return all(value is there for value, there in found)


def make_switch_check() -> Callable[[], bool]:
    """Returns a function that checks whether environment variables keep MindSpore from running
    compiled graphs.
    """
    names = ("MS_JIT", "MS_DEV_PRECOMPILE_ONLY")
    variables: Any = getattr(os.environ, "_data", None)
    if variables is None:
        return lambda: os.environ.get(names[0]) == "0" or bool(os.environ.get(names[1]))
    # Decoding by `os.environ` takes longer than the rest of a call.
    jit, only = map(os.environ.encodekey, names)
    off = os.environ.encodevalue("0")
    return lambda: variables.get(jit) == off or bool(variables.get(only))
