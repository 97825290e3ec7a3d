"""Formats a graph of stages as text."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import PurePath
from typing import Any

from tbe_impl.dsl.expr import Expr
from tbe_impl.dsl.tensor import Operation, Tensor, shape_text, stages_of

MAX_TEXT_LENGTH = 100


def show(outputs: Tensor | Sequence[Tensor]) -> str:
    """Formats the graph that computes `outputs` as text, with one line per stage.

    A line has the name, shape and dtype of the stage, its operation or expression, and its source
    location. Stages are numbered in execution order, so that the text is the same in every run.
    """
    tensors = [outputs] if isinstance(outputs, Tensor) else list(outputs)
    stages = stages_of(tensors)
    names = _display_names(stages)
    rows = [_stage_row(op, names) for op in stages]
    widths = [max((len(row[column]) for row in rows), default=0) for column in range(3)]
    lines = [
        "  ".join(
            (*(cell.ljust(width) for cell, width in zip(row, widths, strict=False)), *row[3:])
        )
        for row in rows
    ]
    results = ", ".join(names[id(tensor)] for tensor in tensors)
    return "\n".join([*(line.rstrip() for line in lines), f"→ {results}"])


def _display_names(stages: Sequence[Operation]) -> dict[int, str]:
    found: dict[int, str] = {}
    taken: set[str] = set()
    for number, op in enumerate(stages):
        stem = op.name.rstrip("0123456789").rstrip("_") or "stage"
        name = op.name if op.kind == "placeholder" and op.name not in taken else f"{stem}_{number}"
        taken.add(name)
        for index, tensor in enumerate(op.outputs):
            found[id(tensor)] = f"{name}.v{index}" if op.num_outputs > 1 else name
    return found


def _stage_row(op: Operation, names: dict[int, str]) -> tuple[str, str, str, str, str]:
    name = ", ".join(names[id(tensor)] for tensor in op.outputs)
    shapes = dict.fromkeys(shape_text(tensor.shape) for tensor in op.outputs)
    dtypes = dict.fromkeys(tensor.dtype for tensor in op.outputs)
    place = f"{PurePath(op.location.file).name}:{op.location.line}"
    return (
        name,
        " ".join(shapes),
        " ".join(dtypes),
        f"= {_definition_text(op, names)}",
        f"# {place}",
    )


def _definition_text(op: Operation, names: dict[int, str]) -> str:
    if op.kind == "placeholder":
        return "input"
    if op.dsl_call is not None:
        given = [names[id(tensor)] for tensor in op.dsl_call.inputs]
        given += [f"{key}={_argument_text(item)}" for key, item in op.dsl_call.parameters.items()]
        return f"{op.dsl_call.name}({', '.join(given)})"
    return _truncate_text("; ".join(_expression_text(body, names) for body in op.body))


def _expression_text(body: Expr, names: dict[int, str]) -> str:
    from tbe_impl.dsl.expr import reads

    text = str(body)
    own = {read.tensor.name: names[id(read.tensor)] for read in reads(body)}
    # longer names first: a name may be a prefix of another name
    for old in sorted(own, key=len, reverse=True):
        text = text.replace(f"{old}[", f"{own[old]}[")
    return text


def _argument_text(item: Any) -> str:
    if isinstance(item, (list, tuple)):
        inner = ", ".join(map(_argument_text, item))
        return f"({inner}{',' if len(item) == 1 else ''})"
    return str(item)


def _truncate_text(text: str) -> str:
    return text if len(text) <= MAX_TEXT_LENGTH else f"{text[: MAX_TEXT_LENGTH - 1]}…"
