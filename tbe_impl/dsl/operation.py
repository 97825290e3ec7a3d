"""What a word of the language is: a function that makes stages, and its meaning in NumPy."""

from __future__ import annotations

import numbers
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any

from tbe_impl.dsl.dtypes import dtype_of, is_float
from tbe_impl.dsl.expr import Const, Expr, as_expr, const
from tbe_impl.dsl.location import here
from tbe_impl.dsl.tensor import Tensor, WordUse, compute, fresh_name, shape_text
from tbe_impl.errors import InputError


@dataclass(frozen=True)
class Word:
    """One word.

    Attributes:
        name: as operators write it.
        build: from tensors and parameters to the tensors of new stages.
        formula: from arrays and the parameters of its `WordUse` to arrays; floats come in the dtype of the arithmetic. None
            for a word that is made of other words.
        instruction: the device's instruction that it becomes, by which a chip's dtypes are looked up; empty for none.
    """

    name: str
    build: Callable[..., Any]
    formula: Callable[..., Any] | None = None
    instruction: str = ""

    def __call__(self, *args: Any, **keywords: Any) -> Any:
        return self.build(*args, **keywords)


def elementwise(
    word: str,
    tag: str,
    inputs: Sequence[Tensor],
    scalar: Callable[..., Any],
    parameters: Mapping[str, Any] | None = None,
) -> Tensor:
    """A stage that computes each element from the elements at the same place of its inputs.

    Raises:
        InputError: the inputs are no tensors of one shape and dtype.
    """
    first = check_tensor(word, inputs[0])
    _check_kind(word, first)
    for other in inputs[1:]:
        check_same(word, first, check_tensor(word, other))
    made: Tensor = compute(
        first.shape,
        lambda *index: scalar(*(tensor(*index) for tensor in inputs)),
        fresh_name(word),
        tag,
        word=WordUse(word, tuple(inputs), dict(parameters or {})),
    )
    return made


SCALAR_FORMS = {"vadd": "vadds", "vmul": "vmuls", "vmax": "vmaxs", "vmin": "vmins"}
"""Word for two tensors → word for a tensor and a scalar."""


def check_tensor(word: str, value: Any, argument: str = "an argument") -> Tensor:
    """`value` as the tensor that it has to be."""
    if isinstance(value, Tensor):
        return value
    is_scalar = isinstance(value, (numbers.Number, Expr))
    other = SCALAR_FORMS.get(word)
    raise InputError(
        f"{word} takes tensors only",
        place=str(here()),
        expected=f"a tensor for {argument}",
        got=f"the scalar {value!r}" if is_scalar else type(value).__name__,
        remedy=f"`{other}` takes a tensor and a scalar"
        if is_scalar and other
        else "Use the result of a placeholder or of another word",
    )


def check_float(word: str, tensor: Tensor) -> Tensor:
    """`tensor`, which has to be floating-point."""
    if not is_float(tensor.dtype):
        raise InputError(
            f"{word} takes floating-point tensors",
            place=str(here()),
            expected="float16, bfloat16, float32 or float64",
            got=f"{tensor.dtype} ({tensor.name})",
            remedy="Cast it with cast_to",
        )
    return tensor


BITWISE = frozenset({"vand", "vor", "vxor", "vnot"})
"""Words that have no meaning for floats."""

ARITHMETIC = frozenset(
    "vsub vsubrelu vdiv vrec vabs vrelu floor_divide pow reciprocal sign neg".split()
)
"""Words that have no meaning for truth values."""


def _check_kind(word: str, tensor: Tensor) -> None:
    kind = dtype_of(tensor.dtype).kind
    if (kind == "float" and word in BITWISE) or (kind == "bool" and word in ARITHMETIC):
        raise InputError(
            f"{word} has no meaning for {tensor.dtype}",
            place=str(here()),
            expected="integers or bool" if word in BITWISE else "numbers",
            got=f"{tensor.dtype} ({tensor.name})",
            remedy="Cast it with cast_to",
        )


def check_same(word: str, first: Tensor, other: Tensor) -> None:
    """Raises unless both have one shape and dtype: the language broadcasts nothing by itself."""
    if first.dtype != other.dtype:
        raise InputError(
            f"{word} takes tensors of one dtype",
            place=str(here()),
            expected=first.dtype,
            got=f"{other.dtype} ({other.name})",
            remedy="Cast one of them with cast_to",
        )
    if first.ndim != other.ndim or not all(map(may_equal, first.shape, other.shape)):
        raise InputError(
            f"{word} takes tensors of one shape",
            place=str(here()),
            expected=shape_text(first.shape),
            got=f"{shape_text(other.shape)} ({other.name})",
            remedy="Bring both to one shape with broadcast",
        )


def may_equal(one: Expr, other: Expr) -> bool:
    """Whether two sizes can be the same; those that are known at run time only are checked then."""
    if isinstance(one, Const) and isinstance(other, Const):
        return bool(one.value == other.value)
    return True


def check_scalar(word: str, value: Any, dtype: str, argument: str = "scalar") -> Expr:
    """`value` as a scalar of `dtype`: a fraction handed to an integer tensor is cut."""
    if isinstance(value, Tensor) or (
        not isinstance(value, (numbers.Number, Expr)) and not hasattr(value, "item")
    ):
        raise InputError(
            f"{word} takes a scalar",
            place=str(here()),
            expected=f"a number for {argument}",
            got=f"the tensor {value.name}" if isinstance(value, Tensor) else type(value).__name__,
            remedy="For two tensors there is the word without the final s",
        )
    if isinstance(value, Expr) and not isinstance(value, Const):
        return as_expr(value).astype(dtype)
    return const(value, dtype)
