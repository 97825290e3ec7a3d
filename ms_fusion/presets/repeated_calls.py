"""Fast call path: a call like a Cell's last one goes straight to the compiled graph.

With each call MindSpore makes a key of the arguments, the graph's name of that, and looks whether there is such a graph: more
than half of what a small net's call takes. Here types and shapes are compared with those of the last call. Whatever else than
plain tensors comes in, and whatever has changed since, goes MindSpore's way.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from typing import Any

from ms_fusion.presets import graph_keys
from ms_fusion.presets.call_records import Kernel, Last, LastCalls, is_stored, switched

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
DEVELOPERS = (
    "MS_DEV_JIT_AST_ENABLE_GUARD",
    "MS_DEV_AUTO_DYNAMIC_SHAPE",
    "MS_DEV_AUTO_DYNAMIC_RANK",
)
"""Variables with which MindSpore's developers have other graphs chosen."""
BY_IDENTITY: Any = object.__hash__
OWN_WAYS = ("save", "prefill", "increment")
"""Phases of Cells in which MindSpore does something else."""
ASKED_AT = (8, 24)
"""Calls like the first one after which it is asked whether the graph is a kernel: of a net that is called once or twice nobody
asks, and where another thread's kernels were seen, it is asked again."""


def is_known(method: Any) -> bool:
    """Whether this `Cell.compile_and_run` is the one that `repeating` stands for."""
    return frozenset(getattr(getattr(method, "__code__", None), "co_names", ())) == KNOWN


def repeating(original: Callable[..., Any], calls: LastCalls) -> Callable[..., Any]:
    """`Cell.compile_and_run`, which looks for a graph only when the call is another than the last one of this Cell."""
    from mindspore import nn

    known = original.__globals__
    executor, default = known["_cell_graph_executor"], known["_DEFAULT_JIT_CONFIG"]
    graphs = executor._graph_executor
    arguments_for, is_switched = nn.Cell._get_compile_args, switched()

    @functools.wraps(original)
    def compile_and_run(self: Any, *args: Any, **kwargs: Any) -> Any:
        # a Cell that is equal to others cannot be looked up
        if kwargs or type(self).__hash__ is not BY_IDENTITY:
            return original(self, *args, **kwargs)
        last = calls.of.get(self)
        if last is not None and can_run(last, self, args):
            result = calls.computed(self, last, args)
            if result is not None:
                return result
            kernel = last.kernel
            if kernel.direct is None and kernel.calls < ASKED_AT[-1]:
                kernel.calls += 1
                if kernel.calls in ASKED_AT:
                    return asked(last, self, args)
            return run(last, self, args)
        result = original(self, *args)
        now = called(self, args)
        # a process that only compiles gets nothing, and so it goes on
        if now is not None and result is not None:
            calls.keep(self, now)
        return result

    def can_run(last: Last, cell: Any, args: tuple[Any, ...]) -> bool:
        return (
            calls.is_like(last, cell, args)
            and not is_switched()
            and bool(graphs.has_compiled(last.graph))
        )

    def run(last: Last, cell: Any, args: tuple[Any, ...]) -> Any:
        graphs.set_jit_config(getattr(cell, "jit_config_dict", None) or default)
        return executor._exec_pip(cell, *args, phase=last.graph)

    def asked(last: Last, cell: Any, args: tuple[Any, ...]) -> Any:
        from ms_fusion.presets import direct_kernel_calls

        with direct_kernel_calls.watched() as seen:
            result = run(last, cell, args)
        try:
            direct = direct_kernel_calls.direct(cell, last.graph, args, result, seen)
        except Exception as error:  # noqa: BLE001 the call has been made
            _log.info("whether %s is one kernel cannot be told: %s", type(cell).__name__, error)
        else:
            if direct is not None:
                calls.found(cell, last, direct)
        return result

    def called(cell: Any, args: tuple[Any, ...]) -> Last | None:
        """What to remember of a call that went MindSpore's way; None where the next must go there as well."""
        if (
            not calls.is_as_mindspore_has_it(cell)
            or not is_stored(cell)
            or type(cell)._get_compile_args is not arguments_for
            or type(cell).__name__ == "AutoParallel"
            or cell.phase in OWN_WAYS
            or any(os.environ.get(name) for name in DEVELOPERS)
            or not all(map(calls.is_plain, args))
        ):
            return None
        now = graph_keys.held(cell, calls.scopes)
        # what the Cell says may be of another call, from a signal's handler or of another thread, while this one ran
        broaden = getattr(cell, "enable_tuple_broaden", False)
        key = str(graphs.generate_arguments_key(cell, args, {}, broaden))
        graphs.clear_compile_arguments_resource()
        graph = f"{cell.phase}.{cell.create_time}.{id(cell)}.{key}"
        handed = graphs.get_args_for_run(cell, args, {}, [False] * len(args), [], False, False)
        if cell.current_phase != graph or [*map(id, handed)] != [*map(id, args)]:
            return None
        arguments = tuple((tuple(one.shape), one.dtype) for one in args)
        construct = getattr(cell.construct, "__func__", None)
        return Last(cell.phase, key, graph, arguments, construct, now, Kernel())

    return compile_and_run
