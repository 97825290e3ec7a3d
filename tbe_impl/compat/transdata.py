"""Implements ``tbe.dsl.transdata``: permutes axes, splits them into blocks, merges blocks."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from tbe_impl.compat.operator_errors import fault
from tbe_impl.dsl.expr import Const, Expr, as_expr, const, make_binary, select
from tbe_impl.dsl.layouts import BLOCK
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name

Axes = tuple[int, ...]


def transdata(
    tensor: Tensor, dst_shape: Sequence[Any], axes_map: Mapping[Any, Any], pad_value: Any = 0
) -> Any:
    """Returns the tensor in another layout.

    The axes map ``{0: 0, 1: (1, 4)}`` splits axis 1 into blocks. In the result, axis 1 is the index
    of the block and axis 4 is the position within the block. The rest of the last block is filled
    with `pad_value`. The entry ``1: (1,)`` pads axis 1 without splitting it. The inverse map
    ``{0: 0, (1, 4): 1}`` merges the blocks.

    Args:
        tensor: a tensor of any dtype.
        dst_shape: shape of the result.
        axes_map: maps the axes of the tensor to the axes of the result. Each axis occurs once.
        pad_value: a scalar.
    """
    pairs = _axis_pairs(axes_map, tensor.ndim, len(dst_shape))
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
            if not _is_same_size(reach, tensor.shape[source[0]]):
                inside.append(at < tensor.shape[source[0]])
        value = tensor(*(found[axis] for axis in range(tensor.ndim)))
        if not inside:
            return value
        held = inside[0]
        for condition in inside[1:]:
            held = make_binary("and", held, condition)
        return select(held, value, const(pad_value, tensor.dtype))

    return compute(sizes, pick, fresh_name("transdata"), "transdata")


def infer_shapes(
    source: Sequence[Any],
    target: Sequence[Any],
    axes_map: Mapping[Any, Any],
    late: Callable[[str], Any],
) -> list[list[Any]]:
    """Returns the pair (`source`, `target`) of shapes; unknown sizes (−1) in `target` are inferred.

    An unknown block size becomes 16. The size of an axis that merges blocks cannot be inferred,
    because the last block may be incomplete. If such a size is unknown, the call
    ``late("_dst_<axis>")`` creates a variable for the size.
    """
    from_here, to_there = list(source), list(target)
    for sources, targets in _axis_pairs(axes_map, len(source), len(target)):
        if len(sources) == 2:
            if _is_unknown(to_there[targets[0]]):
                to_there[targets[0]] = late(f"_dst_{targets[0]}")
        elif len(targets) == 2:
            _fill_block_sizes(to_there, targets, from_here[sources[0]])
        elif _is_unknown(to_there[targets[0]]):
            size = from_here[sources[0]]
            padded = isinstance(axes_map.get(sources[0]), (list, tuple))
            to_there[targets[0]] = _block_count(size, BLOCK) * BLOCK if padded else size
    return [from_here, to_there]


def _fill_block_sizes(shape: list[Any], axes: Axes, whole: Any) -> None:
    if _is_unknown(shape[axes[1]]):
        shape[axes[1]] = BLOCK
    if _is_unknown(shape[axes[0]]):
        shape[axes[0]] = _block_count(whole, shape[axes[1]])


def _block_count(size: Any, block: Any) -> Any:
    return (size + (block - 1)) // block


def _is_unknown(size: Any) -> bool:
    return isinstance(size, int) and size < 0


def _is_same_size(one: Expr, other: Expr) -> bool:
    return (
        isinstance(one, Const) and isinstance(other, Const) and one.value == other.value
    ) or one is other


def _axis_pairs(axes_map: Any, rank: int, result_rank: int) -> list[tuple[Axes, Axes]]:
    if not isinstance(axes_map, Mapping):
        raise fault(
            "E90001",
            f"axes_map of transdata has to be a dict, but is {axes_map!r}",
            detailed_cause="axes_map",
        )
    pairs = [(_as_axes(key), _as_axes(value)) for key, value in axes_map.items()]
    left = sorted(axis for source, _ in pairs for axis in source)
    right = sorted(axis for _, target in pairs for axis in target)
    fits = all(len(source) * len(target) <= 2 for source, target in pairs)
    if left != list(range(rank)) or right != list(range(result_rank)) or not fits:
        raise fault(
            "E90001",
            f"axes_map of transdata names each of the {rank} axes of the tensor and of the "
            f"{result_rank} of the result once, at most two beside one; but it is {dict(axes_map)}",
            detailed_cause="axes_map",
        )
    return pairs


def _as_axes(axes: Any) -> Axes:
    return tuple(axes) if isinstance(axes, (list, tuple)) else (int(axes),)


FUNCTIONS: Mapping[str, Any] = {"transdata": transdata}
"""Maps a name in ``tbe.dsl`` to its function."""
