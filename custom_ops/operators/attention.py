"""Computes scaled dot-product attention blockwise, without storing all attention weights."""

from __future__ import annotations

import math
import struct
from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from custom_ops.core.c_kernels import CKernel
from custom_ops.core.cell import FusedCell
from custom_ops.core.cell_call import OperatorCell, check_choice
from custom_ops.core.framework import ms, ops
from custom_ops.core.kernel_interface import ArraySpec
from custom_ops.core.operator_spec import OpSpec
from custom_ops.operators import attention_steps
from tbe_impl.errors import InputError

NAME = "ScaledDotProductAttention"
LAYOUTS = {"BNSD": (0, 1, 2), "BSND": (0, 2, 1)}
"""Dict from the name of a layout to the indices of the batch, head and token axes."""
_ELEMENTS = {"float16": 0, "bfloat16": 1, "float32": 2, "float64": 3}
_NO_MASK, _BOOL_MASK, _ADD_MASK = range(3)
MASKED_SCORE = float("-inf")
"""The score of a masked key: −∞."""


def _input_error(what: str, expected: str, got: str) -> InputError:
    return InputError(f"{NAME}: {what}", place=NAME, expected=expected, got=got)


def _sizes(one: ArraySpec, layout: str, name: str) -> tuple[int, int, int, int]:
    """Returns the sizes (batch, heads, tokens, head width) of q, k or v in the given layout."""
    check_choice(NAME, "layout", layout, LAYOUTS)
    if len(one.shape) != 4:
        raise _input_error(f"{name} has a wrong number of dimensions", f"four: {layout}", str(one))
    batch, heads, tokens = (one.shape[place] for place in LAYOUTS[layout])
    return batch, heads, tokens, one.shape[3]


def _strides(one: ArraySpec, layout: str) -> tuple[int, ...]:
    """Returns the strides, in elements, of the batch, head and token axes."""
    dense = [math.prod(one.shape[place + 1 :]) for place in range(3)]
    return tuple(dense[place] for place in LAYOUTS[layout])


def _mask_kind_and_strides(
    mask: ArraySpec, dtype: str, wanted: Sequence[int]
) -> tuple[int, tuple[int, ...]]:
    """Returns the number of the mask's kind in the C code, and the mask's strides in elements.

    There are two kinds: bool masks, and masks that are added to the scores. The four strides are
    those of the batch, head, query and key axes. The stride of a broadcast axis is 0.
    """
    if mask.dtype not in ("bool", dtype):
        raise _input_error("the dtype of mask is not supported", f"bool or {dtype}", mask.dtype)
    shape = (1,) * (4 - len(mask.shape)) + mask.shape
    fits = len(shape) == 4 and all(a in (1, b) for a, b in zip(shape, wanted, strict=True))
    if not fits:
        raise _input_error(
            "mask does not fit", f"a shape that broadcasts to {tuple(wanted)}", str(mask)
        )
    steps = [0 if shape[i] == 1 else math.prod(shape[i + 1 :]) for i in range(4)]
    return _BOOL_MASK if mask.dtype == "bool" else _ADD_MASK, tuple(steps)


