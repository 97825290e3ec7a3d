"""Defines the scalar expressions of stage bodies: nodes, constant folding and traversal.

Nodes are immutable. Arithmetic on constants gives constants. Comparisons of constants give Python
bools, because the Python code of operators branches on the values of shapes.

This module exceeds 500 lines because the node classes and their arithmetic belong together.
"""

from __future__ import annotations

import itertools
import math
import operator
from collections.abc import Callable, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from tbe_impl.dsl.dtypes import common_dtype, dtype_of, is_float
from tbe_impl.errors import InputError

if TYPE_CHECKING:
    from tbe_impl.dsl.tensor import Tensor

_serial_numbers = itertools.count()


Operator = Callable[[Any, Any], Any]


def _make_operator(op: str) -> Operator:
    """Returns the method that builds ``self op other``."""
    return lambda self, other: make_binary(op, self, other)


def _make_reflected_operator(op: str) -> Operator:
    """Returns the method that builds ``other op self``."""
    return lambda self, other: make_binary(op, other, self)


class Expr:
    """A node of a scalar expression; every node has a dtype."""

    __slots__ = ("dtype",)
    dtype: str

    @property
    def children(self) -> tuple[Expr, ...]:
        """The operands of this node."""
        return ()

    __add__, __radd__ = _make_operator("add"), _make_reflected_operator("add")
    __sub__, __rsub__ = _make_operator("sub"), _make_reflected_operator("sub")
    __mul__, __rmul__ = _make_operator("mul"), _make_reflected_operator("mul")
    __truediv__, __rtruediv__ = _make_operator("div"), _make_reflected_operator("div")
    __floordiv__, __rfloordiv__ = _make_operator("floordiv"), _make_reflected_operator("floordiv")
    __mod__, __rmod__ = _make_operator("floormod"), _make_reflected_operator("floormod")
    __pow__ = _make_operator("pow")
    __lt__ = _make_operator("lt")
    __le__ = _make_operator("le")
    __gt__ = _make_operator("gt")
    __ge__ = _make_operator("ge")
    __and__ = _make_operator("bitand")
    __or__ = _make_operator("bitor")
    __xor__ = _make_operator("bitxor")
    __lshift__ = _make_operator("shl")
    __rshift__ = _make_operator("shr")

    def __neg__(self) -> Expr:
        return make_binary("mul", self, const(-1, self.dtype))

    def __eq__(self, other: Any) -> Any:
        if other is None or isinstance(other, (str, tuple, list)):
            return False
        return make_binary("eq", self, other)

    def __ne__(self, other: Any) -> Any:
        if other is None or isinstance(other, (str, tuple, list)):
            return True
        return make_binary("ne", self, other)

    def __invert__(self) -> Expr:
        return call("bitnot", self)

    def __hash__(self) -> int:
        return id(self)

    def __bool__(self) -> bool:
        raise InputError(
            f"the value of `{self}` is not known before run time",
            remedy="Choose between two values with select, or compare constants",
        )

    def same_as(self, other: Any) -> bool:
        """Whether `other` is the same object as this node."""
        return self is other

    def equal(self, other: Any) -> Any:
        """Builds the expression ``self == other``."""
        return make_binary("eq", self, other)

    def astype(self, dtype: str) -> Expr:
        """Casts this value to `dtype`."""
        return cast(dtype, self)


class Const(Expr):
    """A constant: a number, or a string for the few operators that pass strings."""

    __slots__ = ("value",)

    def __init__(self, value: Any, dtype: str):
        self.value, self.dtype = value, dtype

    def __int__(self) -> int:
        return int(self.value)

    def __index__(self) -> int:
        if isinstance(self.value, int):
            return self.value
        raise TypeError(f"{self.value!r} is not an integer")

    def __float__(self) -> float:
        return float(self.value)

    def __bool__(self) -> bool:
        return bool(self.value)

    def __eq__(self, other: Any) -> Any:
        if isinstance(other, str) or isinstance(self.value, str):
            return self.value == (other.value if isinstance(other, Const) else other)
        return super().__eq__(other)

    def __hash__(self) -> int:
        return hash(self.value)

    def __repr__(self) -> str:
        return repr(self.value)


class IntImm(Const):
    """An integer constant."""

    __slots__ = ()


class FloatImm(Const):
    """A floating-point constant."""

    __slots__ = ()


class StringImm(Const):
    """A string constant."""

    __slots__ = ()


class Text(str):
    """A string attribute: a Python string that also has a property ``value``."""

    __slots__ = ()
    dtype = "handle"

    @property
    def value(self) -> str:
        """The string itself, as a plain ``str``."""
        return str(self)


