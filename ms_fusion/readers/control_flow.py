"""Reads the control flow between kernel graphs from actor dumps (``final_actor_set_*.ir``)."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from graphlib import CycleError, TopologicalSorter

from tbe_impl.reachability import reachable

_BLOCK = re.compile(r"^Actor for func graph:(.+)$")
_ACTOR = re.compile(r"^%(\d+) = (\w+)(?:\[((?:[^\]]|\](?!\())*)\])?\((.*)\)")
_NUMBER = re.compile(r"%(\d+)\[")
_KERNEL_GRAPH = re.compile(r"kernel_graph\d+")


@dataclass(frozen=True)
class ControlFlow:
    """Describes the control flow between the kernel graphs of programs.

    Attributes:
        last: names of the kernel graphs that compute the results of their program.
        branched: names of the kernel graphs whose program has branches but no loops.
    """

    last: frozenset[str] = frozenset()
    branched: frozenset[str] = frozenset()

    def __or__(self, other: ControlFlow) -> ControlFlow:
        return ControlFlow(self.last | other.last, self.branched | other.branched)


@dataclass(frozen=True)
class _Actor:
    kind: str
    runs: tuple[str, ...]
    takes: tuple[str, ...]


def parse_actors(text: str) -> ControlFlow:
    """Parses one actor dump.

    Each block of the dump describes a function. In a block, ``%7 = RunGraph[kernel_graph1]()`` runs
    a kernel graph, and ``RunGraph[f, g](…)`` calls other functions. A ``SwitchActor`` is a branch.
    The last ``ExitActor`` returns the function's result. Unknown lines are skipped. If the text
    describes no function, the returned `ControlFlow` is empty.
    """
    functions: dict[str, dict[str, _Actor]] = {}
    block: dict[str, _Actor] | None = None
    for line in text.splitlines():
        if found := _BLOCK.match(line):
            block = functions.setdefault(found[1].strip(), {})
        elif block is not None and (found := _ACTOR.match(line)):
            runs = tuple(name.strip() for name in (found[3] or "").split(",")) if found[3] else ()
            block[found[1]] = _Actor(found[2], runs, tuple(_NUMBER.findall(found[4])))
    if not functions:
        return ControlFlow()
    entry = next(iter(functions))
    graphs = frozenset(
        name
        for actors in functions.values()
        for name in _run_targets(actors)
        if _KERNEL_GRAPH.fullmatch(name)
    )
    branches = any(
        actor.kind == "SwitchActor" for actors in functions.values() for actor in actors.values()
    )
    return ControlFlow(
        last=frozenset(_result_graphs(entry, functions)),
        branched=graphs if branches and not _has_loop(functions) else frozenset(),
    )


def _run_targets(actors: Mapping[str, _Actor]) -> Iterable[str]:
    return (name for actor in actors.values() if actor.kind == "RunGraph" for name in actor.runs)


def _result_graphs(entry: str, functions: Mapping[str, Mapping[str, _Actor]]) -> set[str]:
    """Returns the kernel graphs that compute the results of the function `entry`.

    If a call computes a result, the kernel graphs are those that compute the results of the called
    function.
    """

    def last_runs(name: str) -> list[str]:
        actors = functions.get(name, {})
        exits = [number for number, actor in actors.items() if actor.kind == "ExitActor"]
        return [run for one in _nearest_run_actors(exits[-1:], actors) for run in actors[one].runs]

    runs = reachable(
        last_runs(entry), lambda run: () if _KERNEL_GRAPH.fullmatch(run) else last_runs(run)
    )
    return set(filter(_KERNEL_GRAPH.fullmatch, runs))


def _nearest_run_actors(numbers: Iterable[str], actors: Mapping[str, _Actor]) -> Iterable[str]:
    """Follows paths backwards from the actors with the indices `numbers` to ``RunGraph`` actors.

    Returns the index of the first ``RunGraph`` actor on each path.
    """
    runs = {number for number, actor in actors.items() if actor.kind == "RunGraph"}
    found = reachable(
        numbers,
        lambda number: () if number in runs or number not in actors else actors[number].takes,
    )
    return [number for number in found if number in runs]


def _has_loop(functions: Mapping[str, Mapping[str, _Actor]]) -> bool:
    """Returns whether any function calls itself, directly or through other functions."""
    called = {
        name: [run for run in _run_targets(actors) if run in functions]
        for name, actors in functions.items()
    }
    try:
        TopologicalSorter(called).prepare()
    except CycleError:
        return True
    return False
