"""Defines tensors and the stages that compute them: the graph that operators build.

A stage computes each element of its outputs as a scalar expression over its axes. A stage that
comes from a DSL operation also records the operation, its inputs and its arguments. The NumPy back
end and reports use this record.

This module exceeds 500 lines because the graph structure and its constructors belong together.
"""

from __future__ import annotations

import inspect
import itertools
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any

from tbe_impl.dsl.dtypes import dtype_of
from tbe_impl.dsl.expr import (
    Binary,
    Const,
    Expr,
    IterVar,
    Range,
    Read,
    Reduce,
    Text,
    Var,
    as_expr,
    const,
    reads,
    walk,
)
from tbe_impl.dsl.location import Location, user_location
from tbe_impl.errors import InputError

_name_counter = itertools.count()
PHONY_TAG = "elewise_binary_phony"
"""Tag of a stage that does not read its second operand.

The stage exists to keep this operand, an otherwise unused input, in the graph.
"""
INPUT_REMEDY = (
    "An input has no loops. A stage is computed inside one that reads it: "
    "sch[producer].compute_at(sch[consumer], consumer.op.axis[0])"
)


@dataclass(frozen=True)
class DslCall:
    """The call of a DSL operation that built a stage.

    Attributes:
        name: name of the operation, such as ``vadd``.
        inputs: the tensor arguments in order.
        parameters: the other arguments by name.
    """

    name: str
    inputs: tuple[Tensor, ...] = ()
    parameters: Mapping[str, Any] = field(default_factory=lambda: MappingProxyType({}))


class MissingAxisError(InputError, IndexError):
    """Raised when an operator accesses a missing axis of a stage."""


class Axes(tuple[IterVar, ...]):
    """The value of ``op.axis`` or ``op.reduce_axis``: a tuple of axes.

    An access to a missing axis raises an error that lists the existing axes.
    """

    op: Operation
    name: str

    @classmethod
    def from_attribute(cls, op: Operation, name: str, axes: Sequence[IterVar]) -> Axes:
        """Creates the tuple of axes for the attribute `name` of `op`."""
        found = cls(axes)
        found.op, found.name = op, name
        return found

    def __getitem__(self, index: Any) -> Any:
        try:
            return super().__getitem__(index)
        except IndexError:
            is_input = self.op.kind == "placeholder"
            there = ", ".join(f"{at}: {axis.name}" for at, axis in enumerate(self)) or "none"
            raise MissingAxisError(
                f"{self.op.name}{', an input,' if is_input else ''} has no op.{self.name}[{index}]",
                place=str(user_location()),
                expected="a tensor that is computed" if is_input else f"one of its axes ({there})",
                remedy=INPUT_REMEDY if is_input else None,
            ) from None


