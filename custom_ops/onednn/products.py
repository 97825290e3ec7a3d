"""Matrix products through oneDNN, with bias, residual and activation in the same write of the result."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from custom_ops.onednn.convolution_programs import KEPT
from custom_ops.onednn.dnnl_library import Library
from custom_ops.onednn.epilogues import Epilogue
from custom_ops.onednn.matrix_product_step import multiply
from custom_ops.onednn.prepared_operator import Prepared, TensorType
from custom_ops.onednn.program_building import build
from custom_ops.onednn.programs import Builder, row_major
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
    transpose_y: bool = False,
    heads_third: Sequence[str] = (),
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
        transpose_y: whether those of y change places at the end.
        heads_third: which of ``a``, ``b``, ``y`` lie with their second and third dimension changed, as attention's tokens × heads do:
            four dimensions, the same batches in a and b, no bias and no residual.
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
    shapes = _shape(operator, "a", a_shape), _shape(operator, "b", b_shape)
    a, b = (
        _heads_second(shape) if name in heads_third and len(shape) == 4 else shape
        for name, shape in zip("ab", shapes, strict=True)
    )
    rows, inner = a[:-3:-1][:: 1 if transpose_a else -1]
    other, columns = b[:-3:-1][:: 1 if transpose_b else -1]
    if inner != other:
        raise InputError(
            f"{operator}: b does not fit a",
            expected=f"{inner} rows of b, as a has columns",
            got=f"{other}: a {list(a)}, b {list(b)}",
        )
    try:
        batch = np.broadcast_shapes(a[:-2], b[:-2])
    except ValueError:
        raise InputError(
            f"{operator}: b does not fit a",
            expected=f"batches that broadcast with {list(a[:-2])}",
            got=f"{list(b[:-2])}",
        ) from None
    y = (*batch, columns, rows) if transpose_y else (*batch, rows, columns)
    if heads_third:
        _check_heads(operator, heads_third, a, b, plain=not bias and not residual)
        y = _heads_second(y) if "y" in heads_third else y
    inputs = [TensorType(name, shape, dtype) for name, shape in zip("ab", shapes, strict=True)]
    inputs += [TensorType("bias", (columns,), dtype)] if bias else []
    inputs += [TensorType("residual", y, dtype)] if residual else []
    output = TensorType("y", y, dtype)
    elements = sum(math.prod(one.shape) for one in (*inputs, output))
    shared = checked_threads(
        operator, threads, operations=2 * math.prod(y) * inner, elements=elements
    )
    ways = _Ways(transpose_a, transpose_b, transpose_y, frozenset(heads_third))
    library = chosen(operator, lowering, dtype)
    # of a sum of nothing oneDNN forgets the bias
    return _prepare(
        operator, tuple(inputs), output, ways, after, shared, library if inner else None
    )


class _Ways(NamedTuple):
    """How the arrays lie: the arguments of these names."""

    transpose_a: bool
    transpose_b: bool
    transpose_y: bool
    heads_third: frozenset[str]

    def seen(self, name: str, item: np.ndarray) -> np.ndarray:
        """``a``, ``b`` or ``y`` as the product sees it."""
        item = item.swapaxes(1, 2) if name in self.heads_third else item
        return item.swapaxes(-1, -2) if getattr(self, f"transpose_{name}") else item


def _shape(operator: str, name: str, given: Sequence[int]) -> tuple[int, ...]:
    found = tuple(int(item) for item in given)
    if not 2 <= len(found) <= MAX_RANK or min(found) < 0:
        raise InputError(
            f"{operator}: {name} has a wrong shape",
            expected=f"2 to {MAX_RANK} sizes",
            got=f"{list(found)}",
        )
    return found


def _heads_second(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], shape[2], shape[1], *shape[3:])


def _check_heads(
    operator: str, names: Sequence[str], a: tuple[int, ...], b: tuple[int, ...], *, plain: bool
) -> None:
    """In other cases oneDNN gets numbers wrong or writes elsewhere."""
    if not {*names} <= {*"aby"}:
        raise InputError(
            f"{operator}: heads_third is unknown", expected="some of a, b, y", got=f"{list(names)}"
        )
    if not len(a) == len(b) == 4 or a[:2] != b[:2] or not plain:
        raise InputError(
            f"{operator}: heads_third does not fit",
            expected="four dimensions, the same batches in a and b, no bias and no residual",
            got=f"a {list(a)}, b {list(b)}{'' if plain else ', bias or residual'}, heads second",
        )


@lru_cache(maxsize=KEPT)
def _prepare(
    operator: str,
    inputs: tuple[TensorType, ...],
    output: TensorType,
    ways: _Ways,
    after: Epilogue,
    threads: int,
    library: Library | None,
) -> Prepared:
    if library is None:
        return Prepared(
            operator, inputs, (output,), formula=lambda *given: [_formula(ways, after, *given)]
        )
    rank = len(output.shape)

    def steps(builder: Builder, dtype: str) -> None:
        # oneDNN writes rows: yᵀ = bᵀ aᵀ
        turned = ways.transpose_y
        columns = [1] * rank
        columns[-2 if turned else -1] = math.prod(inputs[2].shape) if after.bias else 1
        a, b = (builder.read(kind, dtype, *_seen(kind, rank, ways, turned)) for kind in inputs[:2])
        bias = builder.read(inputs[2], dtype, columns) if after.bias else None
        y_view = _seen(output, rank, ways, turned)
        residual = builder.read(inputs[-1], dtype, *y_view) if after.residual else None
        y = builder.written(output, dtype, *y_view)
        if turned:
            multiply(builder, b, a, y, after, row_bias=bias, residual=residual)
        else:
            multiply(builder, a, b, y, after, bias=bias, residual=residual)

    return build(library, threads, operator, inputs, (output,), steps)


def _seen(kind: TensorType, rank: int, ways: _Ways, turned: bool) -> tuple[list[int], list[int]]:
    """Shape and strides of a, b or y as a product of this rank, or its transpose, sees it."""
    sizes = [*(1,) * (rank - len(kind.shape)), *kind.shape]
    strides = list(row_major(sizes))
    for item in (sizes, strides):
        if kind.name in ways.heads_third:
            item[1:3] = item[2], item[1]
        if getattr(ways, f"transpose_{kind.name}") != turned:
            item[-2:] = item[:-3:-1]
    return sizes, strides


def _formula(ways: _Ways, after: Epilogue, *given: np.ndarray) -> np.ndarray:
    wide = [item.astype(np.float32) if item.dtype.itemsize == 2 else item for item in given]
    a, b = map(ways.seen, "ab", wide)
    rest = iter(wide[2:])
    bias = next(rest) if after.bias else None
    y = after.apply(np.matmul(a, b), bias, ways.seen("y", next(rest)) if after.residual else None)
    y = y.swapaxes(-1, -2) if ways.transpose_y else y
    return y.swapaxes(1, 2) if "y" in ways.heads_third else y
