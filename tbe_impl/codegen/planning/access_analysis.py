"""Analyses the memory accesses of inlined stages and finds which axes may merge into one loop."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass, field

from tbe_impl.codegen.planning.polynomials import ONE, ZERO, Poly
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
    const,
    is_identical,
    make_binary,
    walk,
)
from tbe_impl.dsl.sizes import is_one
from tbe_impl.dsl.tensor import Tensor
from tbe_impl.errors import CompileError

Environment = Mapping[int, Poly | None]
"""Maps the serial number of an axis to its index, or to None if the index is not a polynomial."""

ConditionDecider = Callable[[Expr, Environment], bool | None]
"""Returns the value of a condition, or None if the value is unknown at compile time."""


class DerivedSize(Var):
    """A size that is not a polynomial of other sizes, such as n // 2.

    The kernel receives the value of the size as an argument.
    """

    __slots__ = ("expression",)

    def __init__(self, expression: Expr):
        super().__init__("derived", "int64")
        self.expression = expression


_active_derived_sizes: ContextVar[dict[str, DerivedSize] | None] = ContextVar(
    "derived", default=None
)


@contextmanager
def collect_derived_sizes() -> Iterator[dict[str, DerivedSize]]:
    """Collects the derived sizes of a program; equal expressions share one `DerivedSize`.

    In the body of the ``with`` statement, `size_poly` treats a derived size like any other size.
    """
    found: dict[str, DerivedSize] = {}
    token = _active_derived_sizes.set(found)
    try:
        yield found
    finally:
        _active_derived_sizes.reset(token)


def _register_derived_size(node: Expr) -> Poly | None:
    table = _active_derived_sizes.get()
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
    key = _expression_key(node, names)
    if key not in table:
        table[key] = DerivedSize(node)
    return Poly.variable(table[key].serial)


def _expression_key(node: Expr, names: Mapping[int, str]) -> str:
    if isinstance(node, Binary):
        return f"{node.op}({_expression_key(node.a, names)}, {_expression_key(node.b, names)})"
    return names[node.serial] if isinstance(node, Var) else repr(node)


def size_poly(size: Expr) -> Poly | None:
    """Returns a size as a polynomial over the run-time sizes, or None if it is not a polynomial."""
    return index_poly(size, {})


def extent_of(axis: IterVar) -> Poly:
    """Returns the extent of an axis.

    Raises:
        CompileError: the extent is not a polynomial.
    """
    extent = size_poly(axis.extent)
    if extent is None:
        raise CompileError(f"the extent of axis {axis} is not a sum or product of sizes")
    return extent


def element_count(tensor: Tensor) -> Poly:
    """Returns the number of elements of a tensor."""
    total = ONE
    for size in tensor.shape:
        extent = size_poly(size)
        assert extent is not None
        total = total * extent
    return total


def index_poly(node: Expr, environment: Environment) -> Poly | None:
    """Returns an index as a polynomial, or None if the index is not a polynomial."""
    if isinstance(node, Const):
        return Poly.from_int(int(node.value)) if isinstance(node.value, int) else None
    if isinstance(node, IterVar):
        found = environment.get(node.serial)
        return None if found is None else found + axis_begin(node)
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
    return _register_derived_size(node)


def flat_index(node: Read) -> Expr | None:
    """Returns the flat index that the indices of a read delinearize, as in a reshape.

    Such indices are quotients and remainders of one flat index by the sizes of the tensor. Returns
    None if the indices of the read do not have this form.
    """
    sizes, axis = node.tensor.shape, len(node.indices)
    total: Expr = const(0)
    stride: Expr = const(1)
    parts: Expr | None = None  # the quotient that the indices of the outer axes must delinearize
    is_taken = False
    while axis:
        axis -= 1
        index, size = node.indices[axis], sizes[axis]
        if is_one(size) and isinstance(index, Const) and index.value == 0:
            continue
        is_remainder = (
            isinstance(index, Binary) and index.op == "floormod" and is_identical(index.b, size)
        )
        place = index.a if is_remainder else index  # type: ignore[attr-defined]
        if parts is None:
            total = place * stride + total
        elif not is_identical(place, parts):
            return None
        is_taken = is_taken or is_remainder
        parts = make_binary("floordiv", place, size) if is_remainder else None
        stride = stride * size
    return total if is_taken and parts is None else None


def division_operands(node: Expr, environment: Environment) -> tuple[Poly, Poly] | None:
    """Returns (dividend, divisor) if an index is a quotient or a remainder, otherwise None."""
    if not isinstance(node, Binary) or node.op not in ("floordiv", "floormod"):
        return None
    a, b = index_poly(node.a, environment), index_poly(node.b, environment)
    return None if a is None or b is None else (a, b)


def axis_begin(axis: IterVar) -> Poly:
    """Returns the first index of an axis.

    The loop variable of an axis starts at 0, so the first index must be added to the loop variable.
    """
    if axis.dom is None or (isinstance(axis.dom.min, Const) and axis.dom.min.value == 0):
        return ZERO
    begin = size_poly(axis.dom.min)
    if begin is None:
        raise CompileError(f"the begin of axis {axis} is not a sum or product of sizes")
    return begin


def strides_of(tensor: Tensor) -> tuple[Poly, ...] | None:
    """Returns the row-major strides of a tensor in elements.

    Returns None if a size of the tensor is not a polynomial over the run-time sizes.
    """
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
    """The memory accesses of an expression.

    Attributes:
        addresses: one pair (stored tensor, address of the element) for each access.
        unmergeable: loop variables whose axes cannot be merged. Such a variable is used as a value,
            or in an index that is not a polynomial.
        conditions: one pair for each select that chooses between reads, if the condition of the
            select may vary in the loops. The pair is (condition, dict from the serial number of an
            axis, `IterVar.serial`, to the index of this axis).
        divided: one pair (dividend, divisor) for each index that is a quotient or a remainder.
    """

    addresses: list[tuple[Tensor, Poly]] = field(default_factory=list)
    unmergeable: set[int] = field(default_factory=set)
    conditions: list[tuple[Expr, Environment]] = field(default_factory=list)
    divided: list[tuple[Poly, Poly]] = field(default_factory=list)

    @property
    def is_split_free(self) -> bool:
        """Returns whether the accesses require no index-set splitting of the loops.

        Conditions of selects, quotients and remainders may require such splitting.
        """
        return not self.conditions and not self.divided

    def add(self, other: Accesses) -> None:
        """Adds the accesses of another expression."""
        self.addresses += other.addresses
        self.unmergeable |= other.unmergeable
        self.conditions += other.conditions
        self.divided += other.divided


def _leave_undecided(condition: Expr, environment: Environment) -> None:
    return None


def accesses_of(
    expressions: Iterable[Expr],
    environment: Environment,
    stored: Iterable[int],
    verdict: ConditionDecider = _leave_undecided,
) -> Accesses:
    """Collects the accesses of expressions and of every unstored stage that they read.

    Args:
        expressions: bodies of stages.
        environment: maps the serial number of an axis to its index.
        stored: ``id`` of the tensors in memory.
        verdict: function that decides the condition of a select. It returns True if the condition
            always holds, False if it never holds, and None otherwise. If the condition is decided,
            the operand that is never selected is skipped.
    """
    walker = _AccessWalker(frozenset(stored), verdict)
    for expression in expressions:
        walker.walk(expression, dict(environment))
    return walker.found


class _AccessWalker:
    def __init__(self, stored: frozenset[int], verdict: ConditionDecider):
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
                parts = division_operands(expression, environment)
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
            self.found.unmergeable.update(index.variables)


def merge_axes(axes: Sequence[tuple[int, Poly]], found: Accesses) -> list[list[tuple[int, Poly]]]:
    """Groups adjacent axes that may be merged into one loop.

    Two axes may merge if, in every address, the outer stride equals the inner stride times the
    inner extent.

    Args:
        axes: one pair (serial number, extent) for each axis, outermost first.
        found: the memory accesses of the loops.
    """
    groups: list[list[tuple[int, Poly]]] = []
    for serial, extent in axes:
        if groups and _can_merge(groups[-1][-1][0], serial, extent, found):
            groups[-1].append((serial, extent))
        else:
            groups.append([(serial, extent)])
    return groups


def _can_merge(outer: int, inner: int, extent: Poly, found: Accesses) -> bool:
    if found.unmergeable & {outer, inner}:
        return False
    for _, address in found.addresses:
        first, second = address.coefficient(outer), address.coefficient(inner)
        if first is None or second is None or first != second * extent:
            return False
    return True
