"""Fast call path: a repeated call of a Cell goes directly to the compiled graph.

MindSpore computes a key of the arguments and looks up the graph at each call: more than half of a
small net's call time. Here shapes and dtypes are compared with those of the last call. Arguments
other than plain tensors, and any change since then, go through MindSpore.
"""

from __future__ import annotations

import functools
import logging
import os
from collections.abc import Callable
from typing import Any

from ms_fusion.mindspore.calls import graph_keys
from ms_fusion.mindspore.calls.call_records import (
    CallRecord,
    CallRecords,
    SingleKernel,
    has_known_storage,
    make_switch_check,
)

_log = logging.getLogger("ms_fusion")

KNOWN_NAMES = frozenset(
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
"""Names that `Cell.compile_and_run` of MindSpore 2.10 uses; a version with others is not
replaced.
"""
DEVELOPER_VARIABLES = (
    "MS_DEV_JIT_AST_ENABLE_GUARD",
    "MS_DEV_AUTO_DYNAMIC_SHAPE",
    "MS_DEV_AUTO_DYNAMIC_RANK",
)
"""Environment variables with which MindSpore selects other graphs."""
IDENTITY_HASH: Any = object.__hash__
SPECIAL_PHASES = ("save", "prefill", "increment")
"""Phases of Cells with special handling in MindSpore."""
PROBE_CALLS = (8, 24)
"""Numbers of repeated calls at which the graph is probed for a single kernel.

A net that is called once or twice is not probed. The second probe is for nets whose first one saw
launches of other threads.
"""


def is_known(method: Any) -> bool:
    """Whether this `Cell.compile_and_run` is the version that `wrap_compile_and_run` replaces."""
    return frozenset(getattr(getattr(method, "__code__", None), "co_names", ())) == KNOWN_NAMES


def wrap_compile_and_run(original: Callable[..., Any], calls: CallRecords) -> Callable[..., Any]:
    """`Cell.compile_and_run`, with a graph lookup only when the call differs from the Cell's last
    one.
    """
    from mindspore import nn

    known = original.__globals__
    executor, default = known["_cell_graph_executor"], known["_DEFAULT_JIT_CONFIG"]
    graphs = executor._graph_executor
    arguments_for, is_switched = nn.Cell._get_compile_args, make_switch_check()

    @functools.wraps(original)
    def compile_and_run(self: Any, *args: Any, **kwargs: Any) -> Any:
        # a Cell with an equality of its own cannot be a dictionary key
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
                    return asked(last, self, args)
            return run(last, self, args)
        result = original(self, *args)
        now = record_call(self, args)
        # a process that only compiles gets None and stays on MindSpore's path
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

    def asked(last: CallRecord, cell: Any, args: tuple[Any, ...]) -> Any:
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
        """The record of a call through MindSpore; None if the next call must go there as well."""
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
        now = graph_keys.effective_flags(cell, calls.scopes)
        # The Cell's attributes may belong to a call from a signal handler or another thread during
        # this one.
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
