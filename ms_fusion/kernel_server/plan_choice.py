"""Chooses how a kernel is made: tuned options, else the cheapest plan, else one nest per operator."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import replace

from ms_fusion.graph import Graph
from ms_fusion.kernel_server import plan_cache
from ms_fusion.kernel_server.composite_lowering import Group, known_size
from ms_fusion.kernel_server.nest_partition import between, each_apart, numbers, planned
from tbe_impl import tuning_store
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.errors import CompileError
from tbe_impl.kernel import Argument, Kernel


def plain(group: Group, inputs: Sequence[str]) -> Kernel:
    """The kernel of a group under the options of the back end; what is tuned.

    Args:
        inputs: names for them.
    """
    results = [f"result_{number}" for number in range(len(group.results))]
    return Kernel(
        group.name,
        "cpu",
        tuple(map(argument, group.inputs, inputs)),
        tuple(map(argument, group.results, results)),
    )


def argument(tensor: Tensor, name: str) -> Argument:
    """A tensor of known sizes."""
    return Argument(tensor, tuple(map(known_size, tensor.shape)), name)


def chosen(kernel: Kernel, group: Group, graph: Graph) -> Kernel:
    """What `plain` made, with options."""
    found = tuning_store.applied(kernel)
    if found.tuning is not None:
        return found
    return _storing(kernel, plan_cache.places(kernel, lambda: _planned(group, graph)))


def _planned(group: Group, graph: Graph) -> plan_cache.Places:
    try:
        return between(planned(group, graph), group)
    except CompileError:
        return numbers(each_apart(group, graph), group)


def apart(kernel: Kernel, group: Group, graph: Graph) -> Kernel:
    """What `plain` made, with a nest for each operator: each of them is small."""
    return stored(kernel, group, each_apart(group, graph))


def stored(kernel: Kernel, group: Group, names: Sequence[str]) -> Kernel:
    """What `plain` made, with those values stored."""
    return _storing(kernel, numbers(names, group))


def _storing(kernel: Kernel, places: plan_cache.Places) -> Kernel:
    return replace(kernel, options=replace(kernel.options, stored=places), threads=0, tuning=None)
