"""Writes multi-head attention as the C text of a custom operator of ONNX Runtime."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

from ms_fusion.onnx.ort_library.operator_text import ELEMENT_TYPES, OperatorText, describe_kernel

HEAD_SIZE_MAX = 256
"""Largest size of a head, ``ATTENTION_HEAD_MAX`` of ``attention.h``."""


@dataclass(frozen=True)
class HeadOperand:
    """Describes which part of an input of the operator is an operand (q, k or v) of the attention.

    Attributes:
        input: index of the input.
        is_split: whether the input has the shape (batch, heads, tokens, size). Otherwise its shape
            is (batch, tokens, width).
        offset: index of the operand's first element along the last axis, if `is_split` is false.
    """

    input: int
    is_split: bool
    offset: int = 0


@dataclass(frozen=True)
class AttentionKernel:
    """Kernel of softmax(scale · q kᵀ + mask) v for float32 tensors.

    The sizes of the batch and the numbers of tokens are read from the shapes in each call.

    Attributes:
        q, k, v: positions of the operands (queries, keys, values) in the inputs.
        ranks: rank of each input of the operator; a bias and a mask have no entry.
        heads, groups: number of query heads, and number of key heads. There are as many value heads
            as key heads. Each key head serves heads ÷ groups adjacent query heads.
        size: number of elements of a head of queries and keys.
        value_size: number of elements of a head of values.
        scale: factor of the scores.
        mask_rank: rank of the additive mask, which is the last input; None without a mask. The mask
            is broadcast to (batch, heads, queries, keys).
        is_result_split: whether the result is (batch, heads, tokens, size).
        has_bias: whether the input after those in `ranks` is a bias vector. The kernel first adds
            this bias to the operands. A bias is supported only if all operands are parts of one
            input.
    """

    q: HeadOperand
    k: HeadOperand
    v: HeadOperand
    ranks: tuple[int, ...]
    heads: int
    groups: int
    size: int
    value_size: int
    scale: float
    mask_rank: int | None
    is_result_split: bool
    has_bias: bool = False

    def write(self) -> OperatorText:
        """Returns the C text of the operator; equal descriptions get equal names."""
        name = f"Attention_{hashlib.sha256(repr(self).encode()).hexdigest()[:12]}"
        sizes = self._size_lines()
        run = self._run_lines()
        inputs = [(ELEMENT_TYPES["float32"], rank) for rank in self.ranks]
        if self.has_bias:
            inputs.append((ELEMENT_TYPES["float32"], 1))
        if self.mask_rank is not None:
            inputs.append((ELEMENT_TYPES["float32"], self.mask_rank))
        rank = 4 if self.is_result_split else 3
        head = '#include "attention.h"\n'
        kernel = describe_kernel(name, inputs, [(ELEMENT_TYPES["float32"], rank)], sizes, run)
        return OperatorText(name, head + kernel)

    def _size_lines(self) -> list[str]:
        """Returns C statements that check the shapes and read batch, queries, keys and widths."""
        lines = [
            f"const int64_t batch = given[{self.q.input} * AXES_MAX];",
            f"const int64_t queries = {self._tokens(self.q)}, keys = {self._tokens(self.k)};",
            "sizes[0] = batch, sizes[1] = queries, sizes[2] = keys;",
        ]
        operands = ((self.q, self.heads, self.size), (self.k, self.groups, self.size))
        for one, heads, size in (*operands, (self.v, self.groups, self.value_size)):
            at = f"given[{one.input} * AXES_MAX"
            tokens = "queries" if one is self.q else "keys"
            wrong = f"{at}] != batch || {self._tokens(one)} != {tokens}"
            if one.is_split:
                wrong += f" || {at} + 1] != {heads} || {at} + 3] != {size}"
            else:
                wrong += f" || {at} + 2] < {one.offset + heads * size}"
            lines.append(f"if ({wrong}) return {one.input};")
        lines += [f"sizes[{3 + n}] = given[{n} * AXES_MAX + 2];" for n in range(len(self.ranks))]
        if self.has_bias:
            number = len(self.ranks)
            width = self.v.offset + self.groups * self.value_size
            lines.append(f"if (given[{number} * AXES_MAX] != {width}) return {number};")
        if self.mask_rank is not None:
            lines += self._mask_lines(self.mask_rank)
        made = ["batch", "queries", str(self.heads * self.value_size)]
        if self.is_result_split:
            made = ["batch", str(self.heads), "queries", str(self.value_size)]
        return [*lines, *(f"made[{axis}] = {made_size};" for axis, made_size in enumerate(made))]

    def _mask_lines(self, rank: int) -> list[str]:
        """Returns C statements that compute the stride of the mask along each axis.

        The stride is 0 if the mask is broadcast along the axis.
        """
        first = 3 + len(self.ranks)
        number = first - 3 + self.has_bias
        lines = ["int64_t distance = 1;"]
        for axis, extent in reversed(
            list(enumerate(("batch", f"INT64_C({self.heads})", "queries", "keys")))
        ):
            own = axis - (4 - rank)
            if own < 0:
                lines.append(f"sizes[{first + axis}] = 0;")
                continue
            place = f"given[{number} * AXES_MAX + {own}]"
            lines += [
                f"if ({place} != 1 && {place} != {extent}) return {number};",
                f"sizes[{first + axis}] = {place} == 1 ? 0 : distance;",
                f"distance *= {place};",
            ]
        return lines

    def _run_lines(self) -> list[str]:
        first, mask = 3 + len(self.ranks), len(self.ranks) + self.has_bias
        count = mask + (self.mask_rank is not None)
        lines = [
            "const int64_t batch = sizes[0], queries = sizes[1], keys = sizes[2];",
            "struct attention a = {0};",
        ]
        operands = (("q", self.q, self.heads, self.size), ("k", self.k, self.groups, self.size))
        for name, one, heads, size in (*operands, ("v", self.v, self.groups, self.value_size)):
            tokens = "queries" if name == "q" else "keys"
            width = f"sizes[{3 + one.input}]"
            layout = (
                f"{heads * size} * {tokens}, {size} * {tokens}, {size}"
                if one.is_split
                else f"{width} * {tokens}, {size}, {width}"
            )
            data = f"(const float *)all[{one.input}] + {one.offset}"
            lines.append(f"a.{name} = (struct head_layout){{{data}, {layout}}};")
        if self.has_bias:
            bias = f"(const float *)all[{len(self.ranks)}]"
            lines.append(f"a.q_bias = {bias} + {self.q.offset};")
            lines.append(f"a.v_bias = {bias} + {self.v.offset};")
        if self.mask_rank is not None:
            at = [f"sizes[{first + axis}]" for axis in range(4)]
            lines += [
                f"a.mask = (struct head_layout){{all[{mask}], {at[0]}, {at[1]}, {at[2]}}};",
                f"a.mask_key = {at[3]};",
            ]
        row = self.heads * self.value_size
        layout = (
            f"{row} * queries, {self.value_size} * queries, {self.value_size}"
            if self.is_result_split
            else f"{row} * queries, {self.value_size}, {row}"
        )
        targets = ("result_batch", "result_head", "result_token")
        lines += [
            f"a.{target} = {distance};"
            for target, distance in zip(targets, layout.split(", "), strict=True)
        ]
        lines += [
            f"a.result = all[{count}];",
            f"a.batches = batch, a.heads = {self.heads};",
            f"a.heads_per_group = {self.heads // self.groups};",
            "a.queries = queries, a.keys = keys;",
            f"a.size = {self.size}, a.value_size = {self.value_size};",
            f"a.scale = {self.scale!r}f;",
            "return attend(&a, threads);",
        ]
        return lines

    @staticmethod
    def _tokens(one: HeadOperand) -> str:
        return f"given[{one.input} * AXES_MAX + {2 if one.is_split else 1}]"
