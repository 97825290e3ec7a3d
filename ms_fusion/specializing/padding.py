"""A batch made longer along its first axis, and results made shorter again."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ms_fusion.presets import mindspore_state
from ms_fusion.specializing.batch_axis import Carried


def batch_of(inputs: Sequence[Any], declared: Sequence[Any] | None) -> tuple[int, tuple[int, ...]]:
    """(samples, numbers of the inputs that hold them along their first axis); (0, ()) when there is no such batch.

    Args:
        inputs: what a net is called with.
        declared: what the net was declared with (``set_inputs``): then the inputs whose first axis is open there; else
            all tensors whose first axis is as long as that of the first tensor.
    """
    shapes: list[tuple[int, ...]] = [tuple(getattr(item, "shape", ())) for item in inputs]
    first = next((shape[:1] for shape in shapes if shape), ())
    numbers = tuple(
        index
        for index, shape in enumerate(shapes)
        if shape
        and (
            shape[:1] == first
            if declared is None
            else index < len(declared) and _is_open(declared[index])
        )
    )
    sizes = {shapes[index][0] for index in numbers}
    return (sizes.pop(), numbers) if len(sizes) == 1 else (0, ())


def _is_open(declared: Any) -> bool:
    shape: tuple[Any, ...] = getattr(declared, "shape", None) or ()
    return bool(shape) and not (isinstance(shape[0], int) and shape[0] >= 0)


def padded(inputs: Sequence[Any], numbers: Sequence[int], samples: int) -> tuple[Any, ...]:
    """The inputs of these numbers with their last sample repeated until there are `samples`: no value that was not there."""
    ops = mindspore_state.mindspore_module().ops

    def longer(item: Any) -> Any:
        missing = (samples - item.shape[0], *item.shape[1:])
        return ops.concat((item, ops.broadcast_to(item[-1:], missing)), axis=0)

    return tuple(longer(item) if index in numbers else item for index, item in enumerate(inputs))


def flat(result: Any) -> Iterator[Any]:
    """The tensors of a result of nested tuples and lists."""
    if isinstance(result, (tuple, list)):
        for item in result:
            yield from flat(item)
    else:
        yield result


def cut(result: Any, places: Iterator[Carried | None], samples: int) -> Any:
    """The result with its first samples only.

    Args:
        result: a tensor, or nested tuples and lists of them.
        places: where each tensor carries the batch, in `flat`'s order.
        samples: how many are kept.
    """
    if isinstance(result, (tuple, list)):
        return type(result)(cut(item, places, samples) for item in result)
    place = next(places)
    if place is None:
        return result
    return result[(slice(None),) * place.axis + (slice(samples * place.block),)]
