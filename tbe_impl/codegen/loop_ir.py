"""Defines the loop IR: typed expressions and statements between DSL stages and C.

Lowering builds the IR, passes transform it, and `tbe_impl.codegen.emit_c` prints it. Every node is
an immutable dataclass: equal nodes compare equal. A pass returns new nodes.

Kinds (types). A vector kind has LANES lanes: ``f32 f64 i8 i16 i32 i64 u8 u16 u32 u64``, and
``mask``, whose lanes are true or false. A scalar kind has one value: ``index`` (64-bit), ``int``,
``flag`` (a condition), ``uintptr_t`` (an address, unsigned). Any other kind is the name of a C type
that the headers define, such as ``wide_sum``, or a pointer type, such as ``float *``.

    expression = Var name                       a variable
               | Int value | Index terms        a constant; a polynomial of variables (scalars)
               | Literal value | Splat scalar   one value in all lanes
               | Zero                           the initial value with all bits zero
               | Op operator operands           add sub mul div mod, comparisons, and or xor not neg
                                                for scalars also bitand, bitnot, and choose
                                                (condition, value, other value)
               | Call function arguments        a named function; `prefix` is the kind it works on
               | Cast value                     conversion to another kind
               | Lane vector number             one lane
               | Pointer base offsets           base + offset + …
               | Element array indices          array[i][j]; without indices the element pointed to
               | AddressOf element
               | Field structure name           a field of the structure that a pointer points to
               | Structure type names values    the address of a new structure
               | Load place stride count        a vector from memory; stride 0 broadcasts, 1 is
                                                contiguous, others gather; count lanes, or all
               | Gather base indices            lane l is base[indices[l]]
    statement  = Let name value                 defines a variable; constant unless `is_mutable`
               | Assign target value
               | Reduce target operator value   combines an accumulator with one more value
               | Store place value stride count stream
                                                stores lanes; non-temporal if `stream` holds
               | Accumulate place value count   adds float32 lanes to float64 elements
               | Prefetch place position
               | Evaluate call                  a call for its effect
               | For name begin end step body   sequential; `unroll` copies; one loop with `inner`
                                                loops inside
               | VectorLoop …                   head, unrolled vectors, vectors, tail of a loop
               | If condition then otherwise
               | Block body                     a scope
               | Restrict name begin end body   loops over a variable run over a part of its range
               | TargetIf macro then otherwise  chosen by a macro of the headers
               | Alloc name element shape       an array on the stack
               | PackTile …                     copies a tile of a tensor to such an array
               | Table …                        a constant table of bytes
               | Continue                       next iteration of the enclosing loop
               | Attempt body final             runs `final` after `body`, also after Leave
               | Leave                          ends the body of the enclosing Attempt
               | Return value
               | Unused names                   parameters that may have no use

Functions of a program call each other by name. The entry function is the one that has a result.

A statement that computes a part of a DSL stage has the stage's number in `stage`.

This module exceeds 500 lines because the node classes and the traversals of their fields belong
together.
"""

from __future__ import annotations

import functools
import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping
from dataclasses import field, fields, replace
from math import comb
from operator import is_
from typing import TYPE_CHECKING, Any, ClassVar, TypeVar

from tbe_impl.records import Record

MASK = "mask"
FLAG = "flag"
INDEX = "index"
INT = "int"
ADDRESS = "uintptr_t"
"""Kind of an address as an unsigned number."""
WIDE = "wide_sum"
"""Kind of an accumulator of float32 values in float64."""
BODY = "tuple[Stmt, ...]"
"""Type of a field that holds a sequence of statements."""


class Node(Record):
    """An expression or a statement."""

    children: ClassVar[tuple[str, ...]] = ()
    """Names of the fields that hold expressions or statements."""
    bodies: ClassVar[tuple[str, ...]] = ()
    """Names of the fields that hold sequences of statements."""

    def __init_subclass__(cls) -> None:
        super().__init_subclass__()
        types = {one.name: str(one.type) for one in fields(cls)}
        cls.children = tuple(
            name for name, type in types.items() if "Expr" in type or "Stmt" in type
        )
        cls.bodies = tuple(name for name, type in types.items() if type == BODY)


class Expr(Node):
    """A value of kind `kind`."""

    if TYPE_CHECKING:

        @property
        def kind(self) -> str:
            """Kind of the value."""


class Var(Expr):
    """A variable, or a constant that the headers define, such as LANES."""

    name: str
    kind: str = INDEX