def _problem(
    given: Sequence[ArraySpec], *, scale: float | None, is_causal: bool, layout: str
) -> tuple[ArraySpec, ArraySpec, tuple[int, ...]]:
    """Checks the inputs; returns an `ArraySpec` for each output, and the C kernel's parameters.

    The outputs are y and the normaliser (the log-sum-exp of each query's scores). The parameters
    are the fields of the C struct ``problem``.
    """
    q, k, v = given[:3]
    if q.dtype not in _ELEMENTS:
        raise _input_error("the dtype of q is not supported", ", ".join(_ELEMENTS), q.dtype)
    for name, one in (("k", k), ("v", v)):
        if one.dtype != q.dtype:
            raise _input_error(f"the dtypes of {name} and q differ", q.dtype, one.dtype)
    batch, heads, queries, width = _sizes(q, layout, "q")
    of_k = _sizes(k, layout, "k")
    own, shared, keys, _ = of_k
    of_v = _sizes(v, layout, "v")
    value_width = of_v[3]
    if own != batch or of_k[3] != width or heads < 1 or heads % max(shared, 1) or shared < 1:
        expected = f"batch {batch}, width {width} and a number of heads that divides {heads}"
        raise _input_error("k does not fit q", expected, str(k))
    if of_v[:3] != of_k[:3]:
        raise _input_error("v does not fit k", f"{k} except for the last size", str(v))
    scores = (batch, heads, queries, keys)
    kind, steps = (
        _mask_kind_and_strides(given[3], q.dtype, scores)
        if len(given) > 3
        else (_NO_MASK, (0,) * 4)
    )
    y = ArraySpec((*q.shape[:3], value_width), q.dtype)
    if scale is None and width == 0:
        raise _input_error(
            "q has a width that no scale follows from", "a width of 1 or more, or scale", str(q)
        )
    factor = width**-0.5 if scale is None else float(scale)
    (bits,) = struct.unpack("<q", struct.pack("<d", factor))
    sizes = (
        batch,
        heads,
        heads // shared,
        queries,
        keys,
        width,
        value_width,
        int(is_causal),
        kind,
        bits,
    )
    numbers = (
        *sizes,
        *_strides(q, layout),
        *_strides(k, layout),
        *_strides(v, layout),
        *_strides(y, layout),
        *steps,
    )
    wide = "float64" if q.dtype == "float64" else "float32"
    return y, ArraySpec((batch, heads, queries), wide), numbers


def build_kernel(*given: ArraySpec, **attributes: Any) -> CKernel:
    """Builds the forward kernel."""
    y, normaliser, numbers = _problem(given, **attributes)
    options = (f"-DELEMENT={_ELEMENTS[y.dtype]}",)
    return CKernel(NAME, "attention.c", "attention", given, (y, normaliser), numbers, options)


def build_backward_kernel(*given: ArraySpec, **attributes: Any) -> CKernel:
    """Builds the backward kernel.

    The kernel reads the inputs, y, the normaliser and the gradient of y, and writes the gradients
    of q, k and v.
    """
    y, normaliser, numbers = _problem(given[:-3], **attributes)
    if given[-3:] != (y, normaliser, y):
        raise _input_error(
            "the gradient does not fit", f"{y}", ", ".join(str(one) for one in given[-3:])
        )
    options = (f"-DELEMENT={_ELEMENTS[y.dtype]}",)
    return CKernel(
        f"{NAME}_grad", "attention.c", "attention_backward", given, given[:3], numbers, options
    )


def composite(q: Any, k: Any, v: Any, *, scale: Any, is_causal: Any, layout: Any) -> Any:
    """Computes attention with MindSpore's basic operators, which store all attention weights."""
    return composite_masked(q, k, v, None, scale=scale, is_causal=is_causal, layout=layout)


def composite_masked(
    q: Any, k: Any, v: Any, mask: Any, *, scale: Any, is_causal: Any, layout: Any
) -> Any:
    """Computes attention with MindSpore's basic operators; None as mask means no mask."""
    if layout == "BSND":
        q, k, v = (
            ops.transpose(q, (0, 2, 1, 3)),
            ops.transpose(k, (0, 2, 1, 3)),
            ops.transpose(v, (0, 2, 1, 3)),
        )
    shared = q.shape[1] // k.shape[1]
    if shared > 1:
        k, v = ops.repeat_interleave(k, shared, 1), ops.repeat_interleave(v, shared, 1)
    factor = q.shape[3] ** -0.5 if scale is None else scale
    scores = ops.matmul(q, ops.transpose(k, (0, 1, 3, 2))) * factor
    if mask is not None:
        is_bool = mask.dtype == ms.bool_
        scores = ops.masked_fill(scores, mask, MASKED_SCORE) if is_bool else scores + mask
    if is_causal:
        later = ops.triu(ops.ones((q.shape[2], k.shape[2]), ms.float32), 1) > 0
        scores = ops.masked_fill(scores, later, MASKED_SCORE)
    most = ops.stop_gradient(ops.amax(scores, -1, True))
    weights = ops.exp(scores - ops.masked_fill(most, most == MASKED_SCORE, 0.0))
    total = ops.sum(weights, -1, True)
    y = ops.matmul(weights / ops.masked_fill(total, total == 0, 1.0), v)
    return ops.transpose(y, (0, 2, 1, 3)) if layout == "BSND" else y


