"""Words that compare and choose: to bool or to packed bits, and back from them."""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

import numpy as np

from tbe_impl.dsl.array_semantics import BINARY, Array
from tbe_impl.dsl.expr import COMPARISONS, Const, Expr, as_expr, binary, call, const, select
from tbe_impl.dsl.location import here
from tbe_impl.dsl.operation import Word, check_same, check_scalar, check_tensor, may_equal
from tbe_impl.dsl.tensor import Tensor, WordUse, compute, fresh_name, shape_text
from tbe_impl.errors import InputError

_LOGIC = {"logic_and": "and", "logic_or": "or", "logic_not": "not"}


def _check_one_of(word: str, argument: str, value: Any, known: Sequence[str]) -> str:
    text = str(value)
    if text not in known:
        raise InputError(
            f"{word}: unknown {argument}",
            place=str(here()),
            expected=" or ".join(known),
            got=repr(value),
        )
    return text


_ORDER = ("eq", "ne", "lt", "gt", "ge", "le")
assert set(_ORDER) == COMPARISONS


class _Operand:
    """A tensor or a scalar of an elementwise word, read the same way."""

    def __init__(self, word: str, value: Any, like: Tensor | str, argument: str):
        self.tensor: Tensor | None = value if isinstance(value, Tensor) else None
        if self.tensor is None:
            dtype = like if isinstance(like, str) else like.dtype
            self.scalar = check_scalar(word, value, dtype, argument)
        elif not isinstance(like, str):
            check_same(word, like, self.tensor)

    def at(self, index: Sequence[Expr]) -> Expr:
        return self.scalar if self.tensor is None else self.tensor(*index)


def _use(word: str, tensors: Sequence[Any], parameters: dict[str, Any]) -> WordUse:
    """A use whose formula gets each operand by name: the position of its tensor, or its scalar."""
    inputs = [item.tensor for item in tensors if item.tensor is not None]
    places = [
        inputs.index(item.tensor) if item.tensor is not None else item.scalar for item in tensors
    ]
    kinds = ["tensor" if item.tensor is not None else "scalar" for item in tensors]
    return WordUse(word, tuple(inputs), {**parameters, "places": places, "kinds": kinds})


def _operands(arrays: Sequence[Any], places: Sequence[Any], kinds: Sequence[str]) -> list[Any]:
    return [
        arrays[place] if kind == "tensor" else place
        for place, kind in zip(places, kinds, strict=True)
    ]


