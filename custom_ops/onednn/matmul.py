"""Prepares matrix products in oneDNN, with bias, residual and activation as an epilogue."""

from __future__ import annotations

import math
from collections.abc import Sequence
from functools import lru_cache
from typing import NamedTuple

import numpy as np

from custom_ops.onednn.convolution_plans import PLAN_CACHE_SIZE
from custom_ops.onednn.dnnl_library import Library
from custom_ops.onednn.epilogues import Epilogue
from custom_ops.onednn.matrix_product_step import multiply
from custom_ops.onednn.plan_building import build_plan
from custom_ops.onednn.plans import PlanBuilder, row_major
from custom_ops.onednn.prepared_operator import Prepared, TensorType
from custom_ops.onednn.routes import check_dtype, choose_library, resolve_threads
from tbe_impl.errors import InputError, pluralize

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
    """Prepares ``y = activation(a @ b + bias + residual)``; batches broadcast as in NumPy.

    The inputs of the operator are ``a``, ``b`` and, if requested, ``bias`` and ``residual``, in
    this order. ``bias`` has one value per column of y. ``residual`` has the shape of y. The output
    of the operator is ``y``. Sums are accumulated in float32. Float16 and bfloat16 results are
    rounded once, at the end.

    Args:
        a_shape, b_shape: shapes in memory order, with at least two axes each.
        dtype: dtype of all arrays: ``float32``, ``float16``, ``bfloat16`` or ``float64``. Float64
            is computed in NumPy.
        transpose_a, transpose_b: whether to transpose the last two axes before the product.
        transpose_y: whether to transpose the last two axes of y after the product.
        heads_third: names of the arrays (``a``, ``b`` or ``y``) that have the memory order (batch,
            tokens, heads, …), as in attention. The second and third axes are then swapped for the
            product. The option requires four axes, equal batches of a and b, no bias and no
            residual.
        bias, residual: whether the operator has an input of this name.
        activation: a key of `epilogues.ACTIVATIONS`; empty for no activation.
        alpha: parameter of the activation.
        threads: number of threads. By default, the number from `tbe_impl.environment.threads`, or 1
            if there is little work.
        lowering: ``onednn``, ``im2col`` (in NumPy, not callable from C), or ``auto`` (oneDNN if it
            is available, else NumPy).
        operator: name of the operator in error messages.

    Raises:
        InputError: an argument is invalid; the message names the operator, the argument, the
            expected and the actual value.
        MissingError: oneDNN is requested but not available.
    """
    after = Epilogue(bias, residual, activation, alpha)
    after.check(operator)
    check_dtype(operator, dtype)
    shapes = _check_shape(operator, "a", a_shape), _check_shape(operator, "b", b_shape)
    a, b = (
        _swap_heads(shape) if name in heads_third and len(shape) == 4 else shape
        for name, shape in zip("ab", shapes, strict=True)
    )
    rows, inner = a[:-3:-1][:: 1 if transpose_a else -1]
    other, columns = b[:-3:-1][:: 1 if transpose_b else -1]
    if inner != other:
        raise InputError(
            f"{operator}: b does not fit a",
            expected=f"{pluralize(inner, 'row')} of b, as a has columns",
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
        y = _swap_heads(y) if "y" in heads_third else y
    inputs = [TensorType(name, shape, dtype) for name, shape in zip("ab", shapes, strict=True)]
    inputs += [TensorType("bias", (columns,), dtype)] if bias else []
    inputs += [TensorType("residual", y, dtype)] if residual else []
    output = TensorType("y", y, dtype)
    elements = sum(math.prod(one.shape) for one in (*inputs, output))
    shared = resolve_threads(
        operator, threads, operations=2 * math.prod(y) * inner, elements=elements
    )
    ways = _OperandLayouts(transpose_a, transpose_b, transpose_y, frozenset(heads_third))
    library = choose_library(operator, lowering, dtype)
    # if the inner extent is 0, the result is the bias, but oneDNN drops the bias: NumPy computes
    # this case
    return _prepare(
        operator, tuple(inputs), output, ways, after, shared, library if inner else None
    )


class _OperandLayouts(NamedTuple):
    """Layouts of a, b and y; the fields are the equally named arguments of `prepare_matmul`."""

    transpose_a: bool
    transpose_b: bool
    transpose_y: bool
    heads_third: frozenset[str]

    def view(self, name: str, item: np.ndarray) -> np.ndarray:
        """Returns `item` (memory of ``a``, ``b`` or ``y``) with the axes in the product's order."""
        item = item.swapaxes(1, 2) if name in self.heads_third else item
        return item.swapaxes(-1, -2) if getattr(self, f"transpose_{name}") else item


def _check_shape(operator: str, name: str, given: Sequence[int]) -> tuple[int, ...]:
    found = tuple(int(item) for item in given)
    if not 2 <= len(found) <= MAX_RANK or min(found) < 0:
        raise InputError(
            f"{operator}: {name} has a wrong shape",
            expected=f"2 to {MAX_RANK} sizes",
            got=f"{list(found)}",
        )
    return found


def _swap_heads(shape: tuple[int, ...]) -> tuple[int, ...]:
    return (shape[0], shape[2], shape[1], *shape[3:])


def _check_heads(
    operator: str, names: Sequence[str], a: tuple[int, ...], b: tuple[int, ...], *, plain: bool
) -> None:
    """Raises `InputError` for a `heads_third` with which oneDNN would compute wrong results."""
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


@lru_cache(maxsize=PLAN_CACHE_SIZE)
def _prepare(
    operator: str,
    inputs: tuple[TensorType, ...],
    output: TensorType,
    ways: _OperandLayouts,
    after: Epilogue,
    threads: int,
    library: Library | None,
) -> Prepared:
    if library is None:
        return Prepared(
            operator, inputs, (output,), formula=lambda *given: [_formula(ways, after, *given)]
        )
    rank = len(output.shape)

    def add_steps(builder: PlanBuilder, dtype: str) -> None:
        # oneDNN writes row-major results; a transposed result is therefore computed as yᵀ = bᵀ aᵀ
        turned = ways.transpose_y
        columns = [1] * rank
        columns[-2 if turned else -1] = math.prod(inputs[2].shape) if after.bias else 1
        a, b = (
            builder.read(kind, dtype, *_view_shape_and_strides(kind, rank, ways, turned))
            for kind in inputs[:2]
        )
        bias = builder.read(inputs[2], dtype, columns) if after.bias else None
        y_view = _view_shape_and_strides(output, rank, ways, turned)
        residual = builder.read(inputs[-1], dtype, *y_view) if after.residual else None
        y = builder.output_place(output, dtype, *y_view)
        if turned:
            multiply(builder, b, a, y, after, row_bias=bias, residual=residual)
        else:
            multiply(builder, a, b, y, after, bias=bias, residual=residual)

    return build_plan(library, threads, operator, inputs, (output,), add_steps)


def _view_shape_and_strides(
    kind: TensorType, rank: int, ways: _OperandLayouts, turned: bool
) -> tuple[list[int], list[int]]:
    """Returns shape and strides of a, b or y, padded with leading axes of size 1 to `rank`.

    If `turned` is true, the result describes the transposed matrix, for the product yᵀ = bᵀ aᵀ.
    """
    sizes = [*(1,) * (rank - len(kind.shape)), *kind.shape]
    strides = list(row_major(sizes))
    for item in (sizes, strides):
        if kind.name in ways.heads_third:
            item[1:3] = item[2], item[1]
        if getattr(ways, f"transpose_{kind.name}") != turned:
            item[-2:] = item[:-3:-1]
    return sizes, strides


def _formula(ways: _OperandLayouts, after: Epilogue, *given: np.ndarray) -> np.ndarray:
    wide = [item.astype(np.float32) if item.dtype.itemsize == 2 else item for item in given]
    a, b = map(ways.view, "ab", wide)
    rest = iter(wide[2:])
    bias = next(rest) if after.bias else None
    y = after.apply(np.matmul(a, b), bias, ways.view("y", next(rest)) if after.residual else None)
    y = y.swapaxes(-1, -2) if ways.transpose_y else y
    return y.swapaxes(1, 2) if "y" in ways.heads_third else y