class Operation:
    """A stage of the graph; it has one or more output tensors.

    Attributes:
        kind: ``placeholder`` (an input), ``compute`` (elements defined by expressions) or
            ``library`` (computed as a whole by a library).
        name: name for display and reports.
        tag: tag as in TVM.
        attrs: attributes as in TVM.
        axis: the axes of the outputs; empty for a placeholder and for a library stage.
        reduce_axis: the reduction axes.
        body: one expression for each output; empty for a placeholder and for a library stage.
        dsl_call: the call of the DSL operation that built the stage; None for any other stage.
        location: the line of the user's code that built the stage.
        number: serial number, in the order of creation.
    """

    def __init__(
        self,
        kind: str,
        name: str,
        shapes: Sequence[tuple[Expr, ...]],
        dtypes: Sequence[str],
        *,
        axis: Sequence[IterVar] = (),
        body: Sequence[Expr] = (),
        tag: str = "",
        attrs: Mapping[str, Any] | None = None,
        dsl_call: DslCall | None = None,
        location: Location | None = None,
    ):
        self.kind, self.name, self.tag = kind, name, tag
        self.attrs = Attributes(attrs or {})
        if PHONY_TAG in tag and dsl_call is None:
            tensors = [read.tensor for expression in body for read in reads(expression)]
            dsl_call = DslCall(
                PHONY_TAG, tuple({id(tensor): tensor for tensor in tensors}.values())
            )
            body = [part.a if isinstance(part, Binary) else part for part in body]
        self.axis, self.body = Axes.from_attribute(self, "axis", axis), tuple(body)
        reduced = body[0].axes if body and isinstance(body[0], Reduce) else ()
        self.reduce_axis = Axes.from_attribute(self, "reduce_axis", reduced)
        self.dsl_call, self.location = dsl_call, location or user_location()
        self.number = next(_name_counter)
        several = len(shapes) > 1
        self.outputs = tuple(
            Tensor(shape, dtype, f"{name}.v{index}" if several else name, self, index)
            for index, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))
        )

    @property
    def dtype(self) -> str:
        """The dtype of the first output."""
        return self.outputs[0].dtype

    @property
    def shape(self) -> tuple[Expr, ...]:
        """The shape of the first output."""
        return self.outputs[0].shape

    @property
    def num_outputs(self) -> int:
        """The number of outputs."""
        return len(self.outputs)

    @cached_property
    def input_tensors(self) -> tuple[Tensor, ...]:
        """The tensors that the operation reads, without duplicates."""
        if not self.body:
            return self.dsl_call.inputs if self.dsl_call else ()
        found = [node.tensor for node in self._leaves if isinstance(node, Read)]
        # a phony input is not read by the body, but is still a dependency
        found += self.dsl_call.inputs if self.dsl_call else ()
        return tuple({id(tensor): tensor for tensor in found}.values())

    @cached_property
    def variables(self) -> tuple[Var, ...]:
        """The run-time sizes and scalars that the operation uses."""
        sizes = [size for tensor in self.outputs for size in tensor.shape]
        extents = [axis.extent for axis in self.reduce_axis]
        late = [part for part in (*sizes, *extents) if not isinstance(part, Const)]
        outside = [node for part in late for node in walk(part)]
        whole = (*outside, *self._leaves)
        return tuple({id(node): node for node in whole if isinstance(node, Var)}.values())

    @cached_property
    def _leaves(self) -> tuple[Expr, ...]:
        """The reads and variables in the body."""
        return tuple(
            node for part in self.body for node in walk(part) if isinstance(node, (Read, Var))
        )

    def output(self, index: int) -> Tensor:
        """Returns the output at position `index`."""
        return self.outputs[index]

    def __repr__(self) -> str:
        return f"{self.kind}({self.name})"


class Tensor:
    """An array of the graph.

    Attributes:
        shape: sizes as expressions; the ``value`` of a static size is an int.
        dtype: name of the dtype.
        op: the operation that computes the tensor.
        value_index: position of the tensor in the outputs of `op`.
    """

    # operators set extra attributes on tensors, such as ori_shape
    __slots__ = ("__dict__", "dtype", "name", "op", "shape", "value_index")

    def __init__(self, shape: tuple[Expr, ...], dtype: str, name: str, op: Operation, index: int):
        self.shape, self.dtype, self.name, self.op, self.value_index = shape, dtype, name, op, index

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return len(self.shape)

    def __call__(self, *indices: Any) -> Read:
        if len(indices) == 1 and isinstance(indices[0], (tuple, list)):
            indices = tuple(indices[0])
        if len(indices) != len(self.shape):
            raise InputError(
                f"{self.name} has {self.ndim} dimensions",
                place=str(user_location()),
                expected=f"{self.ndim} indices",
                got=f"{len(indices)}",
            )
        return Read(self, [as_expr(index) for index in indices])

    def __getitem__(self, index: Any) -> TensorSlice:
        return TensorSlice(self, ())[index]

    def same_as(self, other: Any) -> bool:
        """Whether `other` is the same object as this tensor."""
        return self is other

    def __repr__(self) -> str:
        return f"Tensor({self.name}, {shape_text(self.shape)}, {self.dtype})"


class TensorSlice:
    """A tensor that is indexed along its first axes, such as ``tensor[i]``.

    A slice with an index for every axis is a scalar.
    """

    def __init__(self, tensor: Tensor, indices: tuple[Any, ...]):
        self.tensor, self.indices = tensor, indices

    def __getitem__(self, index: Any) -> TensorSlice:
        more = tuple(index) if isinstance(index, tuple) else (index,)
        return TensorSlice(self.tensor, self.indices + more)

    @property
    def dtype(self) -> str:
        """The dtype of the tensor."""
        return self.tensor.dtype

    def as_expr(self) -> Read:
        """Returns the indexed element, or raises `InputError` if an index is missing."""
        return self.tensor(*self.indices)

    def astype(self, dtype: str) -> Expr:
        """Casts the indexed element to `dtype`."""
        return self.as_expr().astype(dtype)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.as_expr(), name)


