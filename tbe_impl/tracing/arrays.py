"""Tensors of the language that NumPy takes for arrays: what a formula computes with while it is traced."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tbe_impl.dsl.casts import cast_to
from tbe_impl.dsl.expr import Const, Expr, binary, cast, const, select
from tbe_impl.dsl.location import is_numeric
from tbe_impl.dsl.shaping import broadcast
from tbe_impl.dsl.sizes import same_size
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name
from tbe_impl.tracing.dtypes import (
    broadcast_shapes,
    check_fits,
    name_of,
    numpy_dtype,
    refused,
    result_of,
    weak_dtype,
)
from tbe_impl.tracing.elementwise import (
    COMPARE,
    ELEMENTWISE,
    LOGICAL,
    QUESTIONS,
    SCALAR_WORDS,
    as_truth,
    compared,
    number_in,
)

LISTED_ELEMENTS = 64
"""Constant arrays of so many elements are written out; longer ones have to be regular, or inputs."""
REMEDY = "Say it in elementwise functions, reductions, matrix products and movements, or hand it over as an input"
"""What to do where something cannot be traced."""


class Traced(NDArrayOperatorsMixin):
    """A tensor that behaves like an array of NumPy.

    Attributes:
        tensor: of the graph.
        weak: whether it is a number that takes the dtype of what stands beside it, as Python's do.
        shared: whether in NumPy another array would be a view of it, or it of another.
    """

    __slots__ = ("shared", "tensor", "weak")
    __array_priority__ = 1000

    def __init__(self, tensor: Tensor, *, weak: bool = False, shared: bool = False):
        self.tensor, self.weak, self.shared = tensor, weak, shared

    @property
    def shape(self) -> tuple[Any, ...]:
        """Numbers, and `Size` where one is known at run time only."""
        return tuple(
            size.value if isinstance(size, Const) else Size(size) for size in self.tensor.shape
        )

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.tensor.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """As NumPy has it."""
        return numpy_dtype(self.tensor.dtype)

    @property
    def size(self) -> Any:
        """Number of elements."""
        total: Any = 1
        for size in self.shape:
            total = total * size
        return total

    @property
    def T(self) -> Any:
        """Axes in reverse order."""
        reverse: Any = np.transpose
        return reverse(self)

    def view(self, tensor: Tensor) -> Traced:
        """A tensor whose elements are those of this one in NumPy's memory."""
        self.shared = True
        return Traced(tensor, weak=self.weak, shared=True)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any
    ) -> Any:
        if method != "__call__":
            from tbe_impl.tracing.functions import by_method

            if out is not None:
                raise refused(f"np.{ufunc.__name__}.{method} with out cannot be traced")
            return by_method(ufunc, method, *inputs, **kwargs)
        if kwargs:
            raise refused(
                f"np.{ufunc.__name__} with {', '.join(kwargs)} cannot be traced", remedy=REMEDY
            )
        found = elementwise(ufunc, inputs)
        if out is None:
            return found
        (target,) = out
        return written(target, found)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        from tbe_impl.tracing.functions import call_function

        return call_function(function, args, keywords)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise refused(
            f"{_caller()} cannot be traced: it makes a NumPy array of a tensor", remedy=REMEDY
        )

    def __getattr__(self, name: str) -> Any:
        from tbe_impl.tracing.functions import method_named

        return method_named(self, name)

    def __getitem__(self, key: Any) -> Any:
        from tbe_impl.tracing.indexing import element

        return element(self, key)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise refused(
            "a formula that writes into elements cannot be traced",
            expected="np.where or np.concatenate",
            got=f"[{key!r}] = …",
        )

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        size = self.shape[0]
        if isinstance(size, Size):
            raise refused("the length of this axis is known at run time only", got=str(size))
        return int(size)

    def __iter__(self) -> Iterator[Any]:
        return (self[at] for at in range(len(self)))

    def __bool__(self) -> NoReturn:
        self._unknown("branches on")

    def __float__(self) -> NoReturn:
        self._unknown("makes a Python number of")

    __int__ = __index__ = __complex__ = __float__

    def _unknown(self, does: str) -> NoReturn:
        raise refused(
            f"the formula {does} values that are not known before run time",
            expected="np.where instead of if, functions of np instead of math",
            got=repr(self.tensor),
        )

    def __repr__(self) -> str:
        return f"Traced({self.tensor!r})"


