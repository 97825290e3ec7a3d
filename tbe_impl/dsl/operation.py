"""Defines a DSL operation: a function that builds stages, with a NumPy formula for the result."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import Const, Expr, as_expr, const
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.tensor import DslCall, Tensor, compute, fresh_name, shape_text
from tbe_impl.errors import InputError


@dataclass(frozen=True)
class DslOperation:
    """A DSL operation.

    Attributes:
        name: the name by which operators call it, such as ``vadd``.
        build: a function from tensors and parameters to the output tensors of new stages.
        formula: a NumPy function from the input arrays and the parameters of the `DslCall` to the
            output arrays. Float arrays have the dtype that the interpreter uses for computation,
            for example float32 for float16 tensors. `formula` is None if the operation has no
            formula; the interpreter then evaluates the bodies of the stages.
        instruction: the device instruction that the operation maps to, or an empty string. The
            tables of a chip list the supported dtypes of each instruction.
    """

    name: str
    build: Callable[..., Any]
    formula: Callable[..., Any] | None = None
    instruction: str = ""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.build(*args, **keywords)


def with_name(function: Callable[..., Any], name: str, doc: str | None) -> Callable[..., Any]:
    """Sets the name and docstring of a generated function, and returns the function."""
    function.__name__, function.__doc__ = name, doc
    return function


def elementwise_stage(
    word: str,
    tag: str,
    inputs: Sequence[Tensor],
    scalar: Callable[..., Any],
    parameters: Mapping[str, Any] | None = None,
) -> Tensor:
    """Creates an elementwise stage: each element depends on the input elements at the same index.

    Args:
        word: name of the DSL operation.
        tag: tag of the stage.
        inputs: the input tensors.
        scalar: maps one element of each input to an element of the result.
        parameters: the parameters of the `DslCall`.

    Raises:
        InputError: the inputs are not tensors of one shape and dtype.
    """
    first = check_tensor(word, inputs[0])
    _check_kind(word, first)
    for other in inputs[1:]:
        check_same_shape_and_dtype(word, first, check_tensor(word, other))
    return compute(
        first.shape,
        lambda *index: scalar(*(tensor(*index) for tensor in inputs)),
        fresh_name(word),
        tag,
        word=DslCall(word, tuple(inputs), dict(parameters or {})),
    )


SCALAR_FORMS = {"vadd": "vadds", "vmul": "vmuls", "vmax": "vmaxs", "vmin": "vmins"}
"""Maps an operation on two tensors to the same operation on a tensor and a scalar."""


def check_tensor(word: str, value: Any, argument: str = "an argument") -> Tensor:
    """Returns `value`, or raises `InputError` if it is not a tensor."""
    if isinstance(value, Tensor):
        return value
    is_scalar = isinstance(value, (numbers.Number, Expr))
    other = SCALAR_FORMS.get(word)
    raise InputError(
        f"{word} takes tensors only",
        place=str(user_location()),
        expected=f"a tensor for {argument}",
        got=f"the scalar {value!r}" if is_scalar else type(value).__name__,
        remedy=f"`{other}` takes a tensor and a scalar"
        if is_scalar and other
        else "Use the result of a placeholder or of another operation",
    )


def check_float(word: str, tensor: Tensor) -> Tensor:
    """Returns `tensor`, or raises `InputError` if its dtype is not floating-point."""
    if not is_float(tensor.dtype):
        raise InputError(
            f"{word} takes floating-point tensors",
            place=str(user_location()),
            expected="float16, bfloat16, float32 or float64",
            got=f"{tensor.dtype} ({tensor.name})",
            remedy="Cast it with cast_to",
        )
    return tensor


BITWISE_OPERATIONS = frozenset({"vand", "vor", "vxor", "vnot"})
"""Operations that are undefined for floats."""

ARITHMETIC_OPERATIONS = frozenset(
    "vsub vsubrelu vdiv vrec vabs vrelu floor_divide pow reciprocal sign neg".split()
)
"""Operations that are undefined for bool."""


def _check_kind(word: str, tensor: Tensor) -> None:
    kind = dtype_of(tensor.dtype).kind
    if (kind == "float" and word in BITWISE_OPERATIONS) or (
        kind == "bool" and word in ARITHMETIC_OPERATIONS
    ):
        raise InputError(
            f"{word} has no meaning for {tensor.dtype}",
            place=str(user_location()),
            expected="integers or bool" if word in BITWISE_OPERATIONS else "numbers",
            got=f"{tensor.dtype} ({tensor.name})",
            remedy="Cast it with cast_to",
        )


def check_same_shape_and_dtype(word: str, first: Tensor, other: Tensor) -> None:
    """Raises `InputError` if the shapes or dtypes of the two tensors differ.

    The DSL has no implicit broadcasting.
    """
    if first.dtype != other.dtype:
        raise InputError(
            f"{word} takes tensors of one dtype",
            place=str(user_location()),
            expected=first.dtype,
            got=f"{other.dtype} ({other.name})",
            remedy="Cast one of them with cast_to",
        )
    if first.ndim != other.ndim or not all(map(may_equal, first.shape, other.shape)):
        raise InputError(
            f"{word} takes tensors of one shape",
            place=str(user_location()),
            expected=shape_text(first.shape),
            got=f"{shape_text(other.shape)} ({other.name})",
            remedy="Bring both to one shape with broadcast",
        )


def may_equal(one: Expr, other: Expr) -> bool:
    """Whether two sizes can be equal.

    A size that is known only at run time may equal any size. The kernel then compares the two sizes
    at run time.
    """
    if isinstance(one, Const) and isinstance(other, Const):
        return bool(one.value == other.value)
    return True


def check_scalar(word: str, value: Any, dtype: str, argument: str = "scalar") -> Expr:
    """Converts `value` to a scalar of `dtype`; fractions are truncated for an integer dtype.

    Raises:
        InputError: `value` is not a scalar.
    """
    if isinstance(value, Tensor) or (
        not isinstance(value, (numbers.Number, Expr)) and not hasattr(value, "item")
    ):
        raise InputError(
            f"{word} takes a scalar",
            place=str(user_location()),
            expected=f"a number for {argument}",
            got=f"the tensor {value.name}" if isinstance(value, Tensor) else type(value).__name__,
            remedy="For two tensors, use the operation without the final s",
        )
    if isinstance(value, Expr) and not isinstance(value, Const):
        return as_expr(value).astype(dtype)
    return const(value, dtype)
