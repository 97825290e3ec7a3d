"""Chooses a kernel's options: the tuned options, or else the options of the cheapest plan.

A plan is a partition into loop nests. If the back end finds no plan, each operator gets its own
loop nest.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ms_fusion.graph import Graph
from ms_fusion.lowering import plan_cache
from ms_fusion.lowering.composite_lowering import LoweredGroup, known_size
from ms_fusion.lowering.nest_partition import (
    full_fission_values,
    plan_nests,
    stored_value_numbers,
    value_numbers,
)
from tbe_impl import tuning_store
from tbe_impl.arguments import Argument
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.errors import CompileError
from tbe_impl.kernel import Kernel


def default_kernel(group: LoweredGroup, inputs: Sequence[str]) -> Kernel:
    """Returns the kernel of a group (fused subgraph) with the back end's default options.

    Tuning starts from this kernel.

    Args:
        inputs: names of the kernel's inputs.
    """
    results = [f"result_{number}" for number in range(len(group.results))]
    return Kernel(
        group.name,
        "cpu",
        tuple(map(argument, group.inputs, inputs)),
        tuple(map(argument, group.results, results)),
    )


def argument(tensor: Tensor, name: str) -> Argument:
    """Returns a kernel argument for a tensor of static shape."""
    return Argument(tensor, tuple(map(known_size, tensor.shape)), name)


def choose_options(kernel: Kernel, group: LoweredGroup, graph: Graph) -> Kernel:
    """Returns a copy of `kernel` with tuned options, or else with the options of the cheapest plan.

    If the back end finds no plan, each operator gets a loop nest of its own. `kernel` must be a
    result of `default_kernel`.
    """
    found = tuning_store.apply_tuning(kernel)
    if found.tuning is not None:
        return found
    return _set_stored(
        kernel, plan_cache.load_or_make_plan(kernel, lambda: _make_plan(group, graph))
    )


def _make_plan(group: LoweredGroup, graph: Graph) -> plan_cache.StoredValues:
    try:
        return stored_value_numbers(plan_nests(group, graph), group)
    except CompileError:
        return value_numbers(full_fission_values(group, graph), group)


def split_per_operator(kernel: Kernel, group: LoweredGroup, graph: Graph) -> Kernel:
    """Returns a copy of `kernel` (from `default_kernel`) with one small loop nest per operator."""
    return store_values(kernel, group, full_fission_values(group, graph))


def store_values(kernel: Kernel, group: LoweredGroup, names: Sequence[str]) -> Kernel:
    """Returns a copy of `kernel` (from `default_kernel`) that stores the named values in memory."""
    return _set_stored(kernel, value_numbers(names, group))


def _set_stored(kernel: Kernel, places: plan_cache.StoredValues) -> Kernel:
    return replace(kernel, options=replace(kernel.options, stored=places), threads=0, tuning=None)
