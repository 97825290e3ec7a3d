"""Implements type promotion, broadcasting and unbroadcasting for elementwise operators."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tbe_impl import dsl
from tbe_impl.dsl.expr import Const
from tbe_impl.dsl.operation import may_equal
from tbe_impl.dsl.sizes import is_one
from tbe_impl.dsl.tensor import Tensor, shape_text
from tbe_impl.errors import InputError

HALF_DTYPES = ("float16", "bfloat16")


def promote_dtype(*tensors: Tensor) -> str:
    """Returns the common dtype of the tensors.

    If the dtypes differ, the common dtype is float64 if one of the dtypes is float64, and float32
    otherwise.
    """
    found = {tensor.dtype for tensor in tensors}
    if len(found) == 1:
        return found.pop()
    return "float64" if "float64" in found else "float32"


def broadcast_shape(*tensors: Tensor) -> tuple[Any, ...]:
    """Returns the broadcast shape; axes are aligned at the right, as in NumPy and MindSpore.

    Raises:
        InputError: two sizes differ, and neither is 1.
    """
    found: list[Any] = []
    for back in range(1, max(tensor.ndim for tensor in tensors) + 1):
        sizes = [tensor.shape[-back] for tensor in tensors if tensor.ndim >= back]
        wide = [size for size in sizes if not is_one(size)] or sizes
        known = next((size for size in wide if isinstance(size, Const)), wide[0])
        for tensor in tensors:
            size = tensor.shape[-back] if tensor.ndim >= back else known
            if not is_one(size) and not may_equal(size, known):
                first = next(
                    one for one in tensors if one.ndim >= back and one.shape[-back] is known
                )
                raise InputError(
                    f"{tensor.name} does not fit {first.name}",
                    expected=f"the shape of {first.name}, {shape_text(first.shape)}, "
                    "or 1 where they differ",
                    got=shape_text(tensor.shape),
                )
        found.insert(0, known)
    return tuple(found)


def widen_inputs(*tensors: Tensor) -> list[Tensor]:
    """Broadcasts the tensors to one shape and casts them to the accumulation dtype.

    The accumulation dtype is float64 if an input is float64, and float32 otherwise.

    Raises:
        InputError: an input has no floating dtype, or the shapes do not broadcast.
    """
    dtype = promote_dtype(*tensors)
    inner = "float32" if dtype in HALF_DTYPES else dtype
    shape = broadcast_shape(*tensors)
    return [dsl.broadcast(dsl.cast_to(tensor, inner), shape) for tensor in tensors]


def unbroadcast(made: Tensor, tensor: Tensor) -> Tensor:
    """Reduces the gradient `made` to the shape and dtype of the operand `tensor`.

    Axes along which `tensor` was broadcast are summed.
    """
    lacking = made.ndim - tensor.ndim
    axes: Sequence[int] = [
        axis
        for axis in range(made.ndim)
        if axis < lacking or (is_one(tensor.shape[axis - lacking]) and not is_one(made.shape[axis]))
    ]
    # a sum over all axes has shape (1,) in the DSL
    if len(axes) > lacking or (axes and not tensor.ndim):
        made = dsl.reduce_sum(made, axes, keepdims=True)
        made = dsl.ext.reshape(made, tensor.shape) if lacking else made
    elif axes:
        # without keepdims, no reshape has to follow; a column sum without a reshape reads memory
        # row by row
        made = dsl.reduce_sum(made, axes, keepdims=False)
    return dsl.cast_to(made, tensor.dtype)


def clamp(x: Tensor, bound: float) -> Tensor:
    """Clamps `x` to [−bound, bound]; NaN propagates.

    Formulas of derivatives that are constant beyond the bound use this function. For an infinite x,
    such a formula would give NaN (inf · 0) without the clamp.
    """
    return dsl.vmaxs(dsl.vmins(x, bound), -bound)


def gate_and_complement(gate: Callable[[Tensor], Tensor], z: Tensor) -> tuple[Tensor, Tensor]:
    """Returns gate(z) and 1 − gate(z) without cancellation.

    The function gate has to be point-symmetric like σ: gate(−z) = 1 − gate(z). The smaller of the
    two results is computed as gate(−|z|), and the larger result as 1 minus the smaller result.
    """
    smaller = gate(dsl.vmuls(dsl.vabs(z), -1.0))
    larger = dsl.vadds(dsl.vmuls(smaller, -1.0), 1.0)
    return dsl.vcmpsel(z, 0.0, "lt", smaller, larger), dsl.vcmpsel(z, 0.0, "lt", larger, smaller)
