"""Defines the array proxies that replace NumPy arrays while a formula is traced."""

from __future__ import annotations

import sys
from collections.abc import Iterator, Sequence
from types import FrameType
from typing import Any, ClassVar, NoReturn

import numpy as np
from numpy.lib.mixins import NDArrayOperatorsMixin

from tbe_impl.dsl.expr import Const, Expr, cast, const, make_binary, select
from tbe_impl.dsl.location import is_numpy_frame
from tbe_impl.dsl.operations.casts import cast_to
from tbe_impl.dsl.operations.shaping import broadcast
from tbe_impl.dsl.sizes import is_same_size
from tbe_impl.dsl.tensor import Tensor, compute, fresh_name
from tbe_impl.tracing.dtypes import (
    broadcast_shapes,
    check_fits,
    dtype_name,
    numpy_dtype,
    result_dtype,
    trace_error,
    weak_dtype,
)
from tbe_impl.tracing.elementwise import (
    LOGICAL_UFUNCS,
    PREDICATE_UFUNCS,
    SCALAR_OPERATIONS,
    UFUNC_COMPARISONS,
    UFUNC_MAKERS,
    as_truth,
    compare_elements,
    constant_of,
)

MAX_CONSTANT_ELEMENTS = 64
"""Maximum number of elements of a constant array that is lowered to a chain of selects."""
REMEDY = (
    "Use elementwise functions, reductions, matrix products and data movement, "
    "or pass the value as an input"
)
"""The remedy in error messages about functions that cannot be traced."""


class TracedArray(NDArrayOperatorsMixin):
    """A tensor with the interface of a NumPy array (duck array: ``__array_ufunc__``).

    Attributes:
        tensor: the tensor of the graph.
        weak: whether the array is weakly typed. A weakly typed array adopts the dtype of the other
            operand, like a Python scalar.
        shared: whether, in NumPy, the array would share memory with another array.
        functions: the module `tbe_impl.tracing.functions`. The module imports this class, so that
            `tbe_impl.tracing` sets this attribute later.
    """

    functions: ClassVar[Any]

    __slots__ = ("shared", "tensor", "weak")
    __array_priority__ = 1000

    def __init__(self, tensor: Tensor, *, weak: bool = False, shared: bool = False):
        self.tensor, self.weak, self.shared = tensor, weak, shared

    @property
    def shape(self) -> tuple[Any, ...]:
        """The sizes: an int for each static size, a `Size` for each size known only at run time."""
        return tuple(
            size.value if isinstance(size, Const) else Size(size) for size in self.tensor.shape
        )

    @property
    def ndim(self) -> int:
        """Number of dimensions."""
        return self.tensor.ndim

    @property
    def dtype(self) -> np.dtype[Any]:
        """The NumPy dtype."""
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
        """The array with its axes in reverse order."""
        reverse: Any = np.transpose
        return reverse(self)

    def view(self, tensor: Tensor) -> TracedArray:
        """Wraps `tensor` as a traced array, for an operation that returns a view in NumPy.

        Both this array and the new array are marked as `shared`.
        """
        self.shared = True
        return TracedArray(tensor, weak=self.weak, shared=True)

    def __array_ufunc__(
        self, ufunc: np.ufunc, method: str, *inputs: Any, out: Any = None, **kwargs: Any
    ) -> Any:
        if method != "__call__":
            if out is not None:
                raise trace_error(f"np.{ufunc.__name__}.{method} with out cannot be traced")
            return self.functions.call_ufunc_method(ufunc, method, *inputs, **kwargs)
        if kwargs:
            raise trace_error(
                f"np.{ufunc.__name__} with {', '.join(kwargs)} cannot be traced", remedy=REMEDY
            )
        found = apply_ufunc(ufunc, inputs)
        if out is None:
            return found
        (target,) = out
        return assign_output(target, found)

    def __array_function__(self, function: Any, types: Any, args: Any, keywords: Any) -> Any:
        return self.functions.call_function(function, args, keywords)

    def __array__(self, *_: Any, **__: Any) -> NoReturn:
        raise trace_error(
            f"{_caller()} cannot be traced: it makes a NumPy array of a tensor", remedy=REMEDY
        )

    def __getattr__(self, name: str) -> Any:
        return self.functions.array_attribute(self, name)

    def __getitem__(self, key: Any) -> Any:
        return self.functions.index_array(self, key)

    def __setitem__(self, key: Any, value: Any) -> NoReturn:
        raise trace_error(
            "a formula that writes into elements cannot be traced",
            expected="np.where or np.concatenate",
            got=f"[{key!r}] = …",
        )

    def __len__(self) -> int:
        if not self.ndim:
            raise TypeError("len() of unsized object")
        size = self.shape[0]
        if isinstance(size, Size):
            raise trace_error("the length of this axis is known at run time only", got=str(size))
        return int(size)

    def __iter__(self) -> Iterator[Any]:
        return (self[at] for at in range(len(self)))

    def __bool__(self) -> NoReturn:
        self._raise_unknown("branches on")

    def __float__(self) -> NoReturn:
        self._raise_unknown("makes a Python number of")

    __int__ = __index__ = __complex__ = __float__

    def _raise_unknown(self, does: str) -> NoReturn:
        raise trace_error(
            f"the formula {does} values that are not known before run time",
            expected="np.where instead of if, functions of np instead of math",
            got=repr(self.tensor),
        )

    def __repr__(self) -> str:
        return f"Traced({self.tensor!r})"