class Int(Expr):
    """An integer constant."""

    value: int
    kind: str = INDEX


class Index(Expr):
    """A polynomial, given as a sum of terms; a term is the product of variables and an integer."""

    terms: tuple[tuple[tuple[str, ...], int], ...] = ()
    kind: str = INDEX

    @property
    def constant(self) -> int | None:
        """The value of the polynomial if it has no variables, otherwise None."""
        if not self.terms:
            return 0
        return self.terms[0][1] if len(self.terms) == 1 and not self.terms[0][0] else None

    @property
    def variables(self) -> frozenset[str]:
        """The names of the variables in the polynomial."""
        return frozenset(name for names, _ in self.terms for name in names)

    def shift(self, name: str, by: int) -> Index:
        """Returns the polynomial in which ``name + by`` replaces the variable `name`.

        >>> Index(((("n", "i"), 2), (("j",), 1))).shift("i", 3).terms
        ((('n', 'i'), 2), (('n',), 6), (('j',), 1))
        """
        found: dict[tuple[str, ...], int] = {}
        for names, factor in self.terms:
            power = names.count(name)
            others = tuple(one for one in names if one != name)
            for left in range(power, -1, -1):
                term = names if left == power else (*others, *(name,) * left)
                more = factor * comb(power, left) * by ** (power - left)
                found[term] = found.get(term, 0) + more
        terms = ((term, factor) for term, factor in found.items() if factor)
        return Index(tuple(sorted(terms, key=lambda item: -len(item[0]))))


class Literal(Expr):
    """A vector with the same constant in all lanes.

    `text` is the value as text. The texts of −0 and 0 differ, and the texts of two NaNs are equal.
    A comparison of values would give the opposite in both cases.
    """

    kind: str
    text: str
    value: float | int | bool = field(compare=False)


class Splat(Expr):
    """A vector with the same scalar in all lanes."""

    kind: str
    number: Expr


class Zero(Expr):
    """The value of `kind` whose bits are all zero."""

    kind: str = INDEX


class Op(Expr):
    """An operator on vectors of one kind, or on scalars."""

    operator: str
    operands: tuple[Expr, ...]
    kind: str = INDEX


class Call(Expr):
    """A named function of the headers.

    Attributes:
        function: name without prefix.
        arguments: the arguments.
        kind: kind of the result.
        prefix: the kind, or the dtype in memory, of the values that the function processes. It is
            the prefix of the function's name in C. Empty if the name has no prefix.
    """

    function: str
    arguments: tuple[Expr, ...]
    kind: str = INDEX
    prefix: str = ""


class Cast(Expr):
    """A C cast: converts a scalar, converts a pointer, or reinterprets the bits of vector lanes."""

    kind: str
    value: Expr


class Lane(Expr):
    """One lane of a vector."""

    vector: Expr
    number: int
    kind: str = INDEX


class Pointer(Expr):
    """An address: a pointer plus offsets in elements."""

    base: Expr
    offsets: tuple[Expr, ...] = ()
    kind: str = "pointer"


class Element(Expr):
    """An element of an array.

    Without indices, the node is the element that a pointer points to.
    """

    array: str
    indices: tuple[Expr, ...] = ()
    kind: str = INDEX


class AddressOf(Expr):
    """The address of an element."""

    element: Expr
    kind: str = "pointer"


class Field(Expr):
    """A field of the structure that a pointer points to."""

    structure: Expr
    name: str
    kind: str = INDEX


class Structure(Expr):
    """The address of a new structure; fields without a value are zero."""

    type: str
    names: tuple[str, ...]
    values: tuple[Expr, ...]
    kind: str = "pointer"


class Load(Expr):
    """A vector from memory.

    Attributes:
        kind: kind of the vector.
        memory: dtype of the elements in memory, as the prefix of the load functions.
        place: address of the first lane.
        stride: distance between lanes in elements.
        count: number of lanes to load; None for all.
    """

    kind: str
    memory: str
    place: Expr
    stride: Expr = Index((((), 1),))
    count: Expr | None = None

    @property
    def is_contiguous(self) -> bool:
        """Whether the load reads all lanes from consecutive elements."""
        return self.stride == ONE and self.count is None


class Gather(Expr):
    """A vector whose elements are loaded from arbitrary positions of an array.

    `indices` is a vector of the positions, one for each lane.
    """

    kind: str
    memory: str
    base: Expr
    indices: Expr


