"""Defines the search space: option sets, each as its difference from the default."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import msgspec

from tbe_impl import environment
from tbe_impl.codegen.program import storable_results
from tbe_impl.dsl.tensor import stages_of, static_shape
from tbe_impl.kernel import Kernel
from tbe_impl.tuning_store import UNREACHABLE_THRESHOLD, Choice

STAGES_MAX = 12
SMALL_STAGE_RATIO = 8
"""A stage is a candidate for storing if the largest output is at least this many times larger."""

KNOBS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("together", (8, 4, 2, 1)),
    ("portions", (16,)),
    ("accumulators", (1, 8, 2)),
    ("unroll", (2, 4)),
    ("keep_rows", (False,)),
    ("prefetch", (False,)),
    ("stagger", (False,)),
    ("stream_bytes", (UNREACHABLE_THRESHOLD, 0)),
    ("vector_bits", (256,)),
)
"""Fields of `Choice` and their alternative values; the most frequent gains are first.

`stored` and the thread options are handled separately."""


def single_changes(kernel: Kernel) -> list[Choice]:
    """Returns the choices that differ from the default in one field."""
    first, *rest = [
        [Choice(**{name: value}) for value in values] for name, values in _knobs(kernel)
    ]
    stored = [Choice(stored=(number,)) for number in find_stages_to_store(kernel)]
    return [*first, *stored[:1], *(choice for choices in rest for choice in choices), *stored[1:]]


def _knobs(kernel: Kernel) -> list[tuple[str, tuple[Any, ...]]]:
    """Returns the `KNOBS` that may affect a kernel; `portions` needs several threads."""
    arguments = (*kernel.inputs, *kernel.outputs)
    elements = sum(prod(static_shape(item.tensor) or (0,)) for item in arguments)
    shared = environment.threads() > 1 and elements >= kernel.options.parallel_elements
    idle = {"portions"} if not shared else set()
    return [item for item in KNOBS if item[0] not in idle]


def neighbours(kernel: Kernel, choice: Choice) -> list[Choice]:
    """Returns the choices that differ from `choice` in one field or in one more stored stage."""
    found = [
        msgspec.structs.replace(choice, **{name: value})
        for name, values in _knobs(kernel)
        for value in (*values, getattr(Choice(), name))
    ]
    return [*found, *(union([choice, Choice(stored=(n,))]) for n in find_stages_to_store(kernel))]


def thread_variants(choice: Choice) -> list[Choice]:
    """Returns variants with one thread, with all threads at every size, and with fewer threads."""
    most = environment.threads()
    counts = [most]
    while counts[-1] > 3:
        counts.append(counts[-1] // 2)
    changes: list[dict[str, int]] = [
        {"parallel_elements": UNREACHABLE_THRESHOLD},
        {"parallel_elements": 0},
    ]
    changes += [{"threads": count} for count in counts[1:]]
    return [msgspec.structs.replace(choice, **change) for change in changes if most > 1]


def union(choices: Sequence[Choice]) -> Choice:
    """Merges choices; for each field the first change wins, and stored stages are united."""
    default = msgspec.structs.asdict(Choice())
    found: dict[str, Any] = {}
    for choice in choices:
        for name, value in msgspec.structs.asdict(choice).items():
            if name == "stored":
                found[name] = tuple(sorted({*found.get(name, ()), *value}))
            elif value != default[name]:
                found.setdefault(name, value)
    return Choice(**found)


def find_stages_to_store(kernel: Kernel) -> list[int]:
    """Returns indices of stages much smaller than the largest output, last stage first."""
    outputs = kernel.computed
    if any(op.kind == "library" for op in stages_of(outputs)):
        return []  # Stage indices count within one program; this kernel has several programs.
    sizes = [prod(static_shape(item) or (0,)) for item in outputs]
    found = storable_results(outputs, [item.tensor for item in kernel.inputs])
    small = [
        n
        for n, item in enumerate(found)
        if 0 < prod(static_shape(item) or (0,)) * SMALL_STAGE_RATIO <= max(sizes)
    ]
    return small[::-1][:STAGES_MAX]