class Size:
    """A size that is known at run time only, as a formula reads it from ``x.shape``: a whole number like any other."""

    __slots__ = ("expression",)
    __array_priority__ = 1001

    def __init__(self, expression: Expr):
        self.expression = expression

    def as_expr(self) -> Expr:
        """The size as the language has it."""
        return self.expression

    def traced(self) -> Traced:
        """The size as a number without axes."""
        made: Tensor = compute((), lambda: cast("int64", self.expression), fresh_name("size"))
        return Traced(made, weak=True)

    def _with(self, operation: str, other: Any, *, turned: bool = False) -> Any:
        if isinstance(other, (int, np.integer, Size)) and operation in (
            "add",
            "sub",
            "mul",
            "floordiv",
            "floormod",
        ):
            pair = [
                self.expression,
                other.expression if isinstance(other, Size) else const(int(other)),
            ]
            found = binary(operation, *(reversed(pair) if turned else pair))
            return found.value if isinstance(found, Const) else Size(found)
        functions: dict[str, Any] = {
            "add": np.add,
            "sub": np.subtract,
            "mul": np.multiply,
            "div": np.divide,
            "floordiv": np.floor_divide,
            "floormod": np.remainder,
            "pow": np.power,
        }
        two = [self.traced(), other.traced() if isinstance(other, Size) else other]
        return elementwise(functions[operation], list(reversed(two)) if turned else two)

    def __array_ufunc__(self, function: np.ufunc, method: str, *given: Any, **keywords: Any) -> Any:
        numbers = [item.traced() if isinstance(item, Size) else item for item in given]
        return getattr(function, method)(*numbers, **keywords)

    def __eq__(self, other: Any) -> bool:
        """True for what is surely the same size; everything else is not known yet."""
        if isinstance(other, Size) and same_size(self.expression, other.expression):
            return True
        self._unknown()

    def __hash__(self) -> int:
        return hash(repr(self))

    def _unknown(self, *_: Any) -> NoReturn:
        raise refused(
            "the formula asks for a size that is known at run time only",
            expected="a formula that is the same for all sizes",
            got=repr(self),
        )

    __bool__ = __float__ = __int__ = __index__ = __lt__ = __le__ = __gt__ = __ge__ = _unknown

    def __repr__(self) -> str:
        return str(self.expression)


def _operator(name: str, *, turned: bool) -> Any:
    return lambda self, other: self._with(name, other, turned=turned)


for _name, _operation in {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floordiv",
    "mod": "floormod",
    "pow": "pow",
}.items():
    setattr(Size, f"__{_name}__", _operator(_operation, turned=False))
    setattr(Size, f"__r{_name}__", _operator(_operation, turned=True))


def _caller() -> str:
    """The function of NumPy or SciPy that the user's line calls, as far as frames tell."""
    frame: FrameType | None = sys._getframe(2)
    name = "the formula"
    while frame is not None and is_numeric(frame):
        name, frame = frame.f_code.co_name, frame.f_back
    return name


def tensor_of(value: Any, dtype: Any = None) -> Tensor:
    """A traced tensor, a number or an array of constants as a tensor, of `dtype` if one is given."""
    if isinstance(value, Size):
        value = value.traced()
    if isinstance(value, Traced):
        return value.tensor if dtype is None else cast_to(value.tensor, name_of(dtype))
    array = np.asarray(value) if dtype is None else np.asarray(value).astype(dtype)
    return _constant(array)


def _constant(array: np.ndarray) -> Tensor:
    """An array of constants: one number, steps along axes, or few elements."""
    dtype = name_of(array.dtype)
    if array.size == 0 or (array == array.flat[0]).all():
        number = array.flat[0].item() if array.size else 0
        made: Tensor = broadcast(const(number, dtype), array.shape)
        return made
    steps = _steps(array)
    if steps is not None:
        first, slopes = steps

        def regular(*index: Expr) -> Expr:
            total: Expr = const(first)
            for at, slope in zip(index, slopes, strict=True):
                total = total + at * slope if slope else total
            return cast(dtype, total)

        stage: Tensor = compute(array.shape, regular, fresh_name("steps"))
        return stage
    if array.size > LISTED_ELEMENTS:
        raise refused(
            "the formula has a long array of constants",
            expected=f"at most {LISTED_ELEMENTS} elements, or regular steps",
            got=f"{dtype} {array.shape}",
            remedy="Hand it over as an input",
        )

    def listed(*index: Expr) -> Expr:
        place: Expr = const(0)
        for axis, size in zip(index, array.shape, strict=True):
            place = place * size + axis
        found: Expr = const(array.flat[-1].item(), dtype)
        for at in reversed(range(array.size - 1)):
            found = select(
                binary("eq", place, const(at)), const(array.flat[at].item(), dtype), found
            )
        return found

    made = compute(array.shape, listed, fresh_name("constants"))
    return made


def _steps(array: np.ndarray) -> tuple[int, list[int]] | None:
    """The first element and the step along each axis of an array of whole numbers; None when it has no such steps."""
    if array.dtype.kind not in "iuf" or not np.all(np.isfinite(array.astype(np.float64))):
        return None
    first = array.flat[0].item()
    slopes = [
        np.take(array, 1, axis).flat[0].item() - first if array.shape[axis] > 1 else 0
        for axis in range(array.ndim)
    ]
    if any(float(item) != int(item) or abs(item) >= 1 << 30 for item in (first, *slopes)):
        return None
    found = np.full(array.shape, first, np.float64)
    for axis, slope in enumerate(slopes):
        found += slope * np.arange(array.shape[axis]).reshape(
            [-1 if at == axis else 1 for at in range(array.ndim)]
        )
    return (int(first), [int(item) for item in slopes]) if (found == array).all() else None


