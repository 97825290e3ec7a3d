"""Emits ONNX's quantized operators; an integer q represents (q − zero point) · scale."""

from __future__ import annotations

from typing import Any

import mindspore
from mindspore import ops

from ms_fusion.onnx.cell.operator_use import OperatorUse

LIMITS = {"int8": (-128, 127), "uint8": (0, 255), "int16": (-32768, 32767), "uint16": (0, 65535)}


def _broadcast_parameter(use: OperatorUse, position: int) -> str:
    """Emits a scale or zero point with a shape that broadcasts to the first input.

    The parameter has one value for the whole tensor, one value for each index of an axis, or one
    value for each block of an axis.
    """
    value, text = use.value(position), use.text(position)
    if value.kind == "constant" and not value.shape:
        return text
    axis, rank, block = use.axis(1), use.rank(), int(use.attr("block_size", 0))
    if block:
        return (
            f"ops.narrow(ops.repeat_interleave({text}, {block}, {axis}), {axis}, 0, "
            f"{use.text()}.shape[{axis}])"
        )
    if len(value.shape) == 1 and value.shape != (1,):
        return f"ops.reshape({text}, {(1,) * axis + (-1,) + (1,) * (rank - 1 - axis)})"
    return f"ops.reshape({text}, ())"


def quantize_linear(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``QuantizeLinear``."""
    dtype = use.result().dtype
    if dtype not in LIMITS:
        raise use.refusal(f"a grid of {dtype}")
    zero = _broadcast_parameter(use, 2) if use.has(2) else "0"
    return (
        f"quantized.quantize({use.text()}, {_broadcast_parameter(use, 1)}, {zero}, "
        f"{LIMITS[dtype]}, {use.dtype(dtype)})"
    )


def dequantize_linear(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``DequantizeLinear``."""
    if use.value().dtype not in (*LIMITS, "int32"):
        raise use.refusal(f"a grid of {use.value().dtype}")
    zero = _broadcast_parameter(use, 2) if use.has(2) else "0"
    return (
        f"quantized.dequantize({use.text()}, {_broadcast_parameter(use, 1)}, {zero}, "
        f"{use.dtype(use.result().dtype)})"
    )


def _row_parameter(use: OperatorUse, position: int, operand: int) -> str:
    """Emits a scale or zero point of a matrix product with a shape that broadcasts to one matrix.

    The input at `position` is the scale or zero point. `operand` selects the matrix: the left
    operand (0), the right operand (1) or the result (2) of the product. The scale or zero point has
    one value per tensor, per row of the left operand, or per column of the right operand.
    """
    value, text = use.value(position), use.text(position)
    if not value.shape:
        return text
    if value.shape == (1,):
        return f"ops.reshape({text}, ())"
    return f"ops.reshape({text}, (-1, 1))" if operand == 0 and len(value.shape) == 1 else text


def matmul_integer(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``MatMulInteger``."""
    zeros = [_row_parameter(use, 2 + one, one) if use.has(2 + one) else "0" for one in range(2)]
    return f"quantized.integer_matmul({use.input_texts(0, 1)}, {', '.join(zeros)})"


def qlinear_matmul(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``QLinearMatMul``."""
    dtype = use.result().dtype
    if dtype not in LIMITS:
        raise use.refusal(f"a grid of {dtype}")
    scales = [_row_parameter(use, place, operand) for place, operand in ((1, 0), (4, 1), (6, 2))]
    zeros = [_row_parameter(use, place, operand) for place, operand in ((2, 0), (5, 1), (7, 2))]
    made = f"quantized.integer_matmul({use.text()}, {use.text(3)}, {', '.join(zeros[:2])})"
    return (
        f"quantized.requantize({made}, {', '.join(scales)}, {zeros[2]}, {LIMITS[dtype]}, "
        f"{use.dtype(dtype)})"
    )


def integer_matmul(a: Any, b: Any, zero_a: Any, zero_b: Any) -> Any:
    """Returns (a − zero_a) · (b − zero_b); the product is exact if it fits into int32."""
    wide = mindspore.float64
    found = ops.matmul(
        ops.cast(a, wide) - to_float(zero_a, wide), ops.cast(b, wide) - to_float(zero_b, wide)
    )
    return ops.cast(found, mindspore.int32)


def requantize(
    total: Any,
    scale_a: Any,
    scale_b: Any,
    scale: Any,
    zero: Any,
    limits: tuple[int, int],
    dtype: Any,
) -> Any:
    """Returns round(total · scale_a · scale_b / scale) + zero, clipped to `limits`.

    `total` is the integer product of two quantized matrices, from `integer_matmul`.
    """
    factor = to_float(scale_a) * to_float(scale_b) / to_float(scale)
    placed = ops.round(ops.cast(total, mindspore.float32) * factor) + to_float(zero)
    return ops.cast(ops.minimum(ops.maximum(placed, limits[0]), limits[1]), dtype)


def quantize(x: Any, scale: Any, zero: Any, limits: tuple[int, int], dtype: Any) -> Any:
    """Returns round(x / scale) + zero, clipped to `limits`; ties round to even."""
    placed = ops.round(ops.cast(x, mindspore.float32) / to_float(scale)) + to_float(zero)
    return ops.cast(ops.minimum(ops.maximum(placed, limits[0]), limits[1]), dtype)


def dequantize(x: Any, scale: Any, zero: Any, dtype: Any) -> Any:
    """Returns (x − zero) · scale."""
    if not isinstance(zero, int):
        zero = ops.cast(zero, mindspore.int32)
    apart = ops.cast(ops.cast(x, mindspore.int32) - zero, mindspore.float32)
    return ops.cast(apart * to_float(scale), dtype)


def to_float(value: Any, dtype: Any = mindspore.float32) -> Any:
    """Casts a tensor to a floating-point dtype; returns a Python number unchanged."""
    if isinstance(value, (int, float)):
        return value
    return ops.cast(value, dtype)
