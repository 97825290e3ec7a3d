"""``tbe.dsl.transdata``: axes permuted, cut into blocks with padding, or put together again."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tbe_impl.compat.faults import fault
from tbe_impl.dsl.expr import Const, Expr, as_expr, binary, const, select
from tbe_impl.dsl.layouts import BLOCK
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name

Axes = tuple[int, ...]


def transdata(
    tensor: Tensor, dst_shape: Sequence[Any], axes_map: Mapping[Any, Any], pad_value: Any = 0
) -> Any:
    """The elements in another layout.

    Forwards ``{0: 0, 1: (1, 4)}`` puts axis 1 on the axes 1 and 4 of the result, blocks of as many elements as axis 4 has,
    `pad_value` behind the last; ``1: (1,)`` pads the axis alone. Backwards ``{0: 0, (1, 4): 1}`` is the way back.

    Args:
        tensor: any.
        dst_shape: of the result.
        axes_map: from axes of the tensor to axes of the result; each of both once.
        pad_value: a scalar.
    """
    pairs = _pairs(axes_map, tensor.ndim, len(dst_shape))
    sizes = [as_expr(size) for size in dst_shape]

    def pick(*index: Expr) -> Any:
        found: dict[int, Any] = {}
        inside: list[Any] = []
        for source, target in pairs:
            if len(source) == 2:
                block = tensor.shape[source[1]]
                found[source[0]] = index[target[0]] // block
                found[source[1]] = index[target[0]] % block
                continue
            at: Any = index[target[0]]
            reach = sizes[target[0]]
            if len(target) == 2:
                at, reach = at * sizes[target[1]] + index[target[1]], reach * sizes[target[1]]
            found[source[0]] = at
            if not _same(reach, tensor.shape[source[0]]):
                inside.append(at < tensor.shape[source[0]])
        value = tensor(*(found[axis] for axis in range(tensor.ndim)))
        if not inside:
            return value
        held = inside[0]
        for condition in inside[1:]:
            held = binary("and", held, condition)
        return select(held, value, const(pad_value, tensor.dtype))

    return compute(sizes, pick, fresh_name("transdata"), "transdata")


def shapes(
    source: Sequence[Any],
    target: Sequence[Any],
    axes_map: Mapping[Any, Any],
    late: Callable[[str], Any],
) -> list[list[Any]]:
    """Both shapes, sizes of the result that are not known (−1) from those of the source.

    A block has 16 elements where nobody says how many. How many elements of the last block count, on the way back, no array
    says: `late` makes a variable of a name, here ``_dst_`` and the axis.
    """
    from_here, to_there = list(source), list(target)
    for sources, targets in _pairs(axes_map, len(source), len(target)):
        if len(sources) == 2:
            if _unknown(to_there[targets[0]]):
                to_there[targets[0]] = late(f"_dst_{targets[0]}")
        elif len(targets) == 2:
            _known_blocks(to_there, targets, from_here[sources[0]])
        elif _unknown(to_there[targets[0]]):
            size = from_here[sources[0]]
            padded = isinstance(axes_map.get(sources[0]), (list, tuple))
            to_there[targets[0]] = _blocks(size, BLOCK) * BLOCK if padded else size
    return [from_here, to_there]


def _known_blocks(shape: list[Any], axes: Axes, whole: Any) -> None:
    if _unknown(shape[axes[1]]):
        shape[axes[1]] = BLOCK
    if _unknown(shape[axes[0]]):
        shape[axes[0]] = _blocks(whole, shape[axes[1]])


def _blocks(size: Any, block: Any) -> Any:
    return (size + (block - 1)) // block


def _unknown(size: Any) -> bool:
    return isinstance(size, int) and size < 0


def _same(one: Expr, other: Expr) -> bool:
    return (
        isinstance(one, Const) and isinstance(other, Const) and one.value == other.value
    ) or one is other


def _pairs(axes_map: Any, rank: int, result_rank: int) -> list[tuple[Axes, Axes]]:
    if not isinstance(axes_map, Mapping):
        raise fault(
            "E90001",
            f"axes_map of transdata has to be a dict, but is {axes_map!r}",
            detailed_cause="axes_map",
        )
    pairs = [(_listed(key), _listed(value)) for key, value in axes_map.items()]
    left = sorted(axis for source, _ in pairs for axis in source)
    right = sorted(axis for _, target in pairs for axis in target)
    fits = all(len(source) * len(target) <= 2 for source, target in pairs)
    if left != list(range(rank)) or right != list(range(result_rank)) or not fits:
        raise fault(
            "E90001",
            f"axes_map of transdata names each of the {rank} axes of the tensor and of the {result_rank} of the result once, "
            f"at most two beside one; but it is {dict(axes_map)}",
            detailed_cause="axes_map",
        )
    return pairs


def _listed(axes: Any) -> Axes:
    return tuple(axes) if isinstance(axes, (list, tuple)) else (int(axes),)


FUNCTIONS: Mapping[str, Any] = {"transdata": transdata}
"""By the name that operators use."""
