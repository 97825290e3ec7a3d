"""Matrix products by themselves: the gradients of those with transposed weights, as CANN builds them one by one."""

from __future__ import annotations

import math
from typing import Any

from custom_ops.rows import sizes
from custom_ops.specs import OpSpec
from tbe_impl import dsl


def _rows(x: Any) -> Any:
    """The tensor as a matrix of its last axis."""
    *lead, last = sizes(x)
    return dsl.ext.reshape(x, [math.prod(lead), last])


def _product(x: Any, weight: Any) -> Any:
    made = dsl.matmul(_rows(x), weight, dst_dtype=x.dtype)
    return dsl.ext.reshape(made, [*sizes(x)[:-1], sizes(weight)[1]])


def _product_of_rows(x: Any, y: Any) -> Any:
    return dsl.matmul(_rows(x), _rows(y), True, dst_dtype=x.dtype)


PRODUCT = OpSpec(
    "Product",
    ("x", "weight"),
    forward=_product,
    undifferentiable=frozenset({"x", "weight"}),
    formula=lambda x, weight: x @ weight,
    samples=(((6, 17), (17, 24)), ((2, 3, 4), (4, 9)), ((5,), (5, 7))),
    nan="row",
    tbe="fused/product",
    doc="y = x weight: the gradient of x where x weight' was the product.",
)
PRODUCT_OF_ROWS = OpSpec(
    "ProductOfRows",
    ("x", "y"),
    ("z",),
    forward=_product_of_rows,
    undifferentiable=frozenset({"x", "y"}),
    formula=lambda x, y: x.reshape(-1, x.shape[-1]).T @ y.reshape(-1, y.shape[-1]),
    samples=(((6, 17), (6, 24)), ((2, 3, 4), (2, 3, 9)), ((5,), (7,))),
    nan="undefined",
    tbe="fused/product_of_rows",
    doc="z = Σ xᵢ yᵢ' over rows: the gradient of weight where x weight' was the product.",
)
