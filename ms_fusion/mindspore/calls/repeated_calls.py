"""Fast call path: a repeated call of a Cell directly runs the graph or kernel of the last call.

A call is called repeated under two conditions: the arguments have the same shapes and dtypes as in
the Cell's last call, and neither the Cell nor the flags have changed.

At each call MindSpore computes a key from the arguments and looks up the compiled graph. The lookup
takes more than half of the call time of a small net. Instead, this module compares shapes and
dtypes with those of the Cell's last call. If anything has changed since the last call, or if an
argument is not a plain tensor, MindSpore handles the call.

`CallRecords` holds a record of the last call of each Cell. `wrap_compile_and_run` skips the graph
lookup. If the graph has a single kernel, `wrap_call` skips all of MindSpore's Python code.
MindSpore's checks take as long as a small kernel. The checks take ten times as long if another
kernel has evicted their data from the processor's caches. So `wrap_call` reads as few attributes as
possible, directly from the ``__dict__`` of the Cell.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary, finalize

from ms_fusion.mindspore.calls.graph_keys import Scopes, effective_flags

if TYPE_CHECKING:
    from ms_fusion.mindspore.calls.direct_kernel_calls import DirectKernel

_log = logging.getLogger("ms_fusion")

STORAGE_NAMES: Mapping[str, str] = {
    "phase": "_phase",
    "arguments_key": "arguments_key",
    "current_phase": "current_phase",
    "compile_cache": "_compile_cache",
}
"""Maps an attribute of a Cell in MindSpore 2.10 to its key in the Cell's ``__dict__``."""
COMPILE_MEMBERS = ("compile", "phase", "compile_cache")
"""Members of the class Cell that select the graph of a call.

If a class or a Cell overrides one of these members, the fast path is not used.
"""
CALL_MEMBERS = ("compile_and_run", "_check_construct_args", "_self_check", "_predict")
"""Members of the class Cell that each call uses in addition to `COMPILE_MEMBERS`."""


@dataclass(slots=True)
class SingleKernel:
    """State of the search for a single kernel that is equivalent to a compiled graph.

    Attributes:
        direct: the equivalent kernel, or None if no equivalent kernel has been found so far.
        calls: number of repeated calls of the graph so far. The counter stops at the last number in
            `PROBE_CALLS`, since later calls do not search for a kernel.
    """

    direct: DirectKernel | None = None
    calls: int = 0


class CallRecord(NamedTuple):
    """A record of the last call of a Cell.

    Attributes:
        phase: the Cell's `phase`, for example ``train`` or ``predict``.
        key: the key that MindSpore computed from the arguments.
        graph: the name of the executed graph.
        arguments: (shape, dtype) of each argument.
        construct: the function behind the method `construct` of the Cell.
        held: the fusion flags that applied to the Cell (`effective_flags`).
        kernel: the state of the search for a single kernel that is equivalent to the graph.
    """

    phase: str
    key: str
    graph: str
    arguments: tuple[tuple[Any, Any], ...]
    construct: Any
    held: str | tuple[str, bool]
    kernel: SingleKernel