class Var(Expr):
    """A scalar that is known only at run time: a size of a dynamic shape, or a scalar argument.

    Attributes:
        name: the name in the operator.
        bound: a pair (least value, greatest value), or None if the bounds are unknown. The greatest
            value is None if there is no upper bound.
        axis: a position in an original shape, or None. The position is set if the variable is the
            size of an axis that was merged with other axes. It is the position of this axis before
            the merge.
    """

    __slots__ = ("axis", "bound", "name", "serial")

    def __init__(
        self,
        name: str = "i",
        dtype: str = "int32",
        bound: tuple[int, int | None] | None = None,
        axis: int | None = None,
    ):
        self.name, self.dtype, self.bound, self.axis = name, dtype_of(dtype).name, bound, axis
        self.serial = next(_serial_numbers)

    def __repr__(self) -> str:
        return self.name


class Range:
    """The range of `extent` consecutive integers that starts at `min`."""

    __slots__ = ("extent", "min")

    def __init__(self, begin: Any, end: Any = None):
        if end is None:
            self.min: Expr = const(0)
            self.extent: Expr = as_expr(begin)
        else:
            self.min, self.extent = as_expr(begin), as_expr(end) - as_expr(begin)

    def __repr__(self) -> str:
        return f"range({self.min}, {self.min + self.extent})"


class IterVar(Expr):
    """An axis of a stage.

    Attributes:
        dom: the range of the values of the axis.
        kind: ``data`` (an axis of the outputs), ``reduce`` (an axis of a reduction) or ``thread``
            (an axis over the cores of the device).
        name: name for display.
    """

    __slots__ = ("dom", "kind", "name", "serial", "thread_tag")

    def __init__(self, dom: Range | None, name: str, kind: str = "data", thread_tag: str = ""):
        self.dom, self.name, self.kind, self.thread_tag = dom, name, kind, thread_tag
        self.dtype = "int32"
        self.serial = next(_serial_numbers)

    @property
    def var(self) -> IterVar:
        """The axis itself; in TVM, every axis has a separate variable."""
        return self

    @property
    def extent(self) -> Expr:
        """The number of values of the axis."""
        assert self.dom is not None
        return self.dom.extent

    def __repr__(self) -> str:
        return self.name


class Binary(Expr):
    """A binary operator applied to two operands; `op` is a key of `BINARY_SYMBOLS`."""

    __slots__ = ("a", "b", "op")

    def __init__(self, op: str, a: Expr, b: Expr, dtype: str):
        self.op, self.a, self.b, self.dtype = op, a, b, dtype

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.a, self.b)

    def __bool__(self) -> bool:
        # as in TVM: an undecided comparison is true if both sides are the same expression
        if self.op in ("eq", "ne"):
            return is_identical(self.a, self.b) == (self.op == "eq")
        return super().__bool__()

    def __repr__(self) -> str:
        symbol = BINARY_SYMBOLS[self.op]
        if symbol.isidentifier():
            return f"{symbol}({self.a}, {self.b})"
        return f"({self.a} {symbol} {self.b})"


class Call(Expr):
    """A call of a scalar function; `name` is a key of `tbe_impl.dsl.functions.FUNCTIONS`."""

    __slots__ = ("args", "name")

    def __init__(self, name: str, args: Sequence[Expr], dtype: str):
        self.name, self.args, self.dtype = name, tuple(args), dtype

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.args

    def __repr__(self) -> str:
        return f"{self.name}({', '.join(map(str, self.args))})"


class Cast(Expr):
    """A cast to `dtype`: truncates to an integer dtype, rounds to nearest even otherwise."""

    __slots__ = ("value",)

    def __init__(self, dtype: str, value: Expr):
        self.dtype, self.value = dtype, value

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.value,)

    def __repr__(self) -> str:
        return f"{self.dtype}({self.value})"


class Select(Expr):
    """A conditional: the value is `a` if `condition` holds, and `b` otherwise.

    Only the reads of the chosen operand have to be in bounds.
    """

    __slots__ = ("a", "b", "condition")

    def __init__(self, condition: Expr, a: Expr, b: Expr):
        self.condition, self.a, self.b, self.dtype = condition, a, b, a.dtype

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.condition, self.a, self.b)

    def __repr__(self) -> str:
        return f"select({self.condition}, {self.a}, {self.b})"


class Read(Expr):
    """A read of one element of a tensor."""

    __slots__ = ("indices", "tensor")

    def __init__(self, tensor: Tensor, indices: Sequence[Expr]):
        self.tensor, self.indices, self.dtype = tensor, tuple(indices), tensor.dtype

    @property
    def children(self) -> tuple[Expr, ...]:
        return self.indices

    def __repr__(self) -> str:
        return f"{self.tensor.name}[{', '.join(map(str, self.indices))}]"


