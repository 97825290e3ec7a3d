"""Access analysis: which axes of inlined stages may be merged into one loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from tbe_impl.codegen.polynomials import ONE, ZERO, Poly
from tbe_impl.dsl.dtypes import is_float
from tbe_impl.dsl.expr import (
    Binary,
    Cast,
    Const,
    Expr,
    IterVar,
    Read,
    Reduce,
    Select,
    Var,
    binary,
    const,
    identical,
    walk,
)
from tbe_impl.dsl.sizes import is_one
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.errors import CompileError

Environment = Mapping[int, Poly | None]
"""Serial number of an axis → its index; None for one that is no polynomial."""

Verdict = Callable[[Expr, Environment], bool | None]
"""Whether a condition is known to hold, or known not to."""


class Derived(Var):
    """A size that is neither a sum nor a product of sizes, such as half of one: handed to the kernel as a number."""

    __slots__ = ("expression",)

    def __init__(self, expression: Expr):
        super().__init__("derived", "int64")
        self.expression = expression


_derived: ContextVar[dict[str, Derived] | None] = ContextVar("derived", default=None)


@contextmanager
def derived_sizes() -> Iterator[dict[str, Derived]]:
    """Inside, such sizes are collected, equal ones as one; the rest of the program uses them like any size."""
    found: dict[str, Derived] = {}
    token = _derived.set(found)
    try:
        yield found
    finally:
        _derived.reset(token)


def _as_derived(node: Expr) -> Poly | None:
    table = _derived.get()
    parts = list(walk(node))
    if (
        table is None
        or is_float(node.dtype)
        or not all(isinstance(part, (Binary, Const, Var)) for part in parts)
    ):
        return None
    if not any(isinstance(part, Var) for part in parts):
        return None
    names = {part.serial: f"{part.name}#{part.serial}" for part in parts if isinstance(part, Var)}
    key = _text(node, names)
    if key not in table:
        table[key] = Derived(node)
    return Poly.variable(table[key].serial)


def _text(node: Expr, names: Mapping[int, str]) -> str:
    if isinstance(node, Binary):
        return f"{node.op}({_text(node.a, names)}, {_text(node.b, names)})"
    return names[node.serial] if isinstance(node, Var) else repr(node)


def size_poly(size: Expr) -> Poly | None:
    """A size as a polynomial over the variables of a dynamic shape."""
    return index_poly(size, {})


def extent_of(axis: IterVar) -> Poly:
    """How long an axis is.

    Raises:
        CompileError: that is no polynomial.
    """
    extent = size_poly(axis.extent)
    if extent is None:
        raise CompileError(f"the extent of axis {axis} is no sum or product of sizes")
    return extent


def elements_of(tensor: Tensor) -> Poly:
    """How many elements a tensor has."""
    total = ONE
    for size in tensor.shape:
        extent = size_poly(size)
        assert extent is not None
        total = total * extent
    return total


def index_poly(node: Expr, environment: Environment) -> Poly | None:
    """An index as a polynomial, or None when it is none."""
    if isinstance(node, Const):
        return Poly.of(int(node.value)) if isinstance(node.value, int) else None
    if isinstance(node, IterVar):
        found = environment.get(node.serial)
        return None if found is None else found + first_of(node)
    if isinstance(node, Var):
        return None if is_float(node.dtype) else Poly.variable(node.serial)
    if isinstance(node, Cast):
        is_whole = node.dtype.startswith(("int", "uint"))
        return index_poly(node.value, environment) if is_whole else None
    if isinstance(node, Binary) and node.op in ("add", "sub", "mul"):
        a, b = index_poly(node.a, environment), index_poly(node.b, environment)
        if a is None or b is None:
            return None
        return {"add": Poly.__add__, "sub": Poly.__sub__, "mul": Poly.__mul__}[node.op](a, b)
    return _as_derived(node)


def flat_index(node: Read) -> Expr | None:
    """Where an element lies in a tensor, where some of its indices are taken apart from one number, as a reshape does.

    None when no indices are.
    """
    sizes, axis = node.tensor.shape, len(node.indices)
    total: Expr = const(0)
    stride: Expr = const(1)
    parts: Expr | None = None  # what the axes before have to hold: the quotient of those behind
    is_taken = False
    while axis:
        axis -= 1
        index, size = node.indices[axis], sizes[axis]
        if is_one(size) and isinstance(index, Const) and index.value == 0:
            continue
        is_remainder = (
            isinstance(index, Binary) and index.op == "floormod" and identical(index.b, size)
        )
        place = index.a if is_remainder else index  # type: ignore[attr-defined]
        if parts is None:
            total = place * stride + total
        elif not identical(place, parts):
            return None
        is_taken = is_taken or is_remainder
        parts = binary("floordiv", place, size) if is_remainder else None
        stride = stride * size
    return total if is_taken and parts is None else None


def division(node: Expr, environment: Environment) -> tuple[Poly, Poly] | None:
    """What is divided by what, when an index is a quotient or a remainder."""
    if not isinstance(node, Binary) or node.op not in ("floordiv", "floormod"):
        return None
    a, b = index_poly(node.a, environment), index_poly(node.b, environment)
    return None if a is None or b is None else (a, b)


def first_of(axis: IterVar) -> Poly:
    """Where an axis begins; its loop begins at 0."""
    if axis.dom is None or (isinstance(axis.dom.min, Const) and axis.dom.min.value == 0):
        return ZERO
    begin = size_poly(axis.dom.min)
    if begin is None:
        raise CompileError(f"the begin of axis {axis} is no sum or product of sizes")
    return begin


def strides_of(tensor: Tensor) -> tuple[Poly, ...] | None:
    """Elements from one index to the next, for each dimension of a dense tensor."""
    strides: list[Poly] = []
    step = ONE
    for size in reversed(tensor.shape):
        strides.append(step)
        extent = size_poly(size)
        if extent is None:
            return None
        step = step * extent
    return tuple(reversed(strides))


@dataclass
class Accesses:
    """What a walk met.

    Attributes:
        addresses: of elements of stored tensors, each with the tensor.
        fixed: variables that are used as numbers, or in an index that is no polynomial; they cannot be merged.
        conditions: that decide what is read and are not known, each with what its axes are.
        divided: indices that are quotients or remainders: of what, by what.
    """

    addresses: list[tuple[Tensor, Poly]] = field(default_factory=list)
    fixed: set[int] = field(default_factory=set)
    conditions: list[tuple[Expr, Environment]] = field(default_factory=list)
    divided: list[tuple[Poly, Poly]] = field(default_factory=list)

    @property
    def are_plain(self) -> bool:
        """Whether no condition decides what is read, and no index is a quotient or a remainder."""
        return not self.conditions and not self.divided

    def add(self, other: Accesses) -> None:
        """Takes in those of other expressions."""
        self.addresses += other.addresses
        self.fixed |= other.fixed
        self.conditions += other.conditions
        self.divided += other.divided


def _unknown(condition: Expr, environment: Environment) -> None:
    return None


def accesses_of(
    expressions: Iterable[Expr],
    environment: Environment,
    stored: Iterable[int],
    verdict: Verdict = _unknown,
) -> Accesses:
    """The accesses of expressions, through every stage that is not stored itself.

    Args:
        expressions: bodies.
        environment: what their axes are.
        stored: ``id`` of the tensors that lie in memory.
        verdict: what is known of the conditions of selects; the side that is not taken is left out.
    """
    walker = _Walker(frozenset(stored), verdict)
    for expression in expressions:
        walker.walk(expression, dict(environment))
    return walker.found


class _Walker:
    def __init__(self, stored: frozenset[int], verdict: Verdict):
        self.stored, self.verdict = stored, verdict
        self.found = Accesses()
        self.seen: set[tuple[int, tuple[Poly | None, ...]]] = set()

    def walk(self, node: Expr, environment: dict[int, Poly | None]) -> None:
        if isinstance(node, Read):
            self._read(node, environment)
            return
        if isinstance(node, IterVar):
            self._fix(environment.get(node.serial))
            return
        if isinstance(node, Select):
            holds = self.verdict(node.condition, environment)
            if holds is not None:
                self.walk(node.a if holds else node.b, environment)
                return
            if any(isinstance(part, Read) for side in (node.a, node.b) for part in walk(side)):
                self.found.conditions.append((node.condition, environment))
        if isinstance(node, Reduce):
            environment = environment | {
                axis.serial: Poly.variable(axis.serial) for axis in node.axes
            }
        for child in node.children:
            self.walk(child, environment)

    def _read(self, node: Read, environment: dict[int, Poly | None]) -> None:
        indices = [index_poly(index, environment) for index in node.indices]
        if None in indices and id(node.tensor) in self.stored:
            flat = flat_index(node)
            place = None if flat is None else index_poly(flat, environment)
            if place is not None:
                self.found.addresses.append((node.tensor, place))
                return
        for expression, index in zip(node.indices, indices, strict=True):
            if index is None:
                parts = division(expression, environment)
                self.found.divided += [parts] if parts else []
                self.walk(expression, environment)
        key = (id(node.tensor), tuple(indices))
        if key in self.seen:
            return
        self.seen.add(key)
        if id(node.tensor) in self.stored:
            strides = strides_of(node.tensor)
            if strides is None or None in indices:
                for index in indices:
                    self._fix(index)
                return
            address = ZERO
            for index, stride in zip(indices, strides, strict=True):
                assert index is not None
                address = address + index * stride
            self.found.addresses.append((node.tensor, address))
            return
        op = node.tensor.op
        inner: dict[int, Poly | None] = {
            axis.serial: index for axis, index in zip(op.axis, indices, strict=True)
        }
        self.walk(op.body[node.tensor.value_index], inner)

    def _fix(self, index: Poly | None) -> None:
        if index is not None:
            self.found.fixed.update(index.variables)


def merged(axes: Sequence[tuple[int, Poly]], found: Accesses) -> list[list[tuple[int, Poly]]]:
    """Axes in groups of neighbours that may be one loop.

    Two neighbours may when every address moves by one step of the outer exactly as by all steps of the inner.

    Args:
        axes: serial number and extent of each, the outermost first.
        found: the accesses that hold them.
    """
    groups: list[list[tuple[int, Poly]]] = []
    for serial, extent in axes:
        if groups and _joins(groups[-1][-1][0], serial, extent, found):
            groups[-1].append((serial, extent))
        else:
            groups.append([(serial, extent)])
    return groups


def _joins(outer: int, inner: int, extent: Poly, found: Accesses) -> bool:
    if found.fixed & {outer, inner}:
        return False
    for _, address in found.addresses:
        first, second = address.coefficient(outer), address.coefficient(inner)
        if first is None or second is None or first != second * extent:
            return False
    return True