def _delegate(name: str) -> Callable[..., Any]:
    def method(self: TensorSlice, *others: Any) -> Any:
        return getattr(self.as_expr(), name)(*others)

    return method


for _name in (
    "add radd sub rsub mul rmul truediv rtruediv floordiv rfloordiv mod rmod pow neg "
    "lt le gt ge eq ne and or xor lshift rshift invert"
).split():
    setattr(TensorSlice, f"__{_name}__", _delegate(f"__{_name}__"))


class Attributes(dict[str, Any]):
    """The attributes of an operation; every value is converted by `as_attribute`."""

    def __init__(self, given: Mapping[str, Any]):
        super().__init__({key: as_attribute(value) for key, value in given.items()})

    def __setitem__(self, key: str, value: Any) -> None:
        super().__setitem__(key, as_attribute(value))

    def update(self, *given: Any, **more: Any) -> None:
        """Sets several attributes, each converted by `as_attribute`."""
        super().update({key: as_attribute(value) for key, value in dict(*given, **more).items()})


def as_attribute(value: Any) -> Any:
    """Converts an attribute to the form that operators read.

    Numbers become constants and strings become `Text`; both have a property ``value``.

    >>> found = as_attribute({"kernel": [3, 5], "format": "NCHW"})
    >>> found["kernel"][1].value, found["format"].value
    (5, 'NCHW')
    """
    if isinstance(value, str):
        return Text(value)
    if isinstance(value, (list, tuple)):
        return tuple(map(as_attribute, value))
    if isinstance(value, Mapping):
        return {key: as_attribute(item) for key, item in value.items()}
    return const(value) if isinstance(value, (bool, int, float)) else value


def as_shape(shape: Any) -> tuple[Expr, ...]:
    """Converts a shape to a tuple of expressions; accepts one size or a list of sizes."""
    if isinstance(shape, (int, Expr)):
        shape = (shape,)
    return tuple(as_expr(_as_whole_number(size)) for size in shape)


def _as_whole_number(size: Any) -> Any:
    if isinstance(size, float) and size.is_integer():
        return int(size)
    return size


def static_shape(tensor: Tensor) -> tuple[int, ...] | None:
    """Returns the shape of a tensor as integers.

    Returns None if a size is known only at run time.
    """
    sizes = tuple(size.value for size in tensor.shape if isinstance(size, Const))
    return sizes if len(sizes) == len(tensor.shape) else None


def shape_text(shape: Sequence[Any]) -> str:
    """Formats a shape for display.

    >>> shape_text((2, 3))
    '(2, 3)'
    """
    return f"({', '.join(map(str, shape))}{',' if len(shape) == 1 else ''})"


def fresh_name(stem: str) -> str:
    """Returns a unique stage name: `stem` with a serial number."""
    return f"{stem}_{next(_name_counter)}"


def placeholder(
    shape: Any,
    dtype: str = "float32",
    name: str | None = None,
    attrs: Mapping[str, Any] | None = None,
) -> Tensor:
    """Creates an input tensor.

    Args:
        shape: the sizes: integers or variables.
        dtype: dtype of the elements.
        name: name for display; need not be unique.
        attrs: attributes of the operation, such as ``format``.

    Raises:
        InputError: a size is below 0.
    """
    sizes = as_shape(shape)
    if any(isinstance(size, Const) and size.value < 0 for size in sizes):
        raise InputError(
            "a placeholder has a size below 0",
            place=str(user_location()),
            expected=(
                "numbers, or variables for sizes that come later (`classify`, `variable_shape`)"
            ),
            got=shape_text(sizes),
        )
    op = Operation(
        "placeholder", name or fresh_name("input"), [sizes], [dtype_of(dtype).name], attrs=attrs
    )
    return op.outputs[0]


def reduce_axis(dom: Any, name: str = "rv") -> IterVar:
    """Creates a reduction axis over `dom`: a pair (begin, end), or a `Range`."""
    return IterVar(dom if isinstance(dom, Range) else Range(*dom), name, "reduce")


def thread_axis(dom: Any = None, tag: str = "", name: str = "") -> IterVar:
    """Creates an axis over the cores of the device."""
    if isinstance(dom, str):
        dom, tag = None, dom
    return IterVar(
        None if dom is None else Range(*_range_arguments(dom)), name or tag, "thread", tag
    )


def _range_arguments(dom: Any) -> tuple[Any, ...]:
    return tuple(dom) if isinstance(dom, (tuple, list)) else (dom,)


