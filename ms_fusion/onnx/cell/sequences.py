"""Emits ONNX's sequences as Python tuples, whose lengths are known when a net is compiled."""

from __future__ import annotations

from typing import Any

from mindspore import ops

from ms_fusion.onnx.cell.operator_use import OperatorUse


def _sequence_position(use: OperatorUse, position: int) -> int | None:
    found = use.integers("position", position)
    return None if found is None else found[0]


def sequence_construct(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``SequenceConstruct``."""
    return f"({', '.join(use.texts)},)"


def sequence_at(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``SequenceAt``."""
    return f"{use.text()}[{_sequence_position(use, 1)}]"


def sequence_insert(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``SequenceInsert``."""
    place = _sequence_position(use, 2) if use.has(2) else None
    if place is None:
        return f"{use.text()} + ({use.text(1)},)"
    return f"{use.text()}[:{place}] + ({use.text(1)},) + {use.text()}[{place}:]"


def sequence_erase(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``SequenceErase``."""
    place = _sequence_position(use, 1) if use.has(1) else -1
    return f"{use.text()}[:{place}]" + ("" if place == -1 else f" + {use.text()}[{place}:][1:]")


def concat_from_sequence(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``ConcatFromSequence``."""
    return (
        f"ops.{'stack' if use.attr('new_axis', 0) else 'concat'}({use.text()}, {use.attr('axis')})"
    )


def split_to_sequence(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``SplitToSequence``."""
    axis, size = use.axis(0), use.value().shape[use.axis(0)]
    told = use.integers("split", 1)
    if not isinstance(size, int) or size < 0:
        raise use.refusal("parts of an axis that is not known")
    if told is None or not use.value(1).shape:
        each = 1 if told is None else told[0]
        parts = [min(each, size - start) for start in range(0, size, each)]
    else:
        parts = list(told)
    made = f"ops.split({use.text()}, {parts}, {axis})"
    if told is None and not use.attr("keepdims", 1):
        return f"sequences.squeeze_parts({made}, {axis})"
    return made


def squeeze_parts(parts: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    """Removes an axis of size 1 from each tensor in `parts`."""
    made: tuple[Any, ...] = ()
    for one in parts:
        made = (*made, ops.squeeze(one, axis))
    return made


def element(x: Any, place: int) -> Any:
    """Returns an element of the sequence `x`, or `x` itself if `x` is a tensor."""
    return x[place] if isinstance(x, (tuple, list)) else x
