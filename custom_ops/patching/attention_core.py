"""What stands for softmax(scale·q kᵀ + mask)·v inside another Cell: masks as they come there."""

from __future__ import annotations

from typing import Any

from custom_ops.core.framework import Cell, ms, ops
from custom_ops.operators.attention import ScaledDotProductAttention

ADDED, KEPT, LEFT_OUT = "added", "kept", "left out"
"""A mask that is added; one that is true where scores stay; one that is true where they do not."""


class AttentionCore(Cell):
    """Attention with any number of masks.

    Args:
        scale: of the products.
        masks: what each mask is.
        route: as `ScaledDotProductAttention` has it.

    Inputs:
        - **q**, **k**, **v** - (batch, heads, tokens, width), or without heads.
        - **keys** - the last size of what the softmax is taken of, where that has another shape than the product of q and k.
        - **shape** - of the weights, where that is another one; v has its first sizes.
        - **more** - for each mask two: it, or None; and the value that stands where scores do not stay, or None.

    Outputs:
        Tensor as q, with the width of v, and with the first sizes of `shape`.

    Raises:
        ValueError: the softmax is not over all keys.
    """

    def __init__(self, scale: float, masks: tuple[str, ...] = (), route: str = ""):
        super().__init__()
        self.attention = ScaledDotProductAttention(scale, route=route)
        self.scale, self.masks = scale, masks

    def construct(
        self, q: Any, k: Any, v: Any, keys: Any = None, shape: Any = None, *more: Any
    ) -> Any:
        """One kernel."""
        if keys is not None and keys != k.shape[-2]:
            raise ValueError(
                "attention whose softmax is not over all keys; call undo of the record that patch gave"
            )
        if shape is not None:
            made = self.attended(q, k, v.reshape(q.shape[:-2] + v.shape[-2:]), more)
            return made.reshape(shape[:-1] + v.shape[-1:])
        return self.attended(q, k, v, more)

    def attended(self, q: Any, k: Any, v: Any, more: Any) -> Any:
        """Of q, k and v that fit each other."""
        mask = None
        for number in range(len(self.masks)):
            given, value = more[2 * number], more[2 * number + 1]
            if given is not None:
                if self.masks[number] == "added":
                    one = given.astype(q.dtype)
                else:
                    out = given.astype(ms.bool_)
                    if self.masks[number] == "kept":
                        out = ops.logical_not(out)
                    one = ops.masked_fill(
                        ops.zeros(out.shape, q.dtype), out, ops.cast(value, q.dtype)
                    )
                mask = one if mask is None else mask + one
        if q.ndim == 3:
            q, k, v = ops.expand_dims(q, 1), ops.expand_dims(k, 1), ops.expand_dims(v, 1)
            if mask is not None and mask.ndim == 3:
                mask = ops.expand_dims(mask, 1)
            return ops.squeeze(self.attention(q, k.astype(q.dtype), v.astype(q.dtype), mask), 1)
        return self.attention(q, k.astype(q.dtype), v.astype(q.dtype), mask)

    def extend_repr(self) -> str:
        """What distinguishes it in the print of a net."""
        return f"scale={self.scale:.6g}, masks={self.masks}"