def is_weak(value: Any) -> bool:
    """Whether a value takes the dtype of what stands beside it: a number without axes of Python or NumPy."""
    if isinstance(value, Traced):
        return value.weak
    return isinstance(value, Size) or np.ndim(value) == 0


def kind_of(value: Any) -> str:
    """``b``, ``i`` or ``f``."""
    kind = (
        value.dtype.kind
        if isinstance(value, Traced)
        else "i"
        if isinstance(value, Size)
        else np.asarray(value).dtype.kind
    )
    if kind in "cOSU":
        raise refused("the formula has a value that is no number of the language", got=repr(value))
    return {"b": "b", "i": "i", "u": "i"}.get(kind, "f")


def dtypes_of(values: Sequence[Any]) -> list[np.dtype[Any]]:
    """The dtype of each, of weak numbers that which they take beside the others."""
    strong = [
        item.dtype if isinstance(item, Traced) else np.asarray(item).dtype
        for item in values
        if not is_weak(item)
    ]
    return [
        weak_dtype(kind_of(item), strong)
        if is_weak(item)
        else item.dtype
        if isinstance(item, Traced)
        else np.asarray(item).dtype
        for item in values
    ]


def spread(function: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Tensors broadcast against each other."""
    shape = broadcast_shapes(function, [tensor.shape for tensor in tensors])
    return [
        broadcast(tensor if number is None else number, shape)
        for tensor, number in zip(tensors, map(number_in, tensors), strict=True)
    ]


def elementwise(function: np.ufunc, given: Sequence[Any]) -> Any:
    """A ufunc on tensors and constants."""
    name = {"true_divide": "divide"}.get(function.__name__, function.__name__)
    if name == "matmul":
        from tbe_impl.tracing.functions import matmul

        return matmul(*given)
    if name not in ELEMENTWISE and name not in COMPARE:
        raise refused(f"np.{function.__name__} cannot be traced", remedy=REMEDY)
    dtypes = dtypes_of(given)
    result = result_of(function, dtypes)
    if name in COMPARE:
        inner = np.result_type(*dtypes)
    elif name in LOGICAL:
        inner = np.dtype(bool)
    else:
        inner = dtypes[0] if name in QUESTIONS else result
    weak = all(map(is_weak, given))
    number = (
        _plain_number(given[1], inner) if len(given) == 2 and isinstance(given[0], Traced) else None
    )
    if number is not None:
        tensor = _inner(given[0], inner, name)
        if name in COMPARE:
            return Traced(compared(COMPARE[name], tensor, number), weak=weak)
        if name in SCALAR_WORDS and inner.kind != "b":
            from tbe_impl.dsl.operation_table import WORDS

            return Traced(WORDS[SCALAR_WORDS[name]](tensor, number), weak=weak)
    tensors = spread(function.__name__, [_inner(item, inner, name) for item in given])
    if name in COMPARE:
        return Traced(compared(COMPARE[name], *tensors), weak=weak)
    return Traced(ELEMENTWISE[name](*tensors), weak=weak)


def _plain_number(value: Any, dtype: np.dtype[Any]) -> Any:
    """A constant without axes as a Python number; None for anything else."""
    if isinstance(value, (Traced, Size)) or np.ndim(value):
        return None
    number = np.asarray(value).item()
    check_fits(number, dtype)
    return number


def _inner(value: Any, dtype: np.dtype[Any], name: str) -> Tensor:
    if name in LOGICAL and isinstance(value, Traced):
        return as_truth(value.tensor)
    if not isinstance(value, (Traced, Size)) and not np.ndim(value):
        check_fits(np.asarray(value).item(), dtype)
    return tensor_of(value, dtype)


def written(target: Any, found: Any) -> Any:
    """What an operator such as ``+=`` leaves in its target.

    Raises:
        InputError: in NumPy a view would change too, or the dtype or the shape is another.
    """
    if not isinstance(target, Traced):
        raise refused("a formula cannot write tensors into NumPy arrays")
    if target.shared:
        raise refused(
            "a formula that changes a tensor of which there is a view cannot be traced",
            remedy="Write x = x + y instead of x += y",
        )
    if not np.can_cast(found.dtype, target.dtype, "same_kind"):
        raise refused(
            "the result has another dtype than its target",
            expected=str(target.dtype),
            got=str(found.dtype),
        )
    tensor = cast_to(found.tensor, target.tensor.dtype)
    if len(broadcast_shapes("out", [tensor.shape, target.tensor.shape])) != target.ndim:
        raise refused("the result has another shape than its target")
    target.tensor = broadcast(tensor, target.tensor.shape)
    return target