def formula(
    q: np.ndarray,
    k: np.ndarray,
    v: np.ndarray,
    mask: np.ndarray | None = None,
    *,
    scale: float | None = None,
    is_causal: bool = False,
    layout: str = "BNSD",
) -> np.ndarray:
    """Returns softmax(scale · q kᵀ + mask) v.

    If all keys of a query are masked, the result for this query is 0.
    """
    order = (*LAYOUTS[layout], 3)
    q, k, v = (one.transpose(order) for one in (q, k, v))
    k, v = (np.repeat(one, q.shape[1] // k.shape[1], 1) for one in (k, v))
    scores = (q @ k.swapaxes(-1, -2)) * (q.shape[-1] ** -0.5 if scale is None else scale)
    if mask is not None:
        scores = np.where(mask, -np.inf, scores) if mask.dtype == bool else scores + mask
    if is_causal:
        scores = np.where(np.triu(np.ones(scores.shape[-2:], bool), 1), -np.inf, scores)
    most = scores.max(-1, keepdims=True, initial=-np.inf)
    weights = np.exp(scores - np.where(most == -np.inf, 0, most))
    total = weights.sum(-1, keepdims=True)
    return ((weights / np.where(total == 0, 1, total)) @ v).transpose(order)


_SPEC_FIELDS: dict[str, Any] = {
    "outputs": ("y", "normaliser"),
    "hidden": frozenset({"normaliser"}),
    "kernel_builder": build_kernel,
    "backward_kernel_builder": build_backward_kernel,
    "attributes": {"scale": None, "is_causal": False, "layout": "BNSD"},
    "formula": formula,
    "infer_dtype": lambda q, *_: (q, "float64" if q == "float64" else "float32"),
    "nan": "row",
    "doc": "y = softmax(scale q k' + mask) v",
}
ATTENTION = OpSpec(
    name=NAME,
    inputs=("q", "k", "v"),
    saves=("q", "k", "v", "y", "normaliser"),
    composite=composite,
    tbe_steps=attention_steps.tbe_steps,
    tbe_gradient_steps=attention_steps.tbe_gradient_steps,
    samples=(
        ((2, 3, 17, 8), (2, 3, 29, 8), (2, 3, 29, 8)),
        ((1, 4, 70, 16), (1, 2, 130, 16), (1, 2, 130, 5)),
        ((1, 1, 1, 1), (1, 1, 1, 1), (1, 1, 1, 1)),
        ((0, 1, 4, 3), (0, 1, 5, 3), (0, 1, 5, 3)),
        ((2, 1, 0, 3), (2, 1, 5, 3), (2, 1, 5, 3)),
        ((2, 1, 4, 3), (2, 1, 0, 3), (2, 1, 0, 3)),
    ),
    **_SPEC_FIELDS,
)
MASKED_ATTENTION = OpSpec(
    name="MaskedScaledDotProductAttention",
    inputs=("q", "k", "v", "mask"),
    saves=("q", "k", "v", "mask", "y", "normaliser"),
    composite=composite_masked,
    tbe_steps=partial(attention_steps.tbe_steps, masked=True),
    tbe_gradient_steps=partial(attention_steps.tbe_gradient_steps, masked=True),
    undifferentiable=frozenset({"mask"}),
    integers={"mask": ("bool", 2)},
    samples=(
        ((2, 3, 17, 8), (2, 3, 29, 8), (2, 3, 29, 8), (2, 1, 17, 29)),
        ((1, 2, 70, 16), (1, 2, 130, 16), (1, 2, 130, 5), (130,)),
        ((1, 1, 5, 4), (1, 1, 3, 4), (1, 1, 3, 4), (5, 1)),
    ),
    **_SPEC_FIELDS,
)


class ScaledDotProductAttention(OperatorCell):
    r"""Scaled dot-product attention with an online softmax over blocks of keys.

    .. math::
        y = \text{softmax}(scale \cdot q k^T + mask)\, v

    The matrix of attention weights is never stored. Backward recomputes the weights from q, k and
    the log-sum-exp of the scores of each query. The memory of forward and backward is therefore
    linear in the number of tokens. Sums accumulate in float32, or in float64 for float64 inputs. If
    all keys of a query are masked, the result and the gradient of this query are 0.

    Args:
        scale: factor of the scores; by default :math:`1 / \sqrt{width}`.
        is_causal: whether each query ignores the keys at later positions.
        layout: ``BNSD`` (batch, heads, tokens, width) or ``BSND`` (batch, tokens, heads, width).
        route: ``native`` (fused kernels), ``composite`` (MindSpore's basic operators), or an empty
            string for the default route.

    Inputs:
        - **q** (Tensor) - float16, bfloat16, float32 or float64.
        - **k** (Tensor) - of the dtype of q. Its number of heads divides the number of heads of q.
          If k has fewer heads than q, neighbouring heads of q share one head of k.
        - **v** (Tensor) - of the dtype of k, and of the shape of k except for the head width.
        - **mask** (Tensor) - optional, of a shape that broadcasts to
          (batch, heads, tokens of q, tokens of k). A bool mask is true for masked keys, as for
          `nn.MultiheadAttention`. A mask of q's dtype is added to the scores. Masks have no
          gradient.

    Outputs:
        Tensor of the shape and dtype of q, but with the head width of v.

    Raises:
        InputError: the shape or dtype of an input does not match; the message names the input.

    Supported Platforms:
        ``CPU`` (``Ascend``: implemented, untested; float16 only)

    Examples:
        >>> import numpy as np
        >>> from custom_ops import ScaledDotProductAttention
        >>> q = np.ones((1, 2, 4, 8), np.float32)
        >>> ScaledDotProductAttention(is_causal=True).forward(q, q, q).shape
        (1, 2, 4, 8)
    """

    spec = ATTENTION

    def __init__(
        self,
        scale: float | None = None,
        is_causal: bool = False,
        layout: str = "BNSD",
        route: str = "",
    ):
        super().__init__()
        check_choice(NAME, "layout", layout, LAYOUTS)
        attributes = {"scale": scale, "is_causal": bool(is_causal), "layout": layout}
        self.plain = FusedCell(ATTENTION, attributes, route)
        self.masked = FusedCell(MASKED_ATTENTION, attributes, route)

    def construct(self, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        """Runs one fused kernel; on the composite route, runs MindSpore's basic operators."""
        if mask is None:
            return self.plain(q, k, v)
        return self.masked(q, k, v, mask)

    def forward(self, q: Any, k: Any, v: Any, mask: Any = None) -> Any:
        """Returns the attention of NumPy arrays, and saves the arrays for `backward`."""
        given = (q, k, v) if mask is None else (q, k, v, mask)
        cell = self.plain if mask is None else self.masked
        object.__setattr__(self, "_last", cell)  # plain assignment registers it as a child Cell
        return cell.forward(*given)

    def backward(self, grad: Any, *arrays: Any) -> Any:
        """Returns the gradients of q, k and v."""
        if arrays:
            self.forward(*arrays)
        cell: Any = getattr(self, "_last", self.plain)
        return cell.backward(grad)
