"""Schedule and build of optimisers of 2020: one stage writes over inputs and to outputs."""

import collections

from te import platform as cce_params
from te import tvm
from te.platform.cce_build import build_config


def flat(items):
    """The list itself, or a list of one object."""
    return list(items) if isinstance(items, collections.Iterable) else [items]


def build(inputs, outs, reused, kernel_name):
    """Builds a kernel whose first outputs are written over the inputs `reused`."""
    stages = []
    waiting = flat(outs[0].op.input_tensors)
    readers = {}
    while waiting:
        tensor = waiting.pop()
        if tensor in stages or tensor in inputs:
            continue
        stages.append(tensor)
        waiting += flat(tensor.op.input_tensors)
    for stage in [outs[0], *stages]:
        for source in stage.op.input_tensors:
            if source in inputs:
                readers.setdefault(source, set()).add(stage)
    schedule = tvm.create_schedule([out.op for out in outs])
    copies = {
        source: schedule.cache_read(source, cce_params.scope_ubuf, users)
        for source, users in readers.items()
    }
    for stage in stages:
        schedule[stage].set_scope(cce_params.scope_ubuf)
    outer, inner = schedule[outs[0]].split(outs[0].op.axis[0], factor=16)
    for tensor in [*copies.values(), *stages]:
        schedule[tensor].compute_at(schedule[outs[0]], outer)
    schedule[outs[0]].emit_insn(inner, "group_gm_to_ub")
    for index, source in enumerate(reused):
        schedule[copies[source]].pragma(copies[source].op.axis[0], "reuse_input", index)
        schedule[outs[index]].pragma(inner, "replace_output", index)
    with build_config:
        tvm.build(schedule, [*inputs, *outs], "cce", name=kernel_name)
