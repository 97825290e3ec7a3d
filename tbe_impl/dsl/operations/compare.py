"""DSL operations for comparison, to bool or to packed bits, and for selection."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import BINARY_FUNCTIONS, Array
from tbe_impl.dsl.expr import COMPARISONS, Const, Expr, as_expr, call, const, make_binary, select
from tbe_impl.dsl.location import user_location
from tbe_impl.dsl.operation import (
    DslOperation,
    check_same_shape_and_dtype,
    check_scalar,
    check_tensor,
    may_equal,
)
from tbe_impl.dsl.tensor import DslCall, Tensor, compute, fresh_name, shape_text
from tbe_impl.errors import InputError

_LOGIC = {"logic_and": "and", "logic_or": "or", "logic_not": "not"}


def _check_one_of(word: str, argument: str, value: Any, known: Sequence[str]) -> str:
    text = str(value)
    if text not in known:
        raise InputError(
            f"{word}: unknown {argument}",
            place=str(user_location()),
            expected=" or ".join(known),
            got=repr(value),
        )
    return text


_COMPARISON_NAMES = ("eq", "ne", "lt", "gt", "ge", "le")
assert set(_COMPARISON_NAMES) == COMPARISONS


class _Operand:
    """An operand of an elementwise operation: a tensor or a scalar."""

    def __init__(self, word: str, value: Any, like: Tensor | str, argument: str):
        self.tensor: Tensor | None = value if isinstance(value, Tensor) else None
        if self.tensor is None:
            dtype = like if isinstance(like, str) else like.dtype
            self.scalar = check_scalar(word, value, dtype, argument)
        elif not isinstance(like, str):
            check_same_shape_and_dtype(word, like, self.tensor)

    def element(self, index: Sequence[Expr]) -> Expr:
        return self.scalar if self.tensor is None else self.tensor(*index)


def _make_call(word: str, tensors: Sequence[Any], parameters: dict[str, Any]) -> DslCall:
    """Creates the `DslCall` of an operation whose operands are tensors or scalars.

    The parameter ``places`` of the `DslCall` has one entry per operand. The entry of a tensor is
    the position of the tensor in ``inputs``; the entry of a scalar is the scalar itself. The
    parameter ``kinds`` has ``tensor`` or ``scalar`` for each operand.
    """
    inputs = [item.tensor for item in tensors if item.tensor is not None]
    places = [
        inputs.index(item.tensor) if item.tensor is not None else item.scalar for item in tensors
    ]
    kinds = ["tensor" if item.tensor is not None else "scalar" for item in tensors]
    return DslCall(word, tuple(inputs), {**parameters, "places": places, "kinds": kinds})


def _operands(arrays: Sequence[Any], places: Sequence[Any], kinds: Sequence[str]) -> list[Any]:
    return [
        arrays[place] if kind == "tensor" else place
        for place, kind in zip(places, kinds, strict=True)
    ]


def vcmp(lhs: Tensor, rhs: Any, operation: str = "lt", mode: str = "bool") -> Tensor:
    """Compares elementwise: computes lhs `operation` rhs.

    Args:
        lhs: a tensor.
        rhs: a tensor of the same shape and dtype, or a scalar.
        operation: ``eq``, ``ne``, ``lt``, ``gt``, ``ge`` or ``le``.
        mode: ``bool`` gives a bool tensor. ``bit`` packs eight adjacent elements of the last axis
            into one byte of a uint8 tensor. Bit k of byte i is then element 8·i + k; bits beyond
            the end of the axis are 0.
    """
    left = check_tensor("vcmp", lhs, "lhs")
    _check_one_of("vcmp", "operation", operation, _COMPARISON_NAMES)
    _check_one_of("vcmp", "mode", mode, ("bool", "bit"))
    one, other = (
        _Operand("vcmp", value, left, name) for value, name in ((left, "lhs"), (rhs, "rhs"))
    )
    use = _make_call("vcmp", (one, other), {"operation": operation, "mode": mode})
    tag = f"elewise_binary_vcmpv_{operation}"
    if mode == "bool":
        return compute(
            left.shape,
            lambda *i: _as_bool(make_binary(operation, one.element(i), other.element(i))),
            fresh_name("vcmp"),
            tag,
            word=use,
        )
    last = left.shape[-1] if left.ndim else const(1)
    even = isinstance(last, Const) and last.value % 8 == 0

    def pack_bits(*index: Expr) -> Expr:
        byte: Expr | None = None
        for k in range(8):
            element = index[-1] * 8 + k
            at = (*index[:-1], element if even else make_binary("min", element, last - 1))
            holds = _as_bool(make_binary(operation, one.element(at), other.element(at)))
            if not even:
                holds = make_binary("and", holds, make_binary("lt", element, last))
            bit = select(holds, const(1 << k, "uint8"), const(0, "uint8"))
            byte = bit if byte is None else byte | bit
        assert byte is not None
        return byte

    return compute(
        (*left.shape[:-1], (last + 7) // 8), pack_bits, fresh_name("vcmp"), f"{tag}|bit", word=use
    )


def _as_bool(value: Any) -> Expr:
    return const(value, "bool") if isinstance(value, bool) else as_expr(value)


def _vcmp(*arrays: Array, operation: str, mode: str, places: Any, kinds: Any) -> Array:
    one, other = _operands(arrays, places, kinds)
    holds: Array = BINARY_FUNCTIONS[operation](one, other)
    return np.packbits(holds, axis=-1, bitorder="little") if mode == "bit" else holds


def vsel(condition: Tensor, lhs: Any, rhs: Any) -> Tensor:
    """Selects elementwise: the result is lhs if condition holds, and rhs otherwise.

    Args:
        condition: a bool tensor, or a uint8 tensor with the bits that `vcmp` packs. One byte of a
            uint8 condition selects eight elements of the last axis of lhs and rhs.
        lhs, rhs: tensors of one shape and dtype, or scalars. If both are Python numbers, the result
            is a float16 tensor.
    """
    mask = check_tensor("vsel", condition, "condition")
    if mask.dtype not in ("bool", "uint8"):
        raise InputError(
            "vsel takes a condition",
            place=str(user_location()),
            expected="bool, or uint8 with packed bits",
            got=f"{mask.dtype} ({mask.name})",
            remedy="Compute one with vcmp",
        )
    packed = mask.dtype == "uint8"
    shape = (*mask.shape[:-1], mask.shape[-1] * 8) if packed and mask.ndim else mask.shape
    bits = mask.shape[-1] if packed and mask.ndim else None
    if bits is not None and mask.op.dsl_call is not None and mask.op.dsl_call.name == "vcmp":
        shape = mask.op.dsl_call.inputs[0].shape
    first = next((item for item in (lhs, rhs) if isinstance(item, Tensor)), None)
    dtypes = [item.dtype for item in (lhs, rhs) if isinstance(item, Expr)]
    like = first if first is not None else dtypes[0] if dtypes else "float16"
    if (
        first is not None
        and bits is not None
        and first.ndim == len(shape)
        and may_equal((first.shape[-1] + 7) // 8, bits)
    ):
        shape = (*shape[:-1], first.shape[-1])
    if first is not None and (
        first.ndim != len(shape) or not all(map(may_equal, first.shape, shape))
    ):
        raise InputError(
            "vsel takes tensors of the shape of its condition",
            place=str(user_location()),
            expected=shape_text(shape),
            got=f"{shape_text(first.shape)} ({first.name})",
        )
    one, other = _Operand("vsel", lhs, like, "lhs"), _Operand("vsel", rhs, like, "rhs")
    # for sizes known only at run time, the shape of the operand has simpler expressions than that
    # of the mask
    sizes = shape if first is None else first.shape
    inner = _make_call("vsel", (one, other), {"packed": packed, "size": sizes[-1] if sizes else 1})
    # `places` does not count the condition: the formula takes it as an argument of its own
    use = DslCall("vsel", (mask, *inner.inputs), inner.parameters)

    compared = _find_comparison(mask) if packed else None

    def choose(*index: Expr) -> Expr:
        if compared is not None:
            # recompute the comparison per element: unpacking a byte would evaluate eight of them
            operation, first_operand, second_operand = compared
            holds: Any = _as_bool(
                make_binary(operation, first_operand.element(index), second_operand.element(index))
            )
        elif packed:
            byte = mask(*index[:-1], index[-1] // 8)
            bit = (byte >> (index[-1] % 8).astype("uint8")) & const(1, "uint8")
            holds = make_binary("ne", bit, const(0, "uint8"))
        else:
            holds = mask(*index)
        return select(holds, one.element(index), other.element(index))

    return compute(sizes, choose, fresh_name("vsel"), "elewise_multiple_sel", word=use)


def _find_comparison(mask: Tensor) -> tuple[str, _Operand, _Operand] | None:
    """Returns the comparison and the operands of the `vcmp` that computes `mask`.

    Returns None if `mask` is not the result of a `vcmp`.
    """
    use = mask.op.dsl_call
    if use is None or use.name != "vcmp":
        return None
    values = _operands(use.inputs, use.parameters["places"], use.parameters["kinds"])
    dtype = use.inputs[0].dtype
    one, other = (_Operand("vcmp", value, dtype, "an operand") for value in values)
    return use.parameters["operation"], one, other


def _vsel(mask: Array, *arrays: Array, packed: bool, size: int, places: Any, kinds: Any) -> Array:
    one, other = _operands(arrays, places, kinds)
    if packed:
        mask = np.unpackbits(mask, axis=-1, count=size, bitorder="little").astype(bool)
    return np.where(mask, one, other)


def vcmpsel(
    lhs: Tensor, rhs: Any = None, operation: str = "lt", slhs: Any = None, srhs: Any = None
) -> Tensor:
    """Compares lhs with rhs and selects from slhs and srhs.

    The result is slhs where the comparison is true and srhs elsewhere.

    Args:
        lhs: a tensor.
        rhs: a tensor or a scalar; by default 2.0.
        operation: ``eq``, ``ne``, ``lt``, ``gt``, ``ge`` or ``le``.
        slhs: a tensor or a scalar; by default lhs.
        srhs: a tensor or a scalar. The default is rhs if rhs is a tensor, and 0 otherwise.
    """
    left = check_tensor("vcmpsel", lhs, "lhs")
    _check_one_of("vcmpsel", "operation", operation, _COMPARISON_NAMES)
    right = 2.0 if rhs is None else rhs
    given = {
        "lhs": left,
        "rhs": right,
        "slhs": left if slhs is None else slhs,
        "srhs": (right if isinstance(right, Tensor) else 0) if srhs is None else srhs,
    }
    one, other, a, b = (_Operand("vcmpsel", value, left, name) for name, value in given.items())
    return compute(
        left.shape,
        lambda *i: select(
            _as_bool(make_binary(operation, one.element(i), other.element(i))),
            a.element(i),
            b.element(i),
        ),
        fresh_name("vcmpsel"),
        f"elewise_multiple_vcmpsel|{operation}",
        word=_make_call("vcmpsel", (one, other, a, b), {"operation": operation}),
    )


def _vcmpsel(*arrays: Array, operation: str, places: Any, kinds: Any) -> Array:
    one, other, a, b = _operands(arrays, places, kinds)
    return np.where(BINARY_FUNCTIONS[operation](one, other), a, b)


def vlogic(lhs: Tensor, rhs: Any = None, operation: str = "logic_and") -> Tensor:
    """Computes the logical and, or, or not of bool tensors.

    Args:
        lhs: a bool tensor.
        rhs: a bool tensor; ignored for ``logic_not``.
        operation: ``logic_and``, ``logic_or`` or ``logic_not``.
    """
    _check_one_of("vlogic", "operation", operation, tuple(_LOGIC))
    left = check_tensor("vlogic", lhs, "lhs")
    alone = operation == "logic_not"
    tensors = (left,) if alone else (left, check_tensor("vlogic", rhs, "rhs"))
    for tensor in tensors:
        if tensor.dtype != "bool":
            raise InputError(
                "vlogic takes truth values",
                place=str(user_location()),
                expected="bool",
                got=f"{tensor.dtype} ({tensor.name})",
                remedy="Compare with vcmp first",
            )
        check_same_shape_and_dtype("vlogic", left, tensor)
    return compute(
        left.shape,
        lambda *i: (
            call("not", left(*i), dtype="bool")
            if alone
            else make_binary(_LOGIC[operation], *(tensor(*i) for tensor in tensors))
        ),
        fresh_name("vlogic"),
        f"elewise_binary_logic|{operation}",
        word=DslCall("vlogic", tensors, {"operation": operation}),
    )


def _vlogic(*arrays: Array, operation: str) -> Array:
    return (
        np.logical_not(*arrays)
        if operation == "logic_not"
        else BINARY_FUNCTIONS[_LOGIC[operation]](*arrays)
    )


def calculate_one_or_zero(input_tensor: Tensor, shape: Any = None, dtype: Any = None) -> Tensor:
    """Returns 1 for each element of `input_tensor` that is above 0, and 0 for every other element.

    The result has the shape and dtype of `input_tensor`; `shape` and `dtype` are ignored.
    """
    return vcmpsel(check_tensor("calculate_one_or_zero", input_tensor), 0, "gt", 1, 0)


OPERATIONS = (
    DslOperation("vcmp", vcmp, _vcmp, "vcmp"),
    DslOperation("vsel", vsel, _vsel, "vsel"),
    DslOperation("vcmpsel", vcmpsel, _vcmpsel, "vsel"),
    DslOperation("vlogic", vlogic, _vlogic),
    DslOperation("calculate_one_or_zero", calculate_one_or_zero),
)