class Reduce(Expr):
    """A reduction of `source` over `axes`. A reduction is always the root of a stage's body.

    Attributes:
        op: ``sum``, ``max``, ``min`` or ``prod``.
        source: the reduced expression.
        axes: the reduction axes.
        condition: predicate that selects the elements to reduce; None selects all elements.
    """

    __slots__ = ("axes", "condition", "op", "source")

    def __init__(
        self, op: str, source: Expr, axes: Sequence[IterVar], condition: Expr | None = None
    ):
        self.op, self.source, self.axes, self.condition = op, source, tuple(axes), condition
        self.dtype = source.dtype

    @property
    def children(self) -> tuple[Expr, ...]:
        return (self.source,) if self.condition is None else (self.source, self.condition)

    def __repr__(self) -> str:
        return f"{self.op}({self.source} over {', '.join(map(str, self.axes))})"


BINARY_SYMBOLS = {
    "add": "+",
    "sub": "-",
    "mul": "*",
    "div": "/",
    "floordiv": "//",
    "floormod": "%",
    "truncdiv": "truncdiv",
    "truncmod": "truncmod",
    "pow": "pow",
    "max": "max",
    "min": "min",
    "eq": "==",
    "ne": "!=",
    "lt": "<",
    "le": "<=",
    "gt": ">",
    "ge": ">=",
    "and": "and",
    "or": "or",
    "bitand": "&",
    "bitor": "|",
    "bitxor": "^",
    "shl": "<<",
    "shr": ">>",
}
"""Maps an operator to its symbol.

Integer ``div`` truncates, as in C. ``max`` and ``min`` propagate NaN.
"""

COMPARISONS = frozenset({"eq", "ne", "lt", "le", "gt", "ge"})
LOGICAL_OPERATORS = frozenset({"and", "or"})


def const(value: Any, dtype: str | None = None) -> Const:
    """Creates a constant; without `dtype`, an integer becomes int32 and a float becomes float32.

    >>> const(2).dtype, const(0.5).dtype, const(2, "float16")
    ('int32', 'float32', 2.0)
    """
    if isinstance(value, Const):
        value = value.value
    if isinstance(value, str):
        return StringImm(value, "handle")
    if type(value) not in (int, float, bool) and hasattr(value, "item"):
        value = value.item()
    if dtype is None:
        dtype = (
            "bool" if isinstance(value, bool) else "int32" if isinstance(value, int) else "float32"
        )
    name = dtype_of(dtype).name
    if is_float(name):
        return FloatImm(float(value), name)
    return IntImm(int(value), name)


def as_expr(value: Any, dtype: str | None = None) -> Expr:
    """Converts a number, a string or an indexed tensor to an expression.

    An argument that is an expression already is returned unchanged.
    """
    if isinstance(value, Expr):
        return value
    if type(value) is not int and hasattr(value, "as_expr"):  # a slice of a tensor
        return value.as_expr()
    return const(value, dtype)


def _match_dtypes(op: str, a: Any, b: Any) -> tuple[Expr, Expr]:
    """Converts both operands to one dtype.

    A Python scalar adopts the dtype of the other operand. There is one exception: if a Python float
    is combined with an integer expression, both operands become float32.
    """
    if not isinstance(a, Expr) and not hasattr(a, "as_expr"):
        right = as_expr(b)
        dtype = _scalar_dtype(a, right.dtype)
        return const(a, dtype), cast(dtype, right)
    left = as_expr(a)
    if not isinstance(b, Expr) and not hasattr(b, "as_expr"):
        dtype = _scalar_dtype(b, left.dtype)
        return cast(dtype, left), const(b, dtype)
    right = as_expr(b)
    if left.dtype == right.dtype or op in ("shl", "shr"):
        return left, right
    dtype = common_dtype(left.dtype, right.dtype)
    return cast(dtype, left), cast(dtype, right)


def _scalar_dtype(number: Any, dtype: str) -> str:
    fractional = isinstance(number, float) and not is_float(dtype)
    return "float32" if fractional else dtype


def make_binary(op: str, a: Any, b: Any) -> Any:
    """Builds the expression ``a op b``; two constants are folded to one constant.

    A comparison of two constants gives a Python bool.
    """
    left, right = _match_dtypes(op, a, b)
    if isinstance(left, Const) and isinstance(right, Const):
        folded = _fold(op, left, right)
        if folded is not None:
            return folded
    if isinstance(right, Const) and not is_float(left.dtype):
        if right.value == 0 and op in ("add", "sub"):
            return left
        if right.value == 1 and op in ("mul", "floordiv", "div", "truncdiv"):
            return left
    neutral = {"add": 0, "mul": 1}.get(op)
    if isinstance(left, Const) and not is_float(right.dtype) and left.value == neutral:
        return right
    dtype = "bool" if op in COMPARISONS or op in LOGICAL_OPERATORS else left.dtype
    return Binary(op, left, right, dtype)