class Stmt(Node):
    """A statement."""


class Let(Stmt):
    """Defines a variable.

    If there is no value, the variable is not initialised.
    """

    name: str
    kind: str
    value: Expr | None
    is_mutable: bool = False
    stage: int | None = field(default=None, compare=False)


class Assign(Stmt):
    """Assigns to a variable or an element."""

    target: Expr
    value: Expr
    stage: int | None = field(default=None, compare=False)


class Reduce(Stmt):
    """Combines an accumulator with one more value.

    Attributes:
        target: the accumulator.
        operator: ``sum``, ``prod``, ``max`` or ``min``.
        value: the value that is combined with the accumulator.
        function: name of a cheaper function for `operator`, called as function(value, target).
            Empty if there is none.
    """

    target: Expr
    operator: str
    value: Expr
    function: str = ""
    stage: int | None = field(default=None, compare=False)


class Store(Stmt):
    """Stores lanes of a vector.

    Attributes:
        memory: dtype of the elements in memory, as the prefix of the store functions.
        place: address of the first lane.
        value: the vector.
        stride: distance between lanes in elements; 0 stores one lane.
        count: number of lanes to store; None for all.
        stream: condition of a non-temporal store; None for an ordinary store.
    """

    memory: str
    place: Expr
    value: Expr
    stride: Expr = Index((((), 1),))
    count: Expr | None = None
    stream: Expr | None = None
    stage: int | None = field(default=None, compare=False)


class Accumulate(Stmt):
    """Adds lanes of a float32 vector to consecutive float64 elements."""

    place: Expr
    value: Expr
    count: Expr | None = None


class Prefetch(Stmt):
    """Prefetches a cache line.

    `position` is the number of the vector among consecutive vectors. The C code uses this number to
    find the first vector in each cache line. Only this vector prefetches the line. If `position` is
    None, each vector prefetches its cache line.
    """

    place: Expr
    position: Expr | None = None


class Evaluate(Stmt):
    """Calls a function for its effect."""

    call: Expr
    stage: int | None = field(default=None, compare=False)


class For(Stmt):
    """A sequential loop with begin ≤ name < end, where `name` is the loop variable.

    Attributes:
        begin: first value of the loop variable. None if the variable is already defined and the
            loop continues from the variable's value.
        step: increment.
        room: number of elements that an iteration needs; the loop ends when fewer are left.
        unroll: unroll factor; 0 to let the compiler decide.
        kind: kind of the loop variable.
        more: further variables that the loop defines and that its body assigns.
        over: the variable of which this loop visits blocks of `step` values; empty for none. In
            `body`, the loops over that variable run over the current block, from `name` to
            `block_end`. A `Restrict` of that variable also restricts this loop.
        inner: number of perfectly nested inner loops that are coalesced with this loop; see
            `tbe_impl.codegen.passes.loop_coalescing`.
        is_shared: whether threads share the iterations of the coalesced loop.
        jam: number of iterations to unroll and jam; 0 for none.
        strip: number of iterations of a strip for loop interchange; 0 for none; see
            `tbe_impl.codegen.passes.loop_interchange`.
    """

    name: str
    begin: Expr | None
    end: Expr
    body: tuple[Stmt, ...]
    step: Expr = Int(1)
    room: Expr | None = None
    unroll: int = 0
    kind: str = INDEX
    more: tuple[str, ...] = ()
    over: str = ""
    inner: int = 0
    is_shared: bool = False
    jam: int = 0
    strip: int = 0

    @property
    def block_end(self) -> Var:
        """The variable with the exclusive end of the current block."""
        return Var(f"{self.name}_end")


class If(Stmt):
    """A conditional statement."""

    condition: Expr
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()
    stage: int | None = field(default=None, compare=False)


class Block(Stmt):
    """A scope."""

    body: tuple[Stmt, ...]


class Restrict(Stmt):
    """Restricts the loops over a variable in `body` to begin ≤ name < end.

    The statement is no scope. The pass `tbe_impl.codegen.passes.loop_restriction` replaces it by
    its body with new loop bounds.

    Attributes:
        name: the loop variable.
        begin, end: the range to which the loops are restricted.
        limit: the exclusive end of the variable's whole range, which begins with 0.
    """

    name: str
    begin: Expr
    end: Expr
    limit: Expr
    body: tuple[Stmt, ...]


