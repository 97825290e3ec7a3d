"""Emits ONNX ``Einsum`` as a chain of MindSpore matrix products.

The first product contracts the first two operands. Each further product contracts the result with
the next operand.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any

from mindspore import ops

from ms_fusion.onnx.cell.operator_use import OperatorUse

Labels = tuple[str, ...]


def einsum(use: OperatorUse) -> str:
    """Emits the chain of matrix products that computes ONNX ``Einsum``."""
    terms, result = labels_of(use)
    text, labels = _merge_repeated_labels(use.text(), terms[0])
    for place, term in enumerate(terms[1:], 1):
        later = {*result, *(one for other in terms[place + 1 :] for one in other)}
        other, own = _merge_repeated_labels(use.text(place), term)
        text, labels = _sum_unused_labels(text, labels, {*later, *own})
        other, own = _sum_unused_labels(other, own, {*later, *labels})
        text, labels = _contract_pair(text, labels, other, own, later)
    text, labels = _sum_unused_labels(text, labels, set(result))
    order = tuple(labels.index(one) for one in result)
    return text if order == tuple(range(len(order))) else f"ops.transpose({text}, {order})"


def labels_of(use: OperatorUse) -> tuple[list[Labels], Labels]:
    """Returns the axis labels of each operand and of the result.

    An axis that ``...`` stands for gets a decimal number as its label. The last of these axes has
    the number 0.
    """
    equation = str(use.attr("equation")).replace(" ", "")
    left, arrow, right = equation.partition("->")
    terms: list[Labels] = []
    for place, term in enumerate(left.split(",")):
        named = len(term.replace("...", ""))
        hidden = tuple(str(one) for one in range(use.rank(place) - named - 1, -1, -1))
        before, dots, behind = term.partition("...")
        terms.append((*before, *hidden, *behind) if dots else tuple(term))
    used = [one for labels in terms for one in labels]
    count = max((int(one) + 1 for one in used if one.isdigit()), default=0)
    shared = tuple(str(one) for one in range(count - 1, -1, -1))
    if arrow:
        before, dots, behind = right.partition("...")
        result = (*before, *shared, *behind) if dots else tuple(right)
    else:
        result = (
            *shared,
            *sorted(one for one in set(used) if used.count(one) == 1 and not one.isdigit()),
        )
    sizes: dict[str, int] = {}
    for place, labels in enumerate(terms):
        for label, size in zip(labels, use.value(place).shape, strict=True):
            if isinstance(size, int) and sizes.setdefault(label, size) != size:
                raise use.refusal("axes of one label and of several sizes")
    return terms, result


def _merge_repeated_labels(text: str, labels: Labels) -> tuple[str, Labels]:
    """Replaces axes with the same label by their diagonal; returns the new expression and labels.

    `text` is the expression of an operand, and `labels` are the labels of its axes.
    """
    for label in dict.fromkeys(labels):
        while labels.count(label) > 1:
            first = labels.index(label)
            second = labels.index(label, first + 1)
            order = (
                *(one for one in range(len(labels)) if one not in (first, second)),
                first,
                second,
            )
            text = f"einsum.diagonal(ops.transpose({text}, {order}))"
            labels = (*(labels[one] for one in order[:-2]), label)
    return text, labels


def _sum_unused_labels(text: str, labels: Labels, kept: set[str]) -> tuple[str, Labels]:
    """Sums over the axes whose labels are not in `kept`.

    Returns the new expression and its labels.
    """
    gone = tuple(place for place, one in enumerate(labels) if one not in kept)
    return (f"ops.sum({text}, {gone})" if gone else text), tuple(
        one for one in labels if one in kept
    )


def _contract_pair(
    text: str, labels: Labels, other: str, own: Labels, kept: set[str]
) -> tuple[str, Labels]:
    both = [one for one in labels if one in own]
    shared, summed = [one for one in both if one in kept], [one for one in both if one not in kept]
    left, right = (
        [one for one in labels if one not in own],
        [one for one in own if one not in labels],
    )
    orders = (
        _permutation_of(labels, [*shared, *left, *summed]),
        _permutation_of(own, [*shared, *summed, *right]),
    )
    counts = len(shared), len(left), len(summed)
    return f"einsum.contract({text}, {other}, {orders[0]}, {orders[1]}, {counts})", (
        *shared,
        *left,
        *right,
    )


def _permutation_of(labels: Labels, wanted: Sequence[str]) -> tuple[int, ...]:
    return tuple(labels.index(one) for one in wanted)


def diagonal(x: Any) -> Any:
    """Returns the diagonal of the last two axes."""
    size = x.shape[-1]
    flat = ops.reshape(x, (*x.shape[:-2], size * size))
    return ops.gather(flat, ops.arange(size) * (size + 1), flat.ndim - 1)


def contract(
    a: Any, b: Any, order_a: tuple[int, ...], order_b: tuple[int, ...], counts: tuple[int, int, int]
) -> Any:
    """Contracts two operands by one matrix product.

    Shared axes occur in both operands and in the result. Summed axes occur in both operands, but
    not in the result. Own axes occur in one operand and in the result.

    `order_a` permutes the axes of `a` to (shared, own, summed). `order_b` permutes the axes of `b`
    to (shared, summed, own). `counts` contains three integers: the number of shared axes, the
    number of own axes of `a`, and the number of summed axes. An empty `order_a` or `order_b` means
    no permutation.
    """
    a = ops.transpose(a, order_a) if order_a else a
    b = ops.transpose(b, order_b) if order_b else b
    shared, own, summed = counts
    sizes = a.shape[: shared + own] + b.shape[shared + summed :]
    a = ops.reshape(
        a,
        (
            *a.shape[:shared],
            product(a.shape[shared : shared + own]),
            product(a.shape[shared + own :]),
        ),
    )
    b = ops.reshape(
        b,
        (
            *b.shape[:shared],
            product(b.shape[shared : shared + summed]),
            product(b.shape[shared + summed :]),
        ),
    )
    return ops.reshape(ops.matmul(a, b), sizes)


def product(sizes: tuple[int, ...]) -> int:
    """Returns the product of sizes, which is 1 for an empty tuple."""
    found = 1
    for size in sizes:
        found = found * size
    return found