class CallRecords:
    """The records of the last calls of all Cells in this process.

    Attributes:
        scopes: object that returns the flags in force.
        of: maps a Cell to the record of its last call.
        kernels: maps the ``id`` of a live Cell to the same record. The dict contains the Cells for
            whose graph an equivalent single kernel was found.
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
        """Stores `last` as the record of the last call of `cell`."""
        self.of[cell] = last
        self.kernels.pop(id(cell), None)

    def record_kernel(self, cell: Any, last: CallRecord, direct: DirectKernel) -> None:
        """Records that the single kernel `direct` is equivalent to a Cell's graph.

        `last` is the record of the Cell's last call; that call executed the graph.
        """
        last.kernel.direct = direct
        self.kernels[id(cell)] = last
        if id(cell) not in self._watched:
            self._watched.add(id(cell))
            finalize(cell, self._forget_cell, id(cell)).atexit = False

    def _forget_cell(self, number: int) -> None:
        self.kernels.pop(number, None)
        self._watched.discard(number)

    def run_kernel(self, cell: Any, last: CallRecord, args: Sequence[Any]) -> Any:
        """Runs the single kernel that is equivalent to a Cell's graph; returns the results.

        `last` is the record of the Cell's last call; that call executed the graph. Returns None if
        no kernel is equivalent, or if the equivalent kernel cannot be used. MindSpore then has to
        execute the call. Precondition: `is_like` returns True for the new call.
        """
        # Another thread may reset the attribute in the meantime.
        direct = last.kernel.direct
        if direct is None:
            return None
        result = direct(args)
        if result is None and direct.is_outdated:
            self.kernels.pop(id(cell), None)
            last.kernel.direct, last.kernel.calls = None, 0
        return result

    def is_like(self, last: CallRecord, cell: Any, args: Sequence[Any]) -> bool:
        """Returns whether a call of `cell` with `args` uses the same graph as the last call.

        `last` is the record of the last call. The graph is the same if the shapes and dtypes of the
        arguments, the flags and all relevant attributes of the Cell are the same.
        """
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
        """Returns whether MindSpore's own methods compile the Cell, with static input shapes.

        `COMPILE_MEMBERS` lists these methods.
        """
        return (
            _has_members(cell, self._compiled_by)
            and cell.__dict__.get("_dynamic_shape_inputs", cell) is None
        )

    def is_called_as_mindspore_has_it(self, last: CallRecord, cell: Any) -> bool:
        """Returns whether MindSpore's own methods call the Cell, and `construct` is unchanged.

        `CALL_MEMBERS` lists these methods. The method `construct` is compared with the method in
        the record `last`.
        """
        return (
            _has_members(cell, self._called_by)
            and getattr(cell.construct, "__func__", None) is last.construct
        )

    def refresh_call_members(self) -> None:
        """Reads the `CALL_MEMBERS` of class Cell again.

        The fast call path calls this method after it has replaced some of these members.
        """
        self._called_by = _attributes(self._cell, CALL_MEMBERS)

    def is_plain(self, value: Any) -> bool:
        """Returns whether a value is a plain tensor.

        A plain tensor is not a constant, is not lazily initialized, and has no extra attributes.
        """
        return type(value) is self._tensor and not (
            value.const_arg or value.has_init or value.__dict__
        )


def _attributes(owner: Any, names: Sequence[str]) -> Mapping[str, Any]:
    return {name: getattr(owner, name) for name in names}


def _has_members(cell: Any, wanted: Mapping[str, Any]) -> bool:
    """Returns whether all members in `wanted` are MindSpore's own in a Cell and its class.

    `wanted` maps the name of each member to the value of this member in MindSpore's class Cell.
    """
    kind, own = type(cell), cell.__dict__
    for name, value in wanted.items():
        if name in own or getattr(kind, name) is not value:
            return False
    return True


def has_known_storage(cell: Any) -> bool:
    """Returns whether a Cell stores its attributes under the names that MindSpore 2.10 uses.

    `STORAGE_NAMES` lists these names.
    """
    own, missing = cell.__dict__, object()
    found = (
        (getattr(cell, name, missing), own.get(stored)) for name, stored in STORAGE_NAMES.items()
    )
    return all(value is there for value, there in found)


def make_switch_check() -> Callable[[], bool]:
    """Returns a function that checks whether environment variables disable compiled graphs.

    The returned function returns True if the variable ``MS_JIT`` is 0 or the variable
    ``MS_DEV_PRECOMPILE_ONLY`` is set.
    """
    names = ("MS_JIT", "MS_DEV_PRECOMPILE_ONLY")
    variables: Any = getattr(os.environ, "_data", None)
    if variables is None:
        return lambda: os.environ.get(names[0]) == "0" or bool(os.environ.get(names[1]))
    # Decoding by `os.environ` takes longer than the rest of a call.
    jit, only = map(os.environ.encodekey, names)
    off = os.environ.encodevalue("0")
    return lambda: variables.get(jit) == off or bool(variables.get(only))


COMPILE_AND_RUN_NAMES = frozenset(
    (
        "compile",
        "_has_mutable_args_list",
        "list",
        "sequence_modified",
        "_cell_graph_executor",
        "_graph_executor",
        "get_args_for_run",
        "getattr",
        "_DEFAULT_JIT_CONFIG",
        "set_jit_config",
        "phase",
    )
)
"""Names that the code of `Cell.compile_and_run` uses in MindSpore 2.10.

