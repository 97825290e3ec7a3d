"""Matrix products through oneDNN, with bias, residual and activation in the same write of the result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache

import numpy as np

from custom_ops.onednn.building import build
from custom_ops.onednn.convolution_plans import KEPT
from custom_ops.onednn.dnnl_library import Library
from custom_ops.onednn.epilogues import Epilogue
from custom_ops.onednn.multiplying import multiply
from custom_ops.onednn.plans import Builder, row_major
from custom_ops.onednn.prepared import Prepared, TensorType
from custom_ops.onednn.routes import check_dtype, checked_threads, chosen
from tbe_impl.errors import InputError

MAX_RANK = 12


def prepare_matmul(
    a_shape: Sequence[int],
    b_shape: Sequence[int],
    *,
    dtype: str = "float32",
    transpose_a: bool = False,
    transpose_b: bool = False,
    bias: bool = False,
    residual: bool = False,
    activation: str = "",
    alpha: float | None = None,
    threads: int | None = None,
    lowering: str = "auto",
    operator: str = "MatMul",
) -> Prepared:
    """``y = activation(a @ b + bias + residual)``; leading dimensions are batches and broadcast as in NumPy.

    Inputs ``a``, ``b``, then ``bias`` (columns of y) and ``residual`` (shape of y) when asked for; output ``y``.
    Sums are float32; float16 and bfloat16 are rounded once, at the end.

    Args:
        a_shape, b_shape: at least two sizes each, as the arrays lie in memory.
        dtype: of all arrays: ``float32``, ``float16``, ``bfloat16``, or ``float64``, which NumPy computes.
        transpose_a, transpose_b: whether the last two dimensions change places first.
        bias, residual: whether they are inputs.
        activation: a key of `epilogues.ACTIVATIONS`; empty for none.
        alpha: its parameter where it has one.
        threads: that share the work; by default those of `tbe_impl.environment.threads`, or one where there is little.
        lowering: ``onednn``, ``im2col`` (NumPy; no address for C), or ``auto``: oneDNN where it is there.
        operator: the name in errors.

    Raises:
        InputError: names operator, argument, expected and got.
        MissingError: oneDNN is asked for and not there.
    """
    after = Epilogue(bias, residual, activation, alpha)
    after.check(operator)
    check_dtype(operator, dtype)
    a, b = _shape(operator, "a", a_shape), _shape(operator, "b", b_shape)
    rows, inner = a[:-3:-1][:: 1 if transpose_a else -1]
    other, columns = b[:-3:-1][:: 1 if transpose_b else -1]
    if inner != other:
        raise InputError(f"{operator}: b does not fit a", expected=f"{inner} rows of b, as a has columns", got=f"{other}: a {list(a)}, b {list(b)}")  # fmt: skip
    try:
        batch = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise InputError(f"{operator}: b does not fit a", expected=f"batches that broadcast with {list(a[:-2])}", got=f"{list(b[:-2])}") from None  # fmt: skip
    y = (*batch, rows, columns)
    inputs = [TensorType("a", a, dtype), TensorType("b", b, dtype)]
    inputs += [TensorType("bias", (columns,), dtype)] if bias else []
    inputs += [TensorType("residual", y, dtype)] if residual else []
    output = TensorType("y", y, dtype)
    elements = sum(math.prod(one.shape) for one in (*inputs, output))
    shared = checked_threads(operator, threads, operations=2 * math.prod(y) * inner, elements=elements)  # fmt: skip
    return _prepare(operator, tuple(inputs), output, (transpose_a, transpose_b), after, shared, chosen(operator, lowering, dtype))  # fmt: skip


def _shape(operator: str, name: str, given: Sequence[int]) -> tuple[int, ...]:
    found = tuple(int(item) for item in given)
    if not 2 <= len(found) <= MAX_RANK or min(found) < 0:
        raise InputError(f"{operator}: {name} has a wrong shape", expected=f"2 to {MAX_RANK} sizes", got=f"{list(found)}")  # fmt: skip
    return found


@lru_cache(maxsize=KEPT)
def _prepare(operator: str, inputs: tuple[TensorType, ...], output: TensorType, transposed: tuple[bool, bool], after: Epilogue, threads: int, library: Library | None) -> Prepared:  # fmt: skip
    # of a sum of nothing oneDNN forgets the bias
    if library is None or not inputs[0].shape[-2 if transposed[0] else -1]:
        return Prepared(operator, inputs, (output,), formula=lambda *given: [_formula(transposed, after, *given)])  # fmt: skip
    rank = len(output.shape)

    def steps(builder: Builder, dtype: str) -> None:
        a, b = (builder.read(kind, dtype, *_seen(kind.shape, rank, turned)) for kind, turned in zip(inputs, transposed, strict=False))  # fmt: skip
        bias = builder.read(inputs[2], dtype, (*(1,) * (rank - 1), output.shape[-1])) if after.bias else None  # fmt: skip
        residual = builder.read(inputs[-1], dtype) if after.residual else None
        multiply(builder, a, b, builder.written(output, dtype), after, bias=bias, residual=residual)

    return build(library, threads, operator, inputs, (output,), steps)


def _seen(shape: tuple[int, ...], rank: int, turned: bool) -> tuple[list[int], list[int]]:
    """Shape and strides of an operand as a product of this rank sees it."""
    sizes = [*(1,) * (rank - len(shape)), *shape]
    strides = list(row_major(sizes))
    if turned:
        sizes[-2:], strides[-2:] = sizes[:-3:-1], strides[:-3:-1]
    return sizes, strides


def _formula(transposed: tuple[bool, bool], after: Epilogue, *given: np.ndarray) -> np.ndarray:
    wide = [item.astype(np.float32) if item.dtype.itemsize == 2 else item for item in given]
    a, b = (
        item.swapaxes(-1, -2) if turned else item
        for item, turned in zip(wide, transposed, strict=False)
    )
    rest = iter(wide[2:])
    bias = next(rest) if after.bias else None
    return after.apply(np.matmul(a, b), bias, next(rest) if after.residual else None)
