"""Partitions a graph into loop nests that are computed tile by tile on the chip."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from tbe_impl.dsl.tensor import Operation, Tensor, consumers_of, stages_of
from tbe_impl.scheduling.tile_regions import elements, sizes_of


@dataclass(frozen=True, eq=False)
class TiledNest:
    """Stages that are computed in one loop nest.

    Attributes:
        main: the operation whose axes are the loops of the nest.
        others: the other operations whose results are written to main memory. The axes of these
            operations are leading axes of `main`.
        members: all operations of the nest in execution order, including `main` and `others`.
    """

    main: Operation
    others: tuple[Operation, ...]
    members: tuple[Operation, ...]

    @property
    def results(self) -> tuple[Operation, ...]:
        """Operations whose results are written to main memory."""
        return (self.main, *self.others)

    @property
    def inner_reductions(self) -> tuple[Operation, ...]:
        """The reductions of the nest, without `main` if `main` is the only result."""
        return tuple(
            op for op in self.members if op.reduce_axis and (op is not self.main or self.others)
        )

    def inputs(self) -> tuple[Tensor, ...]:
        """Returns the tensors that the nest reads but does not compute."""
        inside = {id(op) for op in self.members}
        found = {
            id(tensor): tensor
            for op in self.members
            for tensor in op.input_tensors
            if id(tensor.op) not in inside
        }
        return tuple(found.values())


def partition_into_nests(
    outputs: Sequence[Tensor], *, cut_at: frozenset[int] = frozenset(), merge: bool = True
) -> tuple[TiledNest, ...]:
    """Partitions a graph into nests, without the operations that a library computes.

    Args:
        outputs: outputs of the graph.
        cut_at: the ``id`` of each intermediate operation whose result is written to main memory and
            read back.
        merge: whether results of the same shape, or with the same leading axes, share a nest.

    Returns:
        The nests in execution order.
    """
    ops = [op for op in stages_of(outputs) if op.body]
    users = consumers_of(outputs)
    leaves_chip = set(cut_at) | {id(tensor.op) for tensor in outputs}
    for op in ops:
        readers = [reader for tensor in op.outputs for reader in users.get(id(tensor), ())]
        if any(not reader.body for reader in readers):
            leaves_chip.add(id(op))
    owner: dict[int, int] = {}
    groups: dict[int, list[Operation]] = {}
    ancestors = _ancestors(outputs)
    results = [op for op in ops if id(op) in leaves_chip]
    barriers = [*results, *(op for op in stages_of(outputs) if op.kind == "library")]
    for op in sorted(results, key=lambda one: -elements(sizes_of(one.outputs[0]))):
        home = next(
            (
                key
                for key, group in groups.items()
                if merge and _may_join(op, group, barriers, ancestors)
            ),
            id(op),
        )
        groups.setdefault(home, []).append(op)
        owner[id(op)] = home
    for op in reversed(ops):
        if id(op) in owner:
            continue
        homes = {
            owner[id(user)]
            for tensor in op.outputs
            for user in users.get(id(tensor), ())
            if user.body
        }
        owner[id(op)] = homes.pop() if len(homes) == 1 else id(op)
        if owner[id(op)] == id(op):
            groups[id(op)] = [op]
    nests = [
        TiledNest(group[0], tuple(group[1:]), tuple(op for op in ops if owner[id(op)] == key))
        for key, group in groups.items()
    ]
    return tuple(sorted(nests, key=lambda nest: ops.index(nest.members[-1])))


def _ancestors(outputs: Sequence[Tensor]) -> dict[int, set[int]]:
    found: dict[int, set[int]] = {}
    for op in stages_of(outputs):
        found[id(op)] = set().union(
            *({id(read.op)} | found[id(read.op)] for read in op.input_tensors), set()
        )
    return found


def _may_join(
    op: Operation, group: list[Operation], barriers: list[Operation], ancestors: dict[int, set[int]]
) -> bool:
    """Whether the operation `op` can be computed in the loops of a group of operations.

    `op` must share leading axes with the group (`count_shared_axes`). In addition, no path of the
    graph between `op` and the group may contain an operation that is in `barriers` but not in the
    group.
    """
    if count_shared_axes(group[0], op) is None:
        return False
    inside = {id(member) for member in group}
    for other in barriers:
        if other is op or id(other) in inside:
            continue
        before = ancestors[id(other)]
        on_the_way_to_op = id(other) in ancestors[id(op)] and bool(inside & before)
        on_the_way_back = id(op) in before and any(id(other) in ancestors[one] for one in inside)
        if on_the_way_to_op or on_the_way_back:
            return False
    return True


def count_shared_axes(main: Operation, other: Operation) -> int | None:
    """Returns the number of leading axes that `main` and `other` share.

    Equal shapes share all axes. After the shared axes, `other` may have only axes of size 1, or no
    axes. Returns None if `other` has any other shape.
    """
    wide, narrow = sizes_of(main.outputs[0]), sizes_of(other.outputs[0])
    if wide == narrow:
        return len(wide)
    if len(narrow) > len(wide):
        return None
    shared = 0
    while shared < len(narrow) and narrow[shared] == wide[shared]:
        shared += 1
    return shared if shared and all(size == 1 for size in narrow[shared:]) else None
