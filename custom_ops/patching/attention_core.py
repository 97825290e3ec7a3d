"""Defines the Cell that replaces softmax(scale·q kᵀ + masks)·v inside another Cell."""

from __future__ import annotations

from typing import Any

from custom_ops.core.framework import Cell, ms, ops
from custom_ops.operators.attention import ScaledDotProductAttention

ADDED_MASK, KEEP_MASK, DROP_MASK = "added", "kept", "left out"
"""Kinds of masks.

An `ADDED_MASK` is added to the scores. A `KEEP_MASK` is true for the scores that are kept, and a
`DROP_MASK` is true for the scores that are dropped.
"""


class AttentionCore(Cell):
    """Attention with any number of masks.

    Args:
        scale: factor of the scores.
        masks: kind of each mask, in order: `ADDED_MASK`, `KEEP_MASK` or `DROP_MASK`.
        route: as for `ScaledDotProductAttention`.

    Inputs:
        - **q**, **k**, **v** - (batch, heads, tokens, width) or (batch, tokens, width).
        - **keys** - None if the input of the softmax has the shape of q kᵀ. If this input was
          reshaped, `keys` is the size of the last axis after the reshape.
        - **shape** - None if the attention weights have the shape of q kᵀ. If the weights were
          reshaped, `shape` is the new shape of the weights, and v has the same leading axes.
        - **more** - two values per mask. The first is the mask or None. The second is the score of
          dropped elements, or None for an added mask.

    Outputs:
        Tensor of the dtype of q. The last axis has the width of v. If `shape` is given, the other
        axes are those of `shape`, otherwise those of q.

    Raises:
        ValueError: `keys` is not the number of keys, so the softmax does not cover all keys.
    """

    def __init__(self, scale: float, masks: tuple[str, ...] = (), route: str = ""):
        super().__init__()
        self.attention = ScaledDotProductAttention(scale, route=route)
        self.scale, self.masks = scale, masks

    def construct(
        self, q: Any, k: Any, v: Any, keys: Any = None, shape: Any = None, *more: Any
    ) -> Any:
        """Runs attention as one fused operator."""
        if keys is not None and keys != k.shape[-2]:
            raise ValueError(
                "the softmax of this attention is not over all keys; "
                "call undo of the record that patch returned"
            )
        if shape is not None:
            made = self.attend(q, k, v.reshape(q.shape[:-2] + v.shape[-2:]), more)
            return made.reshape(shape[:-1] + v.shape[-1:])
        return self.attend(q, k, v, more)

    def attend(self, q: Any, k: Any, v: Any, more: Any) -> Any:
        """Combines all masks into one added mask, and runs attention with the combined mask."""
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
        """Returns the attributes as a string; MindSpore shows the string when it prints the net."""
        return f"scale={self.scale:.6g}, masks={self.masks}"