class TargetIf(Stmt):
    """Chooses between two lists of statements by a macro that depends on the instruction set."""

    macro: str
    then: tuple[Stmt, ...]
    otherwise: tuple[Stmt, ...] = ()


class Alloc(Stmt):
    """An array on the stack.

    `alignment` is in bytes; 0 selects the natural alignment of the elements.
    """

    name: str
    element: str
    shape: tuple[Expr, ...]
    alignment: int = 0


class PackTile(Stmt):
    """Copies a tile of a tensor to the array `name`, one row for each lane.

    Attributes:
        name: name of the array, which has LANES rows of `steps` elements.
        element: C type of an element.
        place: address of the first element of the first row.
        stride: distance between rows in elements.
        lanes: number of rows to copy.
        count: number of elements to copy from each row.
        steps: maximum of `count`.
    """

    name: str
    element: str
    place: Expr
    stride: Expr
    lanes: Expr
    count: Expr
    steps: int


class Table(Stmt):
    """A lookup table of a float16 function.

    Each row is stored as bytes.
    """

    name: str
    rows: tuple[tuple[int, ...], ...]
    degree: int
    of_product: bool
    step: float


class Unused(Stmt):
    """Names parameters that the function may leave unused."""

    names: tuple[str, ...]


class Continue(Stmt):
    """Starts the next iteration of the enclosing loop."""


class Attempt(Stmt):
    """Runs `body` until its end or a `Leave`, then `final`.

    A function contains at most one `Attempt`.
    """

    body: tuple[Stmt, ...]
    final: tuple[Stmt, ...]


class Leave(Stmt):
    """Ends the body of the enclosing `Attempt`."""


class Return(Stmt):
    """Ends the function with a result."""

    value: Expr


class VectorLoop(Stmt):
    """A loop that processes LANES elements per step.

    Attributes:
        name: name of the loop variable.
        begin, limit: begin and exclusive end of the loop.
        whole: statements for one whole vector; empty if the loop has fewer elements than a vector.
        steps: number of elements; None if it is unknown.
        head: number of elements to peel before the first whole vector; None for none.
        unroll: number of vectors per iteration of the unrolled loop.
        accumulators: one group of variable names for each accumulator of a reduction. `whole` uses
            the first name of a group. `tbe_impl.codegen.passes.accumulators` adds a name to the
            group for each further vector of an unrolled iteration.
        first: statements for the peeled elements; see `tbe_impl.codegen.passes.vector_tails`.
        copies: statements for each vector of an unrolled iteration.
        rest: statements for the elements after the last whole vector.
        strips: the loop after loop fission (`tbe_impl.codegen.passes.loop_fission`); empty without
            fission.
        cells: an alternative loop with table lookups, for processors with float16 arithmetic; see
            `tbe_impl.codegen.passes.table_loops`.
    """

    name: str
    begin: Expr
    limit: Expr
    whole: tuple[Stmt, ...]
    steps: int | None = None
    head: Expr | None = None
    unroll: int = 1
    accumulators: tuple[tuple[str, ...], ...] = ()
    first: tuple[Stmt, ...] = ()
    copies: tuple[tuple[Stmt, ...], ...] = ()
    rest: tuple[Stmt, ...] = ()
    strips: tuple[Stmt, ...] = ()
    cells: tuple[Stmt, ...] = ()

    @property
    def head_count(self) -> Var:
        """The variable with the number of peeled elements."""
        return Var(f"{self.name}_head", INT)

    @property
    def rest_count(self) -> Var:
        """The variable with the number of elements after the last whole vector."""
        return Var(f"{self.name}_rest", INT)


class Parameter(Node):
    """A parameter of a function."""

    name: str
    kind: str


class Function(Node):
    """A function; passes change its `body`, and remove `declarations` that become unused.

    `result` is the kind of the result; empty for a function without result.
    """

    name: str
    parameters: tuple[Parameter, ...]
    declarations: tuple[Stmt, ...]
    body: tuple[Stmt, ...]
    result: str = ""


ZERO = Index()
ONE = Index((((), 1),))
LANES = Var("LANES")


def index_of(value: int) -> Index:
    """Returns a constant index."""
    return Index((((), value),)) if value else ZERO


def op(operator: str, *operands: Expr, kind: str = INDEX) -> Op:
    """Returns an operator on scalars."""
    return Op(operator, operands, kind)


def call(function: str, *arguments: Expr, kind: str = INDEX, prefix: str = "") -> Call:
    """Returns a call of a function that the headers define."""
    return Call(function, arguments, kind, prefix)


