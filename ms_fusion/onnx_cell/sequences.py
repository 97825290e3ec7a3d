"""Sequences of tensors: tuples of Python, whose lengths and places are known while the net is compiled."""

from __future__ import annotations

from typing import Any

from mindspore import ops

from ms_fusion.onnx_cell.operator_use import Use


def _place(use: Use, position: int) -> int | None:
    found = use.whole("position", position)
    return None if found is None else found[0]


def constructed(use: Use) -> str:
    """``SequenceConstruct``."""
    return f"({', '.join(use.texts)},)"


def at(use: Use) -> str:
    """``SequenceAt``."""
    return f"{use.text()}[{_place(use, 1)}]"


def inserted(use: Use) -> str:
    """``SequenceInsert``."""
    place = _place(use, 2) if use.has(2) else None
    if place is None:
        return f"{use.text()} + ({use.text(1)},)"
    return f"{use.text()}[:{place}] + ({use.text(1)},) + {use.text()}[{place}:]"


def erased(use: Use) -> str:
    """``SequenceErase``."""
    place = _place(use, 1) if use.has(1) else -1
    return f"{use.text()}[:{place}]" + ("" if place == -1 else f" + {use.text()}[{place}:][1:]")


def joined(use: Use) -> str:
    """``ConcatFromSequence``."""
    return (
        f"ops.{'stack' if use.attr('new_axis', 0) else 'concat'}({use.text()}, {use.attr('axis')})"
    )


def split(use: Use) -> str:
    """``SplitToSequence``."""
    axis, size = use.axis(0), use.value().shape[use.axis(0)]
    told = use.whole("split", 1)
    if not isinstance(size, int) or size < 0:
        raise use.refused("parts of an axis that is not known")
    if told is None or not use.value(1).shape:
        each = 1 if told is None else told[0]
        parts = [min(each, size - start) for start in range(0, size, each)]
    else:
        parts = list(told)
    made = f"ops.split({use.text()}, {parts}, {axis})"
    if told is None and not use.attr("keepdims", 1):
        return f"sequences.without_axis({made}, {axis})"
    return made


def without_axis(parts: tuple[Any, ...], axis: int) -> tuple[Any, ...]:
    """Each without an axis of one element."""
    made: tuple[Any, ...] = ()
    for one in parts:
        made = (*made, ops.squeeze(one, axis))
    return made


def element(x: Any, place: int) -> Any:
    """That of a sequence; a tensor itself."""
    return x[place] if isinstance(x, (tuple, list)) else x
