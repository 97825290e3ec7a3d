"""Numbers on a grid: whole numbers that stand for (number − zero) · scale."""

from __future__ import annotations

from typing import Any

import mindspore
from mindspore import ops

from ms_fusion.onnx_cell.operator_use import Use

LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535)}


def _along(use: Use, position: int) -> str:
    """Scale or zero, so that it is broadcast to the numbers: one for all, one for an index of an axis, or one for a block."""
    value, text = use.value(position), use.text(position)
    if value.kind == "constant" and not value.shape:
        return text
    axis, rank, block = use.axis(1), use.rank(), int(use.attr("block_size", 0))
    if block:
        return f"ops.narrow(ops.repeat_interleave({text}, {block}, {axis}), {axis}, 0, {use.text()}.shape[{axis}])"
    if len(value.shape) == 1 and value.shape != (1,):
        return f"ops.reshape({text}, {(1,) * axis + (-1,) + (1,) * (rank - 1 - axis)})"
    return f"ops.reshape({text}, ())"


def to_grid(use: Use) -> str:
    """``QuantizeLinear``."""
    dtype = use.result().dtype
    if dtype not in LIMITS:
        raise use.refused(f"a grid of {dtype}")
    zero = _along(use, 2) if use.has(2) else "0"
    return f"quantized.quantize({use.text()}, {_along(use, 1)}, {zero}, {LIMITS[dtype]}, {use.dtype(dtype)})"


def from_grid(use: Use) -> str:
    """``DequantizeLinear``."""
    if use.value().dtype not in (*LIMITS, "int32"):
        raise use.refused(f"a grid of {use.value().dtype}")
    zero = _along(use, 2) if use.has(2) else "0"
    return f"quantized.dequantize({use.text()}, {_along(use, 1)}, {zero}, {use.dtype(use.result().dtype)})"


def _of_rows(use: Use, position: int, operand: int) -> str:
    """Zero or scale of a product's operand: one for all; one for a row of the left, for a column of the right."""
    value, text = use.value(position), use.text(position)
    if not value.shape:
        return text
    if value.shape == (1,):
        return f"ops.reshape({text}, ())"
    return f"ops.reshape({text}, (-1, 1))" if operand == 0 and len(value.shape) == 1 else text


def product(use: Use) -> str:
    """``MatMulInteger``."""
    zeros = [_of_rows(use, 2 + one, one) if use.has(2 + one) else "0" for one in range(2)]
    return f"quantized.multiplied({use.given(0, 1)}, {', '.join(zeros)})"


def product_on_grid(use: Use) -> str:
    """``QLinearMatMul``."""
    dtype = use.result().dtype
    if dtype not in LIMITS:
        raise use.refused(f"a grid of {dtype}")
    scales = [_of_rows(use, place, operand) for place, operand in ((1, 0), (4, 1), (6, 2))]
    zeros = [_of_rows(use, place, operand) for place, operand in ((2, 0), (5, 1), (7, 2))]
    made = f"quantized.multiplied({use.text()}, {use.text(3)}, {', '.join(zeros[:2])})"
    return f"quantized.scaled({made}, {', '.join(scales)}, {zeros[2]}, {LIMITS[dtype]}, {use.dtype(dtype)})"


def multiplied(a: Any, b: Any, zero_a: Any, zero_b: Any) -> Any:
    """(a − zero) · (b − zero), exact as long as it is a number of int32."""
    wide = mindspore.float64
    found = ops.matmul(
        ops.cast(a, wide) - in_float(zero_a, wide), ops.cast(b, wide) - in_float(zero_b, wide)
    )
    return ops.cast(found, mindspore.int32)


def scaled(
    total: Any,
    scale_a: Any,
    scale_b: Any,
    scale: Any,
    zero: Any,
    limits: tuple[int, int],
    dtype: Any,
) -> Any:
    """A product of whole numbers on the grid of the result."""
    factor = in_float(scale_a) * in_float(scale_b) / in_float(scale)
    placed = ops.round(ops.cast(total, mindspore.float32) * factor) + in_float(zero)
    return ops.cast(ops.minimum(ops.maximum(placed, limits[0]), limits[1]), dtype)


def quantize(x: Any, scale: Any, zero: Any, limits: tuple[int, int], dtype: Any) -> Any:
    """round(x / scale) + zero within limits; halves go to the even number."""
    placed = ops.round(ops.cast(x, mindspore.float32) / in_float(scale)) + in_float(zero)
    return ops.cast(ops.minimum(ops.maximum(placed, limits[0]), limits[1]), dtype)


def dequantize(x: Any, scale: Any, zero: Any, dtype: Any) -> Any:
    """(x − zero) · scale."""
    if not isinstance(zero, int):
        zero = ops.cast(zero, mindspore.int32)
    apart = ops.cast(ops.cast(x, mindspore.int32) - zero, mindspore.float32)
    return ops.cast(apart * in_float(scale), dtype)


def in_float(value: Any, dtype: Any = mindspore.float32) -> Any:
    """A tensor in a floating-point dtype, or a number as it is."""
    if isinstance(value, (int, float)):
        return value
    return ops.cast(value, dtype)
