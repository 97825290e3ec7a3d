"""Random manual schedules for any graph; results must not change."""

from __future__ import annotations

import random
from collections.abc import Sequence

import pytest

from tbe_impl.codegen import schedule_options
from tbe_impl.codegen.planning import loop_orders
from tbe_impl.dsl.tensor import Tensor, thread_axis
from tbe_impl.errors import InputError
from tbe_impl.scheduling.schedule import Schedule, create_schedule
from tbe_impl.scheduling.stage_schedule import Stage

FACTORS = (1, 2, 3, 7, 16, 64, 128, 256)


def follow_everything(monkeypatch: pytest.MonkeyPatch) -> None:
    """On graphs as small as these no request is faster, so every legal request is applied."""
    monkeypatch.setattr(loop_orders, "MIN_INNERMOST_STEPS", 1)
    monkeypatch.setattr(loop_orders, "CORE_CACHE_BYTES", -1)
    monkeypatch.setattr(schedule_options, "is_read_repeatedly", lambda record, stage: True)


def random_schedule(outputs: Sequence[Tensor], seed: int, *, requests: int = 12) -> Schedule:
    """A schedule of these outputs that depends only on the seed."""
    chance = random.Random(seed)
    schedule = create_schedule(list(outputs))
    for _ in range(requests):
        stages = [stage for stage in schedule.stages if stage.op.kind != "placeholder"]
        if not stages:
            break
        stage = chance.choice(stages)
        if chance.random() < 0.3:
            _place(stage, schedule, chance)
        elif chance.random() < 0.15:
            _add(stage, schedule, chance)
        else:
            _loop(stage, chance)
    return schedule


def _place(stage: Stage, schedule: Schedule, chance: random.Random) -> None:
    verb = chance.choice(("compute_inline", "compute_root", "compute_at", "compute_at"))
    if verb == "compute_inline":
        stage.compute_inline()
    elif verb == "compute_root":
        stage.compute_root()
    else:
        made = {id(tensor) for tensor in stage.op.outputs}
        readers = [
            one for one in schedule.stages if any(id(t) in made for t in one.op.input_tensors)
        ]
        loops = [(one, leaf) for one in readers for leaf in one.leaf_iter_vars]
        if loops:
            stage.compute_at(*chance.choice(loops))


def _add(stage: Stage, schedule: Schedule, chance: random.Random) -> None:
    """Caches a stage's result or input, or splits its reduction into two steps; often tiled in a
    loop.
    """
    reduced = [leaf for leaf in stage.leaf_iter_vars if leaf.kind == "reduce"]
    verb = chance.choice(
        ("cache_read", "cache_write", "rfactor") if reduced else ("cache_read", "cache_write")
    )
    reader = stage
    if stage.op.kind != "compute" or not stage.op.body:
        return
    if verb == "rfactor":
        try:
            made = schedule.rfactor(
                stage.op.outputs[0], chance.choice(reduced), chance.choice((0, -1))
            )
        except InputError:
            return
    elif verb == "cache_write":
        made = schedule.cache_write(list(stage.op.outputs), "global")
    elif stage.op.input_tensors:
        made = schedule.cache_read(chance.choice(stage.op.input_tensors), "global", [stage.op])
    else:
        return
    added = schedule[made[0] if isinstance(made, list) else made]
    if reader.leaf_iter_vars and chance.random() < 0.7:
        added.compute_at(reader, chance.choice(reader.leaf_iter_vars))


def _loop(stage: Stage, chance: random.Random) -> None:
    leaves = stage.leaf_iter_vars
    if not leaves:
        return
    leaf = chance.choice(leaves)
    verb = chance.choice(
        (
            "split",
            "split",
            "split",
            "nparts",
            "fuse",
            "reorder",
            "reorder",
            "parallel",
            "bind",
            "unroll",
            "vectorize",
        )
    )
    if verb == "split":
        stage.split(leaf, factor=chance.choice(FACTORS))
    elif verb == "nparts":
        stage.split(leaf, nparts=chance.choice(FACTORS[:5]))
    elif verb == "reorder":
        stage.reorder(*chance.sample(leaves, len(leaves)))
    elif verb == "bind":
        stage.bind(leaf, thread_axis("blockIdx.x"))
    elif verb == "fuse":
        at = chance.randrange(len(leaves))
        if at + 1 < len(leaves):
            try:
                stage.fuse(leaves[at], leaves[at + 1])
            except InputError:
                return
    else:
        getattr(stage, verb)(leaf)
