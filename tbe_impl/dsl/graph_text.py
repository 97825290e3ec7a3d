"""Serialises a graph to text that is the same in every process; cache keys use the text."""

from __future__ import annotations

import hashlib
import numbers
from collections.abc import Mapping, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from tbe_impl.dsl.expr import Const, Expr, IntImm, IterVar, Range, Var
from tbe_impl.dsl.tensor import Operation, Tensor, stages_of
from tbe_impl.errors import InputError

_VARIABLE_FIELDS = {Var: ("bound",), IterVar: ("dom", "kind", "thread_tag")}
"""Maps the class of a variable or axis to the names of its serialised attributes.

Names and serial numbers of variables are left out, because they differ between processes.
"""


def graph_text(outputs: Sequence[Tensor], inputs: Sequence[Tensor]) -> str:
    """Serialises all properties of a graph that affect its results or its generated code.

    The text identifies stages, axes and sizes by number, never by name.

    Args:
        outputs: the tensors that the kernel computes.
        inputs: the tensors that the caller passes to the kernel. An input is a placeholder or the
            result of a stage.

    Raises:
        InputError: a parameter of a DSL operation has an unsupported type.
    """
    writer = _GraphText()
    for op in stages_of([*inputs, *outputs]):
        writer.stage(op)
    writer.value(tuple(inputs))
    writer.value(tuple(outputs))
    return " ".join(writer.parts)


class _GraphText:
    def __init__(self) -> None:
        self.parts: list[str] = []
        self.numbers: dict[int, int] = {}
        self.held: list[Any] = []

    def number(self, item: Any) -> int:
        found = self.numbers.setdefault(id(item), len(self.numbers))
        if found == len(self.held):
            # a reference to the item prevents Python from reusing its id
            self.held.append(item)
        return found

    def stage(self, op: Operation) -> None:
        self.parts.append(f"\n{self.number(op)} {op.kind}")
        for tensor in op.outputs:
            self.parts.append(tensor.dtype)
            self.value(tensor.shape)
        self.value(op.axis)
        self.value(op.body)
        if op.dsl_call is not None:
            self.parts.append(op.dsl_call.name)
            self.value(op.dsl_call.inputs)
            self.value(op.dsl_call.parameters)

    def value(self, item: Any) -> None:
        parts, kind, known = self.parts, type(item), self.numbers.get(id(item))
        if known is not None:
            parts.append(f"#{known}")
        elif kind in _PRIMITIVE_TYPES:
            parts.append(repr(item))
        elif kind is tuple or kind is list:
            parts.append(f"{len(item)}[")
            for one in item:
                self.value(one)
        elif isinstance(item, Const):
            parts.append(f"{item.dtype}:{item.value!r}")
        elif (
            kind is IterVar
            and item.dom is not None
            and type(item.dom.extent) is type(item.dom.min) is IntImm
        ):
            # fast path for most axes, without a call per field
            self.number(item)
            begin, extent = item.dom.min, item.dom.extent
            parts.append(
                f"axis {item.kind!r} {item.thread_tag!r} {begin.dtype}:{begin.value} "
                f"{extent.dtype}:{extent.value};"
            )
        elif isinstance(item, Tensor):
            parts.append(f"t{self.number(item.op)}.{item.value_index}")
        elif isinstance(item, (Expr, Range)):
            self.number(item)
            parts.append(f"{kind.__name__}:{getattr(item, 'dtype', '')}")
            for name in _key_fields(kind):  # type: ignore[arg-type]
                one = getattr(item, name)
                if type(one) in _PRIMITIVE_TYPES:
                    parts.append(repr(one))
                else:
                    self.value(one)
            parts.append(";")
        elif isinstance(item, (tuple, list)):
            self.value(tuple(item))
        elif isinstance(item, Mapping):
            parts.append(f"{len(item)}{{")
            for key in sorted(item, key=str):
                parts.append(f"{key!r}:")
                self.value(item[key])
        else:
            parts.append(_parameter_text(item))


_PRIMITIVE_TYPES = frozenset({type(None), str, bool, int, float})
"""Types that are serialised by ``repr``."""


@lru_cache(maxsize=64)
def _key_fields(kind: type) -> tuple[str, ...]:
    """Returns the names of the attributes of a node class that are serialised."""
    if kind in _VARIABLE_FIELDS:
        return _VARIABLE_FIELDS[kind]
    found = [name for one in kind.__mro__ for name in getattr(one, "__slots__", ())]
    return tuple(name for name in found if name != "dtype")


def _parameter_text(item: Any) -> str:
    if isinstance(item, (str, int, float)):
        return repr(item)
    if isinstance(item, np.ndarray):
        content = hashlib.sha256(np.ascontiguousarray(item).tobytes()).hexdigest()
        return f"array:{item.dtype.str}:{item.shape}:{content}"
    if isinstance(item, (np.generic, numbers.Number, slice)):
        return f"{type(item).__name__}:{item!r}"
    if isinstance(item, (np.dtype, type)):
        return f"dtype:{np.dtype(item)}"
    raise InputError("a parameter of a word has no text", got=type(item).__name__)
