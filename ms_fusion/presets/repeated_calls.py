"""A call of a Cell that is like its last one goes straight to the graph that ran then, or to the kernel which that graph is.

With each call MindSpore makes a key of the arguments, the graph's name of that, and looks whether there is such a graph: more
than half of what a small net's call takes. Here types and shapes are compared with those of the last call. Whatever else than
plain tensors comes in, and whatever has changed since, goes MindSpore's way.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple
from weakref import WeakKeyDictionary

if TYPE_CHECKING:
    from ms_fusion.presets.direct_calls import Direct

_log = logging.getLogger("ms_fusion")

KNOWN = frozenset(
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
"""What `Cell.compile_and_run` of MindSpore 2.10 refers to: another may do what is not done here."""
DEVELOPERS = ("MS_DEV_JIT_AST_ENABLE_GUARD", "MS_DEV_AUTO_DYNAMIC_SHAPE", "MS_DEV_AUTO_DYNAMIC_RANK")  # fmt: skip
"""Variables with which MindSpore's developers have other graphs chosen."""
COMPILE_ONLY = "MS_DEV_PRECOMPILE_ONLY"
"""Set while MindSpore compiles what it does not run."""
BY_IDENTITY: Any = object.__hash__
OWN_WAYS = ("save", "prefill", "increment")
"""Phases of Cells in which MindSpore does something else."""


ASKED_AT = (8, 24)
"""Calls like the first one after which it is asked whether the graph is a kernel: of a net that is called once or twice nobody
asks, and where another thread's kernels were seen, it is asked again."""


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
        kernel: what the graph is, if it is only that.
    """

    phase: str
    key: str
    graph: str
    arguments: tuple[tuple[Any, Any], ...]
    kernel: Kernel


def is_known(method: Any) -> bool:
    """Whether this `Cell.compile_and_run` is the one that `repeating` stands for."""
    return frozenset(getattr(getattr(method, "__code__", None), "co_names", ())) == KNOWN


def repeating(original: Callable[..., Any]) -> Callable[..., Any]:
    """`Cell.compile_and_run`, which looks for a graph only when the call is another than the last one of this Cell."""
    from mindspore import Tensor, nn

    known = original.__globals__
    executor, default = known["_cell_graph_executor"], known["_DEFAULT_JIT_CONFIG"]
    graphs = executor._graph_executor
    compile, arguments_for = nn.Cell.compile, nn.Cell._get_compile_args
    calls: WeakKeyDictionary[Any, Last] = WeakKeyDictionary()

    @functools.wraps(original)
    def compile_and_run(self: Any, *args: Any, **kwargs: Any) -> Any:
        # a Cell that is equal to others cannot be looked up
        if kwargs or type(self).__hash__ is not BY_IDENTITY:
            return original(self, *args, **kwargs)
        last = calls.get(self)
        if last is not None and is_like(last, self, args):
            kernel, direct = last.kernel, last.kernel.direct
            if direct is not None:
                result = direct(args)
                if result is not None:
                    return result
                if direct.is_outdated:
                    kernel.direct, kernel.calls = None, 0
            elif kernel.calls < ASKED_AT[-1]:
                kernel.calls += 1
                if kernel.calls in ASKED_AT:
                    return asked(last, self, args)
            return run(last, self, args)
        result = original(self, *args)
        now = called(self, args)
        # a process that only compiles gets nothing, and so it goes on
        if now is not None and result is not None:
            calls[self] = now
        return result

    def run(last: Last, cell: Any, args: tuple[Any, ...]) -> Any:
        graphs.set_jit_config(getattr(cell, "jit_config_dict", None) or default)
        return executor._exec_pip(cell, *args, phase=last.graph)

    def asked(last: Last, cell: Any, args: tuple[Any, ...]) -> Any:
        from ms_fusion.presets import direct_calls

        with direct_calls.watched() as seen:
            result = run(last, cell, args)
        try:
            last.kernel.direct = direct_calls.direct(cell, last.graph, args, result, seen)
        except Exception as error:  # noqa: BLE001 the call has been made
            _log.info("whether %s is one kernel cannot be told: %s", type(cell).__name__, error)
        return result

    def is_like(last: Last, cell: Any, args: tuple[Any, ...]) -> bool:
        if (
            cell.phase != last.phase
            or cell.arguments_key != last.key
            or cell.current_phase != last.graph
            or last.graph not in cell.compile_cache
            or len(args) != len(last.arguments)
            or not is_as_mindspore_has_it(cell)
            or os.environ.get(COMPILE_ONLY)
        ):
            return False
        for one, (shape, dtype) in zip(args, last.arguments, strict=True):
            if not is_plain(one) or one.dtype is not dtype or one.shape != shape:
                return False
        return bool(graphs.has_compiled(last.graph))

    def is_as_mindspore_has_it(cell: Any) -> bool:
        return (
            getattr(cell.compile, "__func__", None) is compile
            and cell._dynamic_shape_inputs is None
        )

    def is_plain(value: Any) -> bool:
        # what a tensor may be besides (mutable, of variable length) stands in its attributes
        return type(value) is Tensor and not (value.const_arg or value.has_init or vars(value))

    def called(cell: Any, args: tuple[Any, ...]) -> Last | None:
        """What to remember of a call that went MindSpore's way; None where the next must go there as well."""
        if (
            not is_as_mindspore_has_it(cell)
            or type(cell)._get_compile_args is not arguments_for
            or type(cell).__name__ == "AutoParallel"
            or cell.phase in OWN_WAYS
            or any(os.environ.get(name) for name in DEVELOPERS)
            or not all(map(is_plain, args))
        ):
            return None
        # what the Cell says may be of another call, from a signal's handler or of another thread, while this one ran
        broaden = getattr(cell, "enable_tuple_broaden", False)
        key = str(graphs.generate_arguments_key(cell, args, {}, broaden))
        graphs.clear_compile_arguments_resource()
        graph = f"{cell.phase}.{cell.create_time}.{id(cell)}.{key}"
        handed = graphs.get_args_for_run(cell, args, {}, [False] * len(args), [], False, False)
        if cell.current_phase != graph or [*map(id, handed)] != [*map(id, args)]:
            return None
        arguments = tuple((tuple(one.shape), one.dtype) for one in args)
        return Last(cell.phase, key, graph, arguments, Kernel())

    return compile_and_run
