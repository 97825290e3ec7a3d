"""The graph of stages as text for people."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from tbe_impl.dsl.expr import Expr
from tbe_impl.dsl.tensor import Operation, Tensor, shape_text, stages_of

LONGEST = 100


def show(outputs: Tensor | Sequence[Tensor]) -> str:
    """One line a stage: name, shape, dtype, the word with its arguments or the expression, and where it was written.

    Stages are numbered in the order in which they are computed, so that the text is the same in every run.
    """
    tensors = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    stages = stages_of(tensors)
    names = _names(stages)
    rows = [_row(op, names) for op in stages]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = [
        "  ".join(
            (*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), *row[3:])
        )
        for row in rows
    ]
    results = ", ".join(names[id(tensor)] for tensor in tensors)
    return "\n".join([*(line.rstrip() for line in lines), f"→ {results}"])


def _names(stages: Sequence[Operation]) -> dict[int, str]:
    found: dict[int, str] = {}
    taken: set[str] = set()
    for number, op in enumerate(stages):
        stem = op.name.rstrip("0123456789").rstrip("_") or "stage"
        name = op.name if op.kind == "placeholder" and op.name not in taken else f"{stem}_{number}"
        taken.add(name)
        for index, tensor in enumerate(op.outputs):
            found[id(tensor)] = f"{name}.v{index}" if op.num_outputs > 1 else name
    return found


def _row(op: Operation, names: dict[int, str]) -> tuple[str, str, str, str, str]:
    name = ", ".join(names[id(tensor)] for tensor in op.outputs)
    shapes = dict.fromkeys(shape_text(tensor.shape) for tensor in op.outputs)
    dtypes = dict.fromkeys(tensor.dtype for tensor in op.outputs)
    place = f"{PurePath(op.location.file).name}:{op.location.line}"
    return name, " ".join(shapes), " ".join(dtypes), f"= {_meaning(op, names)}", f"# {place}"


def _meaning(op: Operation, names: dict[int, str]) -> str:
    if op.kind == "placeholder":
        return "input"
    if op.word is not None:
        given = [names[id(tensor)] for tensor in op.word.inputs]
        given += [f"{key}={_text(item)}" for key, item in op.word.parameters.items()]
        return f"{op.word.name}({', '.join(given)})"
    return _cut("; ".join(_expression(body, names) for body in op.body))


def _expression(body: Expr, names: dict[int, str]) -> str:
    from tbe_impl.dsl.expr import reads

    text = str(body)
    own = {read.tensor.name: names[id(read.tensor)] for read in reads(body)}
    # longer names first, so that a name that begins another one is left alone
    for old in sorted(own, key=len, reverse=True):
        text = text.replace(f"{old}[", f"{own[old]}[")
    return text


def _text(item: Any) -> str:
    if isinstance(item, (list, tuple)):
        inner = ", ".join(map(_text, item))
        return f"({inner}{',' if len(item) == 1 else ''})"
    return str(item)


def _cut(text: str) -> str:
    return text if len(text) <= LONGEST else f"{text[: LONGEST - 1]}…"
