"""Records of each Cell's last call, for the fast call path."""

from __future__ import annotations

import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, finalize

from ms_fusion.presets.graph_keys import Scopes, held

if TYPE_CHECKING:
    from ms_fusion.presets.direct_kernel_calls import Direct

STORED: Mapping[str, str] = {
    "phase": "_phase",
    "arguments_key": "arguments_key",
    "current_phase": "current_phase",
    "compile_cache": "_compile_cache",
}
"""Attributes of a Cell of MindSpore 2.10, and under which names it stores them."""
COMPILED_BY = ("compile", "phase", "compile_cache")
"""What decides which graph of a Cell runs; a class, or a Cell, that has its own is asked each time."""
CALLED_BY = ("compile_and_run", "_check_construct_args", "_self_check", "_predict")
"""What each call of a Cell goes through besides."""


@dataclass(slots=True)
class Kernel:
    """The kernel that a graph is, as far as is known.

    Attributes:
        direct: it; None where the graph is none, or nobody has asked yet.
        calls: how many were made before that.
    """

    direct: Direct | None = None
    calls: int = 0


class Last(NamedTuple):
    """How a Cell was last called.

    Attributes:
        phase: the Cell's, which says whether it trains.
        key: MindSpore's number for the arguments.
        graph: the name of the graph that ran.
        arguments: shape and dtype of each.
        construct: the function that was compiled.
        held: what held for the Cell.
        kernel: what the graph is, if it is only that.
    """

    phase: str
    key: str
    graph: str
    arguments: tuple[tuple[Any, Any], ...]
    construct: Any
    held: str | tuple[str, bool]
    kernel: Kernel


class LastCalls:
    """Of all Cells of this process.

    Attributes:
        scopes: what holds.
        of: by Cell.
        kernels: by the number of a Cell, as long as that lives, those of which the graph is a kernel.
    """

    def __init__(self, scopes: Scopes) -> None:
        from mindspore import Tensor, nn

        self.scopes, self._tensor, self._cell = scopes, Tensor, nn.Cell
        self._compiled_by = _attributes(nn.Cell, COMPILED_BY)
        self._called_by = _attributes(nn.Cell, CALLED_BY)
        self._watched: set[int] = set()
        self.of: WeakKeyDictionary[Any, Last] = WeakKeyDictionary()
        self.kernels: dict[int, Last] = {}

    def keep(self, cell: Any, last: Last) -> None:
        """Remembers a call, in the place of the one before."""
        self.of[cell] = last
        self.kernels.pop(id(cell), None)

    def found(self, cell: Any, last: Last, direct: Direct) -> None:
        """The graph of a call is a kernel."""
        last.kernel.direct = direct
        self.kernels[id(cell)] = last
        if id(cell) not in self._watched:
            self._watched.add(id(cell))
            finalize(cell, self._gone, id(cell)).atexit = False

    def _gone(self, number: int) -> None:
        self.kernels.pop(number, None)
        self._watched.discard(number)

    def computed(self, cell: Any, last: Last, args: Sequence[Any]) -> Any:
        """What the kernel gives for a call that is like it; None where MindSpore has to make that."""
        # another thread may forget it meanwhile
        direct = last.kernel.direct
        if direct is None:
            return None
        result = direct(args)
        if result is None and direct.is_outdated:
            self.kernels.pop(id(cell), None)
            last.kernel.direct, last.kernel.calls = None, 0
        return result

    def is_like(self, last: Last, cell: Any, args: Sequence[Any]) -> bool:
        """Whether a call is like it, and the Cell is as it was."""
        own = cell.__dict__
        if (
            own.get("_phase") != last.phase
            or own.get("arguments_key") != last.key
            or own.get("current_phase") != last.graph
            or last.graph not in (own.get("_compile_cache") or ())
            or len(args) != len(last.arguments)
            or held(cell, self.scopes) != last.held
            or not self.is_as_mindspore_has_it(cell)
        ):
            return False
        for one, (shape, dtype) in zip(args, last.arguments, strict=True):
            if not self.is_plain(one) or one.dtype is not dtype or one.shape != shape:
                return False
        return True

    def is_as_mindspore_has_it(self, cell: Any) -> bool:
        """Whether MindSpore compiles it as any Cell, for the shapes that come."""
        return (
            _has(cell, self._compiled_by)
            and cell.__dict__.get("_dynamic_shape_inputs", cell) is None
        )

    def is_called_as_mindspore_has_it(self, last: Last, cell: Any) -> bool:
        """Whether nothing else happens in a call of it, and its function still takes what it took."""
        return (
            _has(cell, self._called_by)
            and getattr(cell.construct, "__func__", None) is last.construct
        )

    def replaced(self) -> None:
        """Methods of MindSpore's class of Cells were replaced, by those that are there now."""
        self._called_by = _attributes(self._cell, CALLED_BY)

    def is_plain(self, value: Any) -> bool:
        """Whether it is a tensor and nothing besides (mutable, of variable length): that stands in its attributes."""
        return type(value) is self._tensor and not (
            value.const_arg or value.has_init or value.__dict__
        )


def _attributes(owner: Any, names: Sequence[str]) -> Mapping[str, Any]:
    return {name: getattr(owner, name) for name in names}


def _has(cell: Any, wanted: Mapping[str, Any]) -> bool:
    """Whether class and Cell have those attributes, and none in their place."""
    kind, own = type(cell), cell.__dict__
    for name, value in wanted.items():
        if name in own or getattr(kind, name) is not value:
            return False
    return True


def is_stored(cell: Any) -> bool:
    """Whether a Cell has its attributes where others of MindSpore 2.10 have them."""
    own, missing = cell.__dict__, object()
    found = ((getattr(cell, name, missing), own.get(stored)) for name, stored in STORED.items())
    return all(value is there for value, there in found)


def switched() -> Callable[[], bool]:
    """Asks whether the environment has MindSpore do something else than run a graph that it has compiled."""
    names = ("MS_JIT", "MS_DEV_PRECOMPILE_ONLY")
    variables: Any = getattr(os.environ, "_data", None)
    if variables is None:
        return lambda: os.environ.get(names[0]) == "0" or bool(os.environ.get(names[1]))
    # what Python does to decode them takes longer than the rest of a call
    jit, only = map(os.environ.encodekey, names)
    off = os.environ.encodevalue("0")
    return lambda: variables.get(jit) == off or bool(variables.get(only))
