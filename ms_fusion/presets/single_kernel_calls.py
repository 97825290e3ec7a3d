"""Fast call path: a Cell whose graph is one kernel calls it before MindSpore's Python code runs.

What MindSpore's Python looks at in a call takes as long as a small kernel does; after a kernel that moved more bytes than the
caches hold, ten times that, since each line of it has to come from memory again. So little is looked at here, and that where it is
stored.
"""

from __future__ import annotations

import functools
from collections.abc import Callable
from typing import Any

from ms_fusion.presets.call_records import LastCalls, switched

KNOWN = frozenset(
    "context _get_mode GRAPH_MODE os getenv _compiled _construct_sig bind apply_defaults args kwargs _predict _check_construct_args "
    "_self_check __compile_cell_hook__ compile_and_run _init_flag _is_check_and_refresh _init_check requires_grad "
    "_dynamic_shape_inputs mixed_precision_type _forward_pre_hook _forward_hook _backward_pre_hook _backward_hook _shard_fn "
    "_recompute_cell has_bprop _pynative_executor construct _run_construct _complex_call".split()
)
"""What `Cell.__call__` of MindSpore 2.10 refers to: another may do what is not done here."""


def is_known(method: Any) -> bool:
    """Whether this `Cell.__call__` is the one that `calling` stands for, and the mode is where it was then."""
    from mindspore import context

    mode = type(context._context()).get_mode
    names = (getattr(getattr(one, "__code__", None), "co_names", ()) for one in (method, mode))
    return [*map(frozenset, names)] == [KNOWN, {"_mode"}]


def calling(original: Callable[..., Any], calls: LastCalls) -> Callable[..., Any]:
    """`Cell.__call__`, which makes a call like the last one itself where the graph is a kernel."""
    from mindspore import context

    state, graph_mode = vars(context._context()), context.GRAPH_MODE
    kernels, is_switched = calls.kernels, switched()

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
            result = calls.computed(self, last, args)
            if result is not None:
                return result
        return original(self, *args, **kwargs)

    return call