def compute(
    shape: Any,
    function: Callable[..., Any],
    name: str = "compute",
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
    *,
    word: DslCall | None = None,
) -> Any:
    """Creates a stage; each element is computed as an expression of the element's indices.

    Args:
        shape: shape of each output.
        function: takes one index per dimension; returns an expression or a list of expressions.
        name, tag, attrs: see `Operation`.
        word: the call of the DSL operation that builds the stage; None if the stage comes from no
            DSL operation.

    Returns:
        a tensor, or a list of tensors if `function` returns a list.

    Raises:
        InputError: the number of parameters of `function` is not the number of dimensions.
    """
    sizes = as_shape(shape)
    names = _index_names(function, len(sizes), name)
    axis = [IterVar(Range(size), index) for size, index in zip(sizes, names, strict=True)]
    given = function(*axis)
    several = isinstance(given, (tuple, list))
    body = [as_expr(item) for item in (given if several else (given,))]
    op = Operation(
        "compute",
        name,
        [sizes] * len(body),
        [expression.dtype for expression in body],
        axis=axis,
        body=body,
        tag=tag,
        attrs=attrs,
        dsl_call=word,
    )
    return list(op.outputs) if several else op.outputs[0]


def copy_tensor(tensor: Tensor) -> Tensor:
    """Creates a stage that copies `tensor`; both stages have the same source location."""
    copied: Tensor = compute(tensor.shape, lambda *place: tensor(*place), f"{tensor.name}_copy")
    copied.op.location = tensor.op.location
    return copied


def _index_names(function: Callable[..., Any], rank: int, name: str) -> list[str]:
    code = getattr(function, "__code__", None)
    if code is None or code.co_flags & inspect.CO_VARARGS:
        fixed = list(code.co_varnames[: code.co_argcount]) if code else []
        return (fixed + [f"i{index}" for index in range(len(fixed), rank)])[:rank]
    names = list(code.co_varnames[: code.co_argcount])
    if inspect.ismethod(function):
        names = names[1:]
    without_default = len(names) - len(function.__defaults__ or ())
    if not without_default <= rank <= len(names):
        raise InputError(
            f"the function of stage {name} takes {len(names)} indices",
            place=str(user_location()),
            expected=f"{rank}, one for each dimension of its shape",
            got=f"{len(names)}",
        )
    return names[:rank]


def library_stage(
    name: str,
    shapes: Sequence[Any],
    dtypes: Sequence[str],
    word: DslCall,
    *,
    tag: str = "",
    attrs: Mapping[str, Any] | None = None,
) -> tuple[Tensor, ...]:
    """Creates a stage that a library computes as a whole, such as a matrix product or a sort."""
    op = Operation(
        "library",
        name,
        [as_shape(shape) for shape in shapes],
        [dtype_of(dtype).name for dtype in dtypes],
        tag=tag,
        attrs=attrs,
        dsl_call=word,
    )
    return op.outputs


def stages_of(outputs: Sequence[Tensor], known: Container[int] = ()) -> tuple[Operation, ...]:
    """Returns the operations that `outputs` depend on, in topological order.

    Args:
        outputs: tensors of the graph.
        known: the ``id`` of each tensor that is already computed. If all outputs of an operation
            are known, the search does not continue to the operation's inputs.
    """
    found: dict[int, Operation] = {}
    waiting: list[tuple[Operation, bool]] = [(tensor.op, False) for tensor in reversed(outputs)]
    seen: set[int] = set()
    while waiting:
        op, ready = waiting.pop()
        if ready:
            found[id(op)] = op
        elif id(op) not in seen:
            seen.add(id(op))
            waiting.append((op, True))
            if not known or not all(id(tensor) in known for tensor in op.outputs):
                waiting.extend((tensor.op, False) for tensor in reversed(op.input_tensors))
    return tuple(found.values())


def consumers_of(outputs: Sequence[Tensor]) -> dict[int, list[Operation]]:
    """Returns a dict with the operations that read each tensor in the graph of `outputs`.

    The key is the ``id`` of the tensor. Tensors that no operation reads have no entry.
    """
    users: dict[int, list[Operation]] = {}
    for op in stages_of(outputs):
        for tensor in op.input_tensors:
            users.setdefault(id(tensor), []).append(op)
    return users


def variables_of(outputs: Sequence[Tensor]) -> Iterator[Var]:
    """Yields the run-time sizes and scalars of a graph."""
    found = {id(item): item for op in stages_of(outputs) for item in op.variables}
    return iter(found.values())
