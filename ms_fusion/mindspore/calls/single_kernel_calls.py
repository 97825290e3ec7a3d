"""Fast call path: a Cell with a single-kernel graph calls it before MindSpore's Python code runs.

MindSpore's Python checks take as long as a small kernel, and ten times as long after a kernel that
has evicted the caches. So this path reads few objects, directly from their storage.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ms_fusion.mindspore.calls.call_records import CallRecords, make_switch_check

KNOWN_NAMES = frozenset(
    "context _get_mode GRAPH_MODE os getenv _compiled _construct_sig bind apply_defaults args "
    "kwargs _predict _check_construct_args "
    "_self_check __compile_cell_hook__ compile_and_run _init_flag _is_check_and_refresh "
    "_init_check requires_grad "
    "_dynamic_shape_inputs mixed_precision_type _forward_pre_hook _forward_hook "
    "_backward_pre_hook _backward_hook _shard_fn "
    "_recompute_cell has_bprop _pynative_executor construct _run_construct _complex_call".split()
)
"""Names that `Cell.__call__` of MindSpore 2.10 uses; a version with others is not replaced."""


def is_known(method: Any) -> bool:
    """Whether this `Cell.__call__` is the version that `wrap_call` replaces, and the context stores
    its mode as expected.
    """
    from mindspore import context

    mode = type(context._context()).get_mode
    names = (getattr(getattr(one, "__code__", None), "co_names", ()) for one in (method, mode))
    return [*map(frozenset, names)] == [KNOWN_NAMES, {"_mode"}]


def wrap_call(original: Callable[..., Any], calls: CallRecords) -> Callable[..., Any]:
    """`Cell.__call__`, which runs the kernel directly if a call matches the last one of a
    single-kernel graph.
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