class Size:
    """A size in ``x.shape`` that is known only at run time; the object acts as an integer."""

    __slots__ = ("expression",)
    __array_priority__ = 1001

    def __init__(self, expression: Expr):
        self.expression = expression

    def as_expr(self) -> Expr:
        """Returns the size as a DSL expression."""
        return self.expression

    def as_array(self) -> TracedArray:
        """Returns the size as a 0-d traced array of dtype int64."""
        made: Tensor = compute((), lambda: cast("int64", self.expression), fresh_name("size"))
        return TracedArray(made, weak=True)

    def _combine(self, operation: str, other: Any, *, turned: bool = False) -> Any:
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
            found = make_binary(operation, *(reversed(pair) if turned else pair))
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
        two = [self.as_array(), other.as_array() if isinstance(other, Size) else other]
        return apply_ufunc(functions[operation], list(reversed(two)) if turned else two)

    def __array_ufunc__(self, function: np.ufunc, method: str, *given: Any, **keywords: Any) -> Any:
        numbers = [item.as_array() if isinstance(item, Size) else item for item in given]
        return getattr(function, method)(*numbers, **keywords)

    def __eq__(self, other: Any) -> bool:
        """Returns True if `other` is provably equal to this size; raises `InputError` otherwise."""
        if isinstance(other, Size) and is_same_size(self.expression, other.expression):
            return True
        self._raise_unknown()

    def __hash__(self) -> int:
        return hash(repr(self))

    def _raise_unknown(self, *_: Any) -> NoReturn:
        raise trace_error(
            "the formula asks for a size that is known at run time only",
            expected="a formula that is the same for all sizes",
            got=repr(self),
        )

    __bool__ = __float__ = __int__ = __index__ = __lt__ = __le__ = __gt__ = __ge__ = _raise_unknown

    def __repr__(self) -> str:
        return str(self.expression)


def _make_operator(name: str, *, turned: bool) -> Any:
    return lambda self, other: self._combine(name, other, turned=turned)


for _name, _operation in {
    "add": "add",
    "sub": "sub",
    "mul": "mul",
    "truediv": "div",
    "floordiv": "floordiv",
    "mod": "floormod",
    "pow": "pow",
}.items():
    setattr(Size, f"__{_name}__", _make_operator(_operation, turned=False))
    setattr(Size, f"__r{_name}__", _make_operator(_operation, turned=True))


def _caller() -> str:
    """Returns the name of the NumPy or SciPy function that the user's code is calling."""
    frame: FrameType | None = sys._getframe(2)
    name = "the formula"
    while frame is not None and is_numpy_frame(frame):
        name, frame = frame.f_code.co_name, frame.f_back
    return name


