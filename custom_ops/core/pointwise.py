"""What operators on single elements share: inputs of one shape in a wide dtype, results in the narrow one again."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from tbe_impl import dsl
from tbe_impl.dsl.expr import Const
from tbe_impl.dsl.operation import may_equal
from tbe_impl.dsl.sizes import is_one
from tbe_impl.dsl.tensor import Tensor, shape_text
from tbe_impl.errors import InputError

HALVES = ("float16", "bfloat16")


def promoted(*tensors: Tensor) -> str:
    """The dtype of a result: the widest of the inputs; float32 for float16 together with bfloat16."""
    found = {tensor.dtype for tensor in tensors}
    if len(found) == 1:
        return found.pop()
    return "float64" if "float64" in found else "float32"


def common_shape(*tensors: Tensor) -> tuple[Any, ...]:
    """The shape that all are repeated to, axes aligned at the right, as in NumPy and MindSpore.

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
                    expected=f"the shape of {first.name}, {shape_text(first.shape)}, or 1 where they differ",
                    got=shape_text(tensor.shape),
                )
        found.insert(0, known)
    return tuple(found)


def wide(*tensors: Tensor) -> list[Tensor]:
    """All of one shape, in float32 or, where one of them has it, float64.

    Raises:
        InputError: an input that has no floating dtype, or shapes that do not fit.
    """
    dtype = promoted(*tensors)
    inner = "float32" if dtype in HALVES else dtype
    shape = common_shape(*tensors)
    return [dsl.broadcast(dsl.cast_to(tensor, inner), shape) for tensor in tensors]


def like(made: Tensor, tensor: Tensor) -> Tensor:
    """A gradient of the result's shape as one of `tensor`: summed where that was repeated, in its dtype."""
    lacking = made.ndim - tensor.ndim
    axes: Sequence[int] = [
        axis
        for axis in range(made.ndim)
        if axis < lacking or (is_one(tensor.shape[axis - lacking]) and not is_one(made.shape[axis]))
    ]
    # where all is summed up the words make one of shape (1,)
    if len(axes) > lacking or (axes and not tensor.ndim):
        made = dsl.reduce_sum(made, axes, keepdims=True)
        made = dsl.ext.reshape(made, tensor.shape) if lacking else made
    elif axes:
        # without a reshape behind it: a sum of columns by itself goes through memory row by row
        made = dsl.reduce_sum(made, axes, keepdims=False)
    return dsl.cast_to(made, tensor.dtype)


def limited(x: Tensor, bound: float) -> Tensor:
    """x between −bound and bound; NaN stays. For slopes whose value there is that at the ends, where inf·0 would be NaN."""
    return dsl.vmaxs(dsl.vmins(x, bound), -bound)


def gate_and_rest(gate: Callable[[Tensor], Tensor], z: Tensor) -> tuple[Tensor, Tensor]:
    """A gate from 0 to 1 that is point-symmetric, as σ is, and 1 less it: the smaller one computed, so that neither cancels."""
    smaller = gate(dsl.vmuls(dsl.vabs(z), -1.0))
    larger = dsl.vadds(dsl.vmuls(smaller, -1.0), 1.0)
    return dsl.vcmpsel(z, 0.0, "lt", smaller, larger), dsl.vcmpsel(z, 0.0, "lt", larger, smaller)