def vcmp(lhs: Tensor, rhs: Any, operation: str = "lt", mode: str = "bool") -> Tensor:
    """lhs `operation` rhs.

    Args:
        lhs: a tensor.
        rhs: a tensor of the same shape and dtype, or a scalar.
        operation: ``eq``, ``ne``, ``lt``, ``gt``, ``ge`` or ``le``.
        mode: ``bool`` gives a bool tensor; ``bit`` packs eight neighbours of the last axis into a byte of a uint8 tensor,
            bit k of byte i being element 8·i + k; bits beyond the end are 0.
    """
    left = check_tensor("vcmp", lhs, "lhs")
    _check_one_of("vcmp", "operation", operation, _ORDER)
    _check_one_of("vcmp", "mode", mode, ("bool", "bit"))
    one, other = (
        _Operand("vcmp", value, left, name) for value, name in ((left, "lhs"), (rhs, "rhs"))
    )
    use = _use("vcmp", (one, other), {"operation": operation, "mode": mode})
    tag = f"elewise_binary_vcmpv_{operation}"
    if mode == "bool":
        made: Tensor = compute(
            left.shape,
            lambda *i: _truth(binary(operation, one.at(i), other.at(i))),
            fresh_name("vcmp"),
            tag,
            word=use,
        )
        return made
    last = left.shape[-1] if left.ndim else const(1)
    even = isinstance(last, Const) and last.value % 8 == 0

    def packed(*index: Expr) -> Expr:
        byte: Expr | None = None
        for k in range(8):
            element = index[-1] * 8 + k
            at = (*index[:-1], element if even else binary("min", element, last - 1))
            holds = _truth(binary(operation, one.at(at), other.at(at)))
            if not even:
                holds = binary("and", holds, binary("lt", element, last))
            bit = select(holds, const(1 << k, "uint8"), const(0, "uint8"))
            byte = bit if byte is None else byte | bit
        assert byte is not None
        return byte

    bits: Tensor = compute(
        (*left.shape[:-1], (last + 7) // 8), packed, fresh_name("vcmp"), f"{tag}|bit", word=use
    )
    return bits


def _truth(value: Any) -> Expr:
    return const(value, "bool") if isinstance(value, bool) else as_expr(value)


def _vcmp(*arrays: Array, operation: str, mode: str, places: Any, kinds: Any) -> Array:
    one, other = _operands(arrays, places, kinds)
    holds: Array = BINARY[operation](one, other)
    return np.packbits(holds, axis=-1, bitorder="little") if mode == "bit" else holds


def vsel(condition: Tensor, lhs: Any, rhs: Any) -> Tensor:
    """lhs where condition holds, else rhs.

    Args:
        condition: bool, or uint8 as `vcmp` packs it: then lhs and rhs are eight times as long on the last axis.
        lhs, rhs: tensors of one shape and dtype, or scalars; two plain numbers make a float16 tensor.
    """
    mask = check_tensor("vsel", condition, "condition")
    if mask.dtype not in ("bool", "uint8"):
        raise InputError(
            "vsel takes a condition",
            place=str(here()),
            expected="bool, or uint8 with packed bits",
            got=f"{mask.dtype} ({mask.name})",
            remedy="Make one with vcmp",
        )
    packed = mask.dtype == "uint8"
    shape = (*mask.shape[:-1], mask.shape[-1] * 8) if packed and mask.ndim else mask.shape
    bits = mask.shape[-1] if packed and mask.ndim else None
    if bits is not None and mask.op.word is not None and mask.op.word.name == "vcmp":
        shape = mask.op.word.inputs[0].shape
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
            place=str(here()),
            expected=shape_text(shape),
            got=f"{shape_text(first.shape)} ({first.name})",
        )
    one, other = _Operand("vsel", lhs, like, "lhs"), _Operand("vsel", rhs, like, "rhs")
    # the tensors' own sizes: where both are known at run time only they are the simpler expressions
    sizes = shape if first is None else first.shape
    inner = _use("vsel", (one, other), {"packed": packed, "size": sizes[-1] if sizes else 1})
    # positions are counted after the condition, which the formula takes off first
    use = WordUse("vsel", (mask, *inner.inputs), inner.parameters)

    compared = _comparison(mask) if packed else None

    def choose(*index: Expr) -> Expr:
        if compared is not None:
            # reading the bits back would compute each comparison eight times, and their operands too
            operation, first_operand, second_operand = compared
            holds: Any = _truth(
                binary(operation, first_operand.at(index), second_operand.at(index))
            )
        elif packed:
            byte = mask(*index[:-1], index[-1] // 8)
            bit = (byte >> (index[-1] % 8).astype("uint8")) & const(1, "uint8")
            holds = binary("ne", bit, const(0, "uint8"))
        else:
            holds = mask(*index)
        return select(holds, one.at(index), other.at(index))

    made: Tensor = compute(sizes, choose, fresh_name("vsel"), "elewise_multiple_sel", word=use)
    return made


def _comparison(mask: Tensor) -> tuple[str, _Operand, _Operand] | None:
    """What made a tensor of packed bits: the operation and both operands; None when no comparison did."""
    use = mask.op.word
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
    """slhs where lhs `operation` rhs, else srhs.

    Args:
        lhs: a tensor.
        rhs: a tensor or a scalar; 2.0 when left out.
        operation: ``eq``, ``ne``, ``lt``, ``gt``, ``ge`` or ``le``.
        slhs: a tensor or a scalar; lhs when left out.
        srhs: a tensor or a scalar; when left out, rhs if that is a tensor, else 0.
    """
    left = check_tensor("vcmpsel", lhs, "lhs")
    _check_one_of("vcmpsel", "operation", operation, _ORDER)
    right = 2.0 if rhs is None else rhs
    given = {
        "lhs": left,
        "rhs": right,
        "slhs": left if slhs is None else slhs,
        "srhs": (right if isinstance(right, Tensor) else 0) if srhs is None else srhs,
    }
    one, other, a, b = (_Operand("vcmpsel", value, left, name) for name, value in given.items())
    made: Tensor = compute(
        left.shape,
        lambda *i: select(_truth(binary(operation, one.at(i), other.at(i))), a.at(i), b.at(i)),
        fresh_name("vcmpsel"),
        f"elewise_multiple_vcmpsel|{operation}",
        word=_use("vcmpsel", (one, other, a, b), {"operation": operation}),
    )
    return made


def _vcmpsel(*arrays: Array, operation: str, places: Any, kinds: Any) -> Array:
    one, other, a, b = _operands(arrays, places, kinds)
    return np.where(BINARY[operation](one, other), a, b)


def vlogic(lhs: Tensor, rhs: Any = None, operation: str = "logic_and") -> Tensor:
    """lhs and rhs, lhs or rhs, or not lhs, of bool tensors; `operation` is logic_and, logic_or or logic_not."""
    _check_one_of("vlogic", "operation", operation, tuple(_LOGIC))
    left = check_tensor("vlogic", lhs, "lhs")
    alone = operation == "logic_not"
    tensors = (left,) if alone else (left, check_tensor("vlogic", rhs, "rhs"))
    for tensor in tensors:
        if tensor.dtype != "bool":
            raise InputError(
                "vlogic takes truth values",
                place=str(here()),
                expected="bool",
                got=f"{tensor.dtype} ({tensor.name})",
                remedy="Compare with vcmp first",
            )
        check_same("vlogic", left, tensor)
    made: Tensor = compute(
        left.shape,
        lambda *i: (
            call("not", left(*i), dtype="bool")
            if alone
            else binary(_LOGIC[operation], *(tensor(*i) for tensor in tensors))
        ),
        fresh_name("vlogic"),
        f"elewise_binary_logic|{operation}",
        word=WordUse("vlogic", tensors, {"operation": operation}),
    )
    return made


def _vlogic(*arrays: Array, operation: str) -> Array:
    found: Array = (
        np.logical_not(*arrays) if operation == "logic_not" else BINARY[_LOGIC[operation]](*arrays)
    )
    return found


def calculate_one_or_zero(input_tensor: Tensor, shape: Any = None, dtype: Any = None) -> Tensor:
    """1 where x > 0, else 0; the shape and the dtype are the tensor's own."""
    return vcmpsel(check_tensor("calculate_one_or_zero", input_tensor), 0, "gt", 1, 0)


WORDS = (
    Word("vcmp", vcmp, _vcmp, "vcmp"),
    Word("vsel", vsel, _vsel, "vsel"),
    Word("vcmpsel", vcmpsel, _vcmpsel, "vsel"),
    Word("vlogic", vlogic, _vlogic),
    Word("calculate_one_or_zero", calculate_one_or_zero),
)