def tensor_of(value: Any, dtype: Any = None) -> Tensor:
    """Converts a traced array, a scalar or a constant array to a tensor of dtype `dtype`.

    If `dtype` is None, the dtype of the value is kept.
    """
    if isinstance(value, Size):
        value = value.as_array()
    if isinstance(value, TracedArray):
        return value.tensor if dtype is None else cast_to(value.tensor, dtype_name(dtype))
    array = np.asarray(value) if dtype is None else np.asarray(value).astype(dtype)
    return _constant_tensor(array)


def _constant_tensor(array: np.ndarray) -> Tensor:
    """Lowers a constant array to a broadcast, an affine function of the indices, or selects.

    Raises:
        InputError: the array is not affine and has more than `MAX_CONSTANT_ELEMENTS` elements.
    """
    dtype = dtype_name(array.dtype)
    if array.size == 0 or (array == array.flat[0]).all():
        number = array.flat[0].item() if array.size else 0
        return broadcast(const(number, dtype), array.shape)
    steps = _affine_steps(array)
    if steps is not None:
        first, slopes = steps

        def regular(*index: Expr) -> Expr:
            total: Expr = const(first)
            for at, slope in zip(index, slopes, strict=True):
                total = total + at * slope if slope else total
            return cast(dtype, total)

        return compute(array.shape, regular, fresh_name("steps"))
    if array.size > MAX_CONSTANT_ELEMENTS:
        raise trace_error(
            "the formula has a long array of constants",
            expected=f"at most {MAX_CONSTANT_ELEMENTS} elements, or regular steps",
            got=f"{dtype} {array.shape}",
            remedy="Pass it as an input",
        )

    def select_constant(*index: Expr) -> Expr:
        place: Expr = const(0)
        for axis, size in zip(index, array.shape, strict=True):
            place = place * size + axis
        found: Expr = const(array.flat[-1].item(), dtype)
        for at in reversed(range(array.size - 1)):
            found = select(
                make_binary("eq", place, const(at)), const(array.flat[at].item(), dtype), found
            )
        return found

    made = compute(array.shape, select_constant, fresh_name("constants"))
    return made


def _affine_steps(array: np.ndarray) -> tuple[int, list[int]] | None:
    """Returns the first element of an array, and the difference of adjacent elements on each axis.

    Returns None if the values are not an affine function of the indices with integer coefficients.
    """
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
    """Whether a value is weakly typed, that is, adopts the dtype of the other operand.

    Python scalars, 0-d NumPy values, sizes, and traced arrays marked as weak are weakly typed.
    """
    if isinstance(value, TracedArray):
        return value.weak
    return isinstance(value, Size) or np.ndim(value) == 0


def kind_of(value: Any) -> str:
    """Returns the dtype kind of a value: ``b`` (bool), ``i`` (integer) or ``f`` (float).

    Raises:
        InputError: the value is complex, an object or a string.
    """
    kind = (
        value.dtype.kind
        if isinstance(value, TracedArray)
        else "i"
        if isinstance(value, Size)
        else np.asarray(value).dtype.kind
    )
    if kind in "cOSU":
        raise trace_error("the formula has a value whose type is not supported", got=repr(value))
    return {"b": "b", "i": "i", "u": "i"}.get(kind, "f")


def dtypes_of(values: Sequence[Any]) -> list[np.dtype[Any]]:
    """Returns the dtype of each value; `weak_dtype` determines the dtype of weakly typed values."""
    strong = [
        item.dtype if isinstance(item, TracedArray) else np.asarray(item).dtype
        for item in values
        if not is_weak(item)
    ]
    return [
        weak_dtype(kind_of(item), strong)
        if is_weak(item)
        else item.dtype
        if isinstance(item, TracedArray)
        else np.asarray(item).dtype
        for item in values
    ]