A method whose code uses other names is not replaced.
"""
DEVELOPER_VARIABLES = (
    "MS_DEV_JIT_AST_ENABLE_GUARD",
    "MS_DEV_AUTO_DYNAMIC_SHAPE",
    "MS_DEV_AUTO_DYNAMIC_RANK",
)
"""Environment variables that change how MindSpore selects the graph of a call."""
IDENTITY_HASH: Any = object.__hash__
SPECIAL_PHASES = ("save", "prefill", "increment")
"""Values of `Cell.phase` that MindSpore handles specially."""
PROBE_CALLS = (8, 24)
"""Numbers (from 1) of the repeated calls at which we check whether the graph is one kernel.

A net that is called only a few times is not checked. The second check is needed if other threads
launched kernels during the first check.
"""


def is_known_compile_and_run(method: Any) -> bool:
    """Returns whether `method` is the `Cell.compile_and_run` of MindSpore 2.10.

    The fast call path replaces the method only in this version.
    """
    return (
        frozenset(getattr(getattr(method, "__code__", None), "co_names", ()))
        == COMPILE_AND_RUN_NAMES
    )


def wrap_compile_and_run(original: Callable[..., Any], calls: CallRecords) -> Callable[..., Any]:
    """Wraps `Cell.compile_and_run`: a repeated call of a Cell skips MindSpore's graph lookup."""
    from mindspore import nn

    known = original.__globals__
    executor, default = known["_cell_graph_executor"], known["_DEFAULT_JIT_CONFIG"]
    graphs = executor._graph_executor
    arguments_for, is_switched = nn.Cell._get_compile_args, make_switch_check()

    @functools.wraps(original)
    def compile_and_run(self: Any, *args: Any, **kwargs: Any) -> Any:
        # A Cell with its own hash or equality cannot be a key of `calls.of`.
        if kwargs or type(self).__hash__ is not IDENTITY_HASH:
            return original(self, *args, **kwargs)
        last = calls.of.get(self)
        if last is not None and can_run(last, self, args):
            result = calls.run_kernel(self, last, args)
            if result is not None:
                return result
            kernel = last.kernel
            if kernel.direct is None and kernel.calls < PROBE_CALLS[-1]:
                kernel.calls += 1
                if kernel.calls in PROBE_CALLS:
                    return run_and_probe(last, self, args)
            return run(last, self, args)
        result = original(self, *args)
        now = record_call(self, args)
        # A process that only compiles gets None as the result; its calls are not recorded.
        if now is not None and result is not None:
            calls.keep(self, now)
        return result

    def can_run(last: CallRecord, cell: Any, args: tuple[Any, ...]) -> bool:
        return (
            calls.is_like(last, cell, args)
            and not is_switched()
            and bool(graphs.has_compiled(last.graph))
        )

    def run(last: CallRecord, cell: Any, args: tuple[Any, ...]) -> Any:
        graphs.set_jit_config(getattr(cell, "jit_config_dict", None) or default)
        return executor._exec_pip(cell, *args, phase=last.graph)

    def run_and_probe(last: CallRecord, cell: Any, args: tuple[Any, ...]) -> Any:
        from ms_fusion.mindspore.calls import direct_kernel_calls

        with direct_kernel_calls.watch_launches() as seen:
            result = run(last, cell, args)
        try:
            direct = direct_kernel_calls.find_direct_kernel(cell, last.graph, args, result, seen)
        except Exception as error:  # noqa: BLE001 the call has been made
            _log.info(
                "cannot determine whether %s is a single kernel: %s", type(cell).__name__, error
            )
        else:
            if direct is not None:
                calls.record_kernel(cell, last, direct)
        return result

    def record_call(cell: Any, args: tuple[Any, ...]) -> CallRecord | None:
        """Returns a record of a call that MindSpore has just executed.

        Returns None if the next call cannot skip the graph lookup.
        """
        if (
            not calls.is_as_mindspore_has_it(cell)
            or not has_known_storage(cell)
            or type(cell)._get_compile_args is not arguments_for
            or type(cell).__name__ == "AutoParallel"
            or cell.phase in SPECIAL_PHASES
            or any(os.environ.get(name) for name in DEVELOPER_VARIABLES)
            or not all(map(calls.is_plain, args))
        ):
            return None
        now = effective_flags(cell, calls.scopes)
        # A signal handler or another thread may have called the Cell during this call and changed
        # its attributes. So the key and the graph's name are computed again and compared.
        broaden = getattr(cell, "enable_tuple_broaden", False)
        key = str(graphs.generate_arguments_key(cell, args, {}, broaden))
        graphs.clear_compile_arguments_resource()
        graph = f"{cell.phase}.{cell.create_time}.{id(cell)}.{key}"
        handed = graphs.get_args_for_run(cell, args, {}, [False] * len(args), [], False, False)
        if cell.current_phase != graph or [*map(id, handed)] != [*map(id, args)]:
            return None
        arguments = tuple((tuple(one.shape), one.dtype) for one in args)
        construct = getattr(cell.construct, "__func__", None)
        return CallRecord(cell.phase, key, graph, arguments, construct, now, SingleKernel())

    return compile_and_run