def fold(operator: str, operands: Iterable[Expr], kind: str = INDEX) -> Expr:
    """Combines one or more scalars by a binary operator, from left to right."""
    return functools.reduce(lambda one, other: op(operator, one, other, kind=kind), operands)


def every(conditions: Iterable[Expr]) -> Expr | None:
    """Returns the conjunction of conditions; None if there are none."""
    found = tuple(conditions)
    return fold("and", found, FLAG) if found else None


def walk(item: Node | Iterable[Node]) -> Iterator[Node]:
    """Yields the given nodes and all nested nodes, each node before its nested nodes."""
    waiting: list[Any] = [item]
    while waiting:
        node = waiting.pop()
        if isinstance(node, Node):
            yield node
            for name in reversed(node.children):
                inner = getattr(node, name)
                if inner is not None:
                    waiting.append(inner)
        else:
            waiting += reversed(tuple(node))


Item = TypeVar("Item")


def rebuild(item: Item, change: Callable[[Node], Node]) -> Item:
    """Returns a copy in which `change` has replaced each node, innermost nodes first."""
    if not isinstance(item, Node):
        new = tuple([rebuild(one, change) for one in item])  # type: ignore[attr-defined]
        same = all(map(is_, new, item))  # type: ignore[call-overload]
        return item if same else new  # type: ignore[return-value]
    changed = {}
    for name in item.children:
        before = getattr(item, name)
        if before is not None:
            after = rebuild(before, change)
            if after is not before:
                changed[name] = after
    return change(replace(item, **changed) if changed else item)  # type: ignore[return-value]


def map_bodies(
    body: tuple[Stmt, ...], change: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]
) -> tuple[Stmt, ...]:
    """Returns a copy of statements in which `change` has replaced each sequence of statements.

    Inner sequences are replaced before outer ones. Each list of statements of a `VectorLoop` is
    such a sequence.
    """
    found = [_map_parts(node, change) if node.bodies else node for node in body]
    return change(body if all(map(is_, found, body)) else tuple(found))


def _map_parts(node: Stmt, change: Callable[[tuple[Stmt, ...]], tuple[Stmt, ...]]) -> Stmt:
    changed: dict[str, Any] = {}
    for name in node.bodies:
        before = getattr(node, name)
        after = map_bodies(before, change) if before else before
        if after is not before:
            changed[name] = after
    if isinstance(node, VectorLoop) and node.copies:
        changed["copies"] = tuple(map_bodies(copy, change) for copy in node.copies)
    return replace(node, **changed) if changed else node


def map_statements(
    body: tuple[Stmt, ...],
    change: Callable[[Stmt], tuple[Stmt, ...]],
    changed: frozenset[type] = frozenset(),
) -> tuple[Stmt, ...]:
    """Returns a copy in which `change` has replaced each statement, innermost ones first.

    `changed` are the classes of statements that `change` may replace; empty for all.
    """

    def change_all(inner: tuple[Stmt, ...]) -> tuple[Stmt, ...]:
        if changed and changed.isdisjoint(map(type, inner)):
            return inner
        new = tuple(itertools.chain.from_iterable(map(change, inner)))
        return inner if len(new) == len(inner) and all(map(is_, new, inner)) else new

    return map_bodies(body, change_all)


def names_in(item: Node | Iterable[Node]) -> set[str]:
    """Returns the names that expressions and statements use, and those that statements define."""
    found: set[str] = set()
    for node in walk(item):
        if isinstance(node, Index):
            for names, _ in node.terms:
                found.update(names)
        elif isinstance(node, Element):
            found.add(node.array)
        elif isinstance(node, _NAMED):
            found.add(node.name)
    return found


_NAMED = (Var, Let, For, VectorLoop, Alloc, PackTile, Table)


def rename(item: Item, names: Mapping[str, str]) -> Item:
    """Returns a copy in which variables and arrays have new names."""

    def change(node: Node) -> Node:
        if isinstance(node, Index):
            if node.variables.isdisjoint(names):
                return node
            terms = ((tuple(names.get(one, one) for one in term), by) for term, by in node.terms)
            return Index(tuple(terms))
        if isinstance(node, Element):
            return replace(node, array=names.get(node.array, node.array))
        if isinstance(node, _NAMED):
            return replace(node, name=names[node.name]) if node.name in names else node
        return node

    return rebuild(item, change)
