"""What is tried: ways to make a kernel, each as what differs from the default."""

from __future__ import annotations

from collections.abc import Sequence
from math import prod
from typing import Any

import msgspec

from tbe_impl import environment
from tbe_impl.codegen.program import storable
from tbe_impl.dsl.tensor import stages_of, static_shape
from tbe_impl.kernel import Kernel
from tbe_impl.tuning_store import NEVER, Choice

STAGES_MAX = 12
SMALL = 8
"""What is so many times smaller than the largest output may be worth storing first."""

KNOBS: tuple[tuple[str, tuple[Any, ...]], ...] = (
    ("together", (8, 4, 2, 1)),
    ("portions", (16,)),
    ("accumulators", (1, 8, 2)),
    ("unroll", (2, 4)),
    ("keep_rows", (False,)),
    ("prefetch", (False,)),
    ("stagger", (False,)),
    ("stream_bytes", (NEVER, 0)),
    ("vector_bits", (256,)),
)
"""Fields of `Choice` and what they are beside the default, what gains most often first; `stored` and what decides about
threads have their own ways."""


def single(kernel: Kernel) -> list[Choice]:
    """One thing changed."""
    first, *rest = [
        [Choice(**{name: value}) for value in values] for name, values in _knobs(kernel)
    ]
    stored = [Choice(stored=(number,)) for number in worth_storing(kernel)]
    return [*first, *stored[:1], *(choice for choices in rest for choice in choices), *stored[1:]]


def _knobs(kernel: Kernel) -> list[tuple[str, tuple[Any, ...]]]:
    """Those that may change this kernel: portions where threads share it."""
    arguments = (*kernel.inputs, *kernel.outputs)
    elements = sum(prod(static_shape(item.tensor) or (0,)) for item in arguments)
    shared = environment.threads() > 1 and elements >= kernel.options.parallel_elements
    idle = {"portions"} if not shared else set()
    return [item for item in KNOBS if item[0] not in idle]


def near(kernel: Kernel, choice: Choice) -> list[Choice]:
    """One thing more than in `choice` changed, or changed back."""
    found = [
        msgspec.structs.replace(choice, **{name: value})
        for name, values in _knobs(kernel)
        for value in (*values, getattr(Choice(), name))
    ]
    return [*found, *(union([choice, Choice(stored=(n,))]) for n in worth_storing(kernel))]


def shared_otherwise(choice: Choice) -> list[Choice]:
    """The same by one thread, by all of them however small it is, and by fewer of them."""
    most = environment.threads()
    counts = [most]
    while counts[-1] > 3:
        counts.append(counts[-1] // 2)
    changes: list[dict[str, int]] = [{"parallel_elements": NEVER}, {"parallel_elements": 0}]
    changes += [{"threads": count} for count in counts[1:]]
    return [msgspec.structs.replace(choice, **change) for change in changes if most > 1]


def union(choices: Sequence[Choice]) -> Choice:
    """What each of them changes; the first has the last word, and what any of them stores is stored."""
    default = msgspec.structs.asdict(Choice())
    found: dict[str, Any] = {}
    for choice in choices:
        for name, value in msgspec.structs.asdict(choice).items():
            if name == "stored":
                found[name] = tuple(sorted({*found.get(name, ()), *value}))
            elif value != default[name]:
                found.setdefault(name, value)
    return Choice(**found)


def worth_storing(kernel: Kernel) -> list[int]:
    """Numbers of stages that are much smaller than the largest output, those that most depends on first."""
    outputs = kernel.computed
    if any(op.kind == "library" for op in stages_of(outputs)):
        return []  # the numbers count within one program, and there are several
    sizes = [prod(static_shape(item) or (0,)) for item in outputs]
    found = storable(outputs, [item.tensor for item in kernel.inputs])
    small = [
        n
        for n, item in enumerate(found)
        if 0 < prod(static_shape(item) or (0,)) * SMALL <= max(sizes)
    ]
    return small[::-1][:STAGES_MAX]
