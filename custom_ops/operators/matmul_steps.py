"""Defines operators that CANN builds: matrix products and float32 accumulation steps."""

from __future__ import annotations

import math
from typing import Any

from custom_ops.core.operator_spec import OpSpec
from custom_ops.core.row_helpers import sizes
from custom_ops.tbe_bridge.tbe_sequence import step_operator
from tbe_impl import dsl


def _rows(x: Any) -> Any:
    """Reshapes a tensor to a matrix; all axes but the last become rows."""
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
PRODUCT_WITH_ROWS = step_operator(
    "ProductWithRows",
    ("x", "y"),
    ("z",),
    "product_with_rows",
    lambda x, y, **_: ((*x[:-1], y[-2]),),
    lambda *_: ("float32",),
    "z = scale·x y' in float32, of 1 / √width where `by_width` is set.",
    attributes={"scale": 1.0, "by_width": False},
)
PRODUCT_ACCUMULATION = step_operator(
    "ProductAdded",
    ("total", "x", "y"),
    ("z",),
    "product_added",
    lambda total, x, y: (total,),
    lambda *_: ("float32",),
    "z = total + x y in float32.",
    given={"total": "float32"},
)
PRODUCT_OF_ROWS_ACCUMULATION = step_operator(
    "ProductOfRowsAdded",
    ("total", "x", "y"),
    ("z",),
    "product_of_rows_added",
    lambda total, x, y: (total,),
    lambda *_: ("float32",),
    "z = total + Σ xᵢ yᵢ' in float32.",
    given={"total": "float32"},
)
PRODUCT_ON_SHARE = step_operator(
    "ProductOnShare",
    ("total", "share", "x", "y"),
    ("z",),
    "product_on_share",
    lambda total, share, x, y: (total,),
    lambda *_: ("float32",),
    "z = total·share + x y in float32.",
    given={"total": "float32", "share": "float32"},
)
PRODUCTS_OF_ROWS = step_operator(
    "ProductsOfRows",
    ("x", "y", "like"),
    ("z",),
    "products_of_rows",
    lambda x, y, like: (like,),
    lambda x, *_: (x,),
    "z = Σ xᵢ yᵢ' over the rows of all matrices that share one matrix of `like`.",
)
ZEROS = step_operator(
    "Zeros",
    ("x",),
    ("zeros",),
    "zeros",
    lambda x: (x,),
    lambda x: ("float32",),
    "Zeros in float32 in the shape of x.",
)
CAST_TO_FLOAT16 = step_operator(
    "Rounded",
    ("x",),
    ("y",),
    "rounded",
    lambda x: (x,),
    lambda x: ("float16",),
    "A float32 sum cast to float16.",
    given={"x": "float32"},
)
PLACES = step_operator(
    "Places",
    ("x",),
    ("places",),
    "places",
    lambda x, axis, in_row: ((1, x[axis]) if in_row else (x[axis], 1),),
    lambda x: ("float32",),
    "The indices along an axis, as a column or a row.",
    attributes={"axis": -2, "in_row": False},
)
