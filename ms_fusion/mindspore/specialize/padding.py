"""Pads the inputs of a net to a larger batch and crops the results to the original batch."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from typing import Any

from ms_fusion.mindspore.specialize.batch_axis import BatchAxis
from ms_fusion.mindspore.state import mindspore_state


def batch_of(inputs: Sequence[Any], declared: Sequence[Any] | None) -> tuple[int, tuple[int, ...]]:
    """Returns (number of samples, indices of the inputs that contain a batch).

    The batch axis of these inputs is their first axis. The result is (0, ()) if no input contains a
    batch, or if the inputs have different numbers of samples.

    Args:
        inputs: arguments of the net.
        declared: the inputs that the user declared by ``set_inputs``, or None. An input contains a
            batch if its first axis is declared as dynamic. Without a declaration, a tensor contains
            a batch if its first extent equals the first extent of the first tensor.
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


def pad_batch(inputs: Sequence[Any], numbers: Sequence[int], samples: int) -> tuple[Any, ...]:
    """Pads the inputs with the indices `numbers` to a batch of `samples` samples.

    The padding repeats the last sample, so that no new values occur.
    """
    ops = mindspore_state.mindspore_module().ops

    def longer(item: Any) -> Any:
        missing = (samples - item.shape[0], *item.shape[1:])
        return ops.concat((item, ops.broadcast_to(item[-1:], missing)), axis=0)

    return tuple(longer(item) if index in numbers else item for index, item in enumerate(inputs))


def cut(result: Any, places: Iterator[BatchAxis | None], samples: int) -> Any:
    """Crops each tensor of a result to its first `samples` samples.

    Args:
        result: a tensor, or nested tuples and lists of tensors.
        places: batch axis of each tensor in `result`, in depth-first order. A tensor whose batch
            axis is None is returned unchanged.
        samples: number of samples to keep.
    """
    if isinstance(result, (tuple, list)):
        return type(result)(cut(item, places, samples) for item in result)
    place = next(places)
    if place is None:
        return result
    return result[(slice(None),) * place.axis + (slice(samples * place.block),)]