def broadcast_tensors(function: str, tensors: Sequence[Tensor]) -> list[Tensor]:
    """Broadcasts tensors to their common shape; error messages contain the name `function`."""
    shape = broadcast_shapes(function, [tensor.shape for tensor in tensors])
    return [
        broadcast(tensor if number is None else number, shape)
        for tensor, number in zip(tensors, map(constant_of, tensors), strict=True)
    ]


def apply_ufunc(function: np.ufunc, given: Sequence[Any]) -> Any:
    """Traces the call of a ufunc on traced arrays and constants.

    Raises:
        InputError: the ufunc cannot be traced.
    """
    name = {"true_divide": "divide"}.get(function.__name__, function.__name__)
    if name == "matmul":
        return TracedArray.functions.matmul(*given)
    if name not in UFUNC_MAKERS and name not in UFUNC_COMPARISONS:
        raise trace_error(f"np.{function.__name__} cannot be traced", remedy=REMEDY)
    dtypes = dtypes_of(given)
    result = result_dtype(function, dtypes)
    if name in UFUNC_COMPARISONS:
        inner = np.result_type(*dtypes)
    elif name in LOGICAL_UFUNCS:
        inner = np.dtype(bool)
    else:
        inner = dtypes[0] if name in PREDICATE_UFUNCS else result
    weak = all(map(is_weak, given))
    number = (
        _python_number(given[1], inner)
        if len(given) == 2 and isinstance(given[0], TracedArray)
        else None
    )
    if number is not None:
        tensor = _as_operand(given[0], inner, name)
        if name in UFUNC_COMPARISONS:
            return TracedArray(compare_elements(UFUNC_COMPARISONS[name], tensor, number), weak=weak)
        if name in SCALAR_OPERATIONS and inner.kind != "b":
            from tbe_impl.dsl.operations.operation_table import OPERATIONS

            return TracedArray(OPERATIONS[SCALAR_OPERATIONS[name]](tensor, number), weak=weak)
    tensors = broadcast_tensors(
        function.__name__, [_as_operand(item, inner, name) for item in given]
    )
    if name in UFUNC_COMPARISONS:
        return TracedArray(compare_elements(UFUNC_COMPARISONS[name], *tensors), weak=weak)
    return TracedArray(UFUNC_MAKERS[name](*tensors), weak=weak)


def _python_number(value: Any, dtype: np.dtype[Any]) -> Any:
    """Converts a 0-d constant to a Python number; returns None for any other value.

    Raises:
        InputError: the number is out of the range of the integer dtype `dtype`.
    """
    if isinstance(value, (TracedArray, Size)) or np.ndim(value):
        return None
    number = np.asarray(value).item()
    check_fits(number, dtype)
    return number


def _as_operand(value: Any, dtype: np.dtype[Any], name: str) -> Tensor:
    if name in LOGICAL_UFUNCS and isinstance(value, TracedArray):
        return as_truth(value.tensor)
    if not isinstance(value, (TracedArray, Size)) and not np.ndim(value):
        check_fits(np.asarray(value).item(), dtype)
    return tensor_of(value, dtype)


def assign_output(target: Any, found: Any) -> Any:
    """Replaces the tensor of `target` by `found`, the result of an operator such as ``+=``.

    Raises:
        InputError: `target` has a view, and NumPy would also change this view. Also raised if
            `target` is a NumPy array, or `found` cannot be cast to the dtype of `target` or
            broadcast to its shape.
    """
    if not isinstance(target, TracedArray):
        raise trace_error("a formula cannot write tensors into NumPy arrays")
    if target.shared:
        raise trace_error(
            "a formula that changes a tensor of which there is a view cannot be traced",
            remedy="Write x = x + y instead of x += y",
        )
    if not np.can_cast(found.dtype, target.dtype, "same_kind"):
        raise trace_error(
            "the dtypes of the result and of its target differ",
            expected=str(target.dtype),
            got=str(found.dtype),
        )
    tensor = cast_to(found.tensor, target.tensor.dtype)
    if len(broadcast_shapes("out", [tensor.shape, target.tensor.shape])) != target.ndim:
        raise trace_error("the shapes of the result and of its target differ")
    target.tensor = broadcast(tensor, target.tensor.shape)
    return target