CALL_NAMES = frozenset(
    "context _get_mode GRAPH_MODE os getenv _compiled _construct_sig bind apply_defaults args "
    "kwargs _predict _check_construct_args "
    "_self_check __compile_cell_hook__ compile_and_run _init_flag _is_check_and_refresh "
    "_init_check requires_grad "
    "_dynamic_shape_inputs mixed_precision_type _forward_pre_hook _forward_hook "
    "_backward_pre_hook _backward_hook _shard_fn "
    "_recompute_cell has_bprop _pynative_executor construct _run_construct _complex_call".split()
)
"""Names that the code of `Cell.__call__` uses in MindSpore 2.10.

A method whose code uses other names is not replaced.
"""


def is_known_call(method: Any) -> bool:
    """Returns whether `method` is the `Cell.__call__` of MindSpore 2.10, so that we can replace it.

    `wrap_call` reads the attribute `_mode` of MindSpore's context directly, in place of a call of
    the context's method `get_mode`. So the result is also False if `get_mode` does more than return
    this attribute.
    """
    from mindspore import context

    mode = type(context._context()).get_mode
    names = (getattr(getattr(one, "__code__", None), "co_names", ()) for one in (method, mode))
    return [*map(frozenset, names)] == [CALL_NAMES, {"_mode"}]


def wrap_call(original: Callable[..., Any], calls: CallRecords) -> Callable[..., Any]:
    """Wraps `Cell.__call__`: a repeated call runs the only kernel of the Cell's graph directly.

    Other calls, and calls of a graph with several kernels, go to the original method.
    """
    from mindspore import context

    state, graph_mode = vars(context._context()), context.GRAPH_MODE
    kernels, is_switched = calls.kernels, make_switch_check()

    @functools.wraps(original)
    def call(self: Any, *args: Any, **kwargs: Any) -> Any:
        last = kernels.get(id(self))
        if (
            last is not None
            and not kwargs
            and state["_mode"] == graph_mode
            and not is_switched()
            and calls.is_like(last, self, args)
            and calls.is_called_as_mindspore_has_it(last, self)
        ):
            result = calls.run_kernel(self, last, args)
            if result is not None:
                return result
        return original(self, *args, **kwargs)

    return call