def _fold(op: str, left: Const, right: Const) -> Any:
    """Applies `op` to two constants, or returns None if Python raises an error (division by 0)."""
    x, y = left.value, right.value
    try:
        if op in COMPARISONS:
            return bool(_COMPARISON_FUNCTIONS[op](x, y))
        if op in LOGICAL_OPERATORS:
            return bool(x and y) if op == "and" else bool(x or y)
        if op == "div" and not is_float(left.dtype):
            op = "truncdiv"
        return const(_FOLD_FUNCTIONS[op](x, y), left.dtype)
    except (ZeroDivisionError, OverflowError, ValueError, TypeError):
        return None


def _truncated_division(x: int, y: int) -> int:
    return abs(x) // abs(y) * (1 if (x < 0) == (y < 0) else -1)


_COMPARISON_FUNCTIONS = {
    "eq": operator.eq,
    "ne": operator.ne,
    "lt": operator.lt,
    "le": operator.le,
    "gt": operator.gt,
    "ge": operator.ge,
}
_FOLD_FUNCTIONS: dict[str, Callable[[Any, Any], Any]] = {
    "add": operator.add,
    "sub": operator.sub,
    "mul": operator.mul,
    "div": operator.truediv,
    "truncdiv": _truncated_division,
    "truncmod": lambda x, y: x - y * _truncated_division(x, y),
    "floordiv": operator.floordiv,
    "floormod": operator.mod,
    "max": max,
    "min": min,
    "pow": operator.pow,
    "bitand": operator.and_,
    "bitor": operator.or_,
    "bitxor": operator.xor,
    "shl": operator.lshift,
    "shr": operator.rshift,
}


def cast(dtype: str, value: Any) -> Expr:
    """Casts `value` to `dtype`, or returns `value` itself if it has that dtype already."""
    inner, name = as_expr(value), dtype_of(dtype).name
    if inner.dtype == name:
        return inner
    is_number = isinstance(inner, Const) and not isinstance(inner.value, str)
    if isinstance(inner, Const) and is_number and (is_float(name) or math.isfinite(inner.value)):
        return const(inner.value, name)
    return Cast(name, inner)


def select(condition: Any, a: Any, b: Any) -> Expr:
    """Builds a `Select`: its value is `a` if `condition` holds, and `b` otherwise."""
    if isinstance(condition, bool):
        return as_expr(a) if condition else as_expr(b)
    left, right = _match_dtypes("select", a, b)
    return Select(as_expr(condition), left, right)


def call(name: str, *args: Any, dtype: str | None = None) -> Expr:
    """Builds a call of the scalar function `name`.

    `dtype` is the dtype of the result; the default is the dtype of the first argument.
    """
    given = [as_expr(item) for item in args]
    return Call(name, given, dtype or given[0].dtype)


def strip_casts(expression: Expr) -> Expr:
    """Removes the outermost casts of an expression."""
    while isinstance(expression, Cast):
        expression = expression.value
    return expression


def walk(expression: Expr) -> Iterator[Expr]:
    """Yields every node of an expression once, in post-order: operands before their users."""
    seen: set[int] = set()
    waiting: list[tuple[Expr, bool]] = [(expression, False)]
    while waiting:
        node, ready = waiting.pop()
        if ready:
            yield node
        elif id(node) not in seen:
            seen.add(id(node))
            children = node.children
            if children:
                waiting.append((node, True))
                for child in reversed(children):
                    waiting.append((child, False))
            else:
                yield node


def is_identical(one: Expr, other: Expr) -> bool:
    """Whether two expressions are structurally equal; variables are compared by identity."""
    if one is other:
        return True
    if type(one) is not type(other) or one.dtype != other.dtype:
        return False
    if isinstance(one, Const):
        return bool(one.value == other.value)  # type: ignore[attr-defined]
    if isinstance(one, Binary):
        assert isinstance(other, Binary)
        return one.op == other.op and is_identical(one.a, other.a) and is_identical(one.b, other.b)
    if isinstance(one, Cast):
        assert isinstance(other, Cast)
        return is_identical(one.value, other.value)
    return False


def reads(expression: Expr) -> Iterator[Read]:
    """Yields the tensor reads of an expression."""
    return (node for node in walk(expression) if isinstance(node, Read))
