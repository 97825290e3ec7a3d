"""Defines matrix products and float32 accumulations for CANN's sequences of operators."""

from __future__ import annotations

import math
from typing import Any

from custom_ops.core.operator_spec import FOR_CUBE, FOR_FLOATS, FOR_SUMS, OpSpec
from custom_ops.core.row_helpers import broadcast_like, sizes
from custom_ops.tbe_bridge.tbe_sequence import step_operator
from tbe_impl import dsl
from tbe_impl.errors import InputError


def _rows(x: Any) -> Any:
    """Reshapes a tensor to a matrix; all axes but the last are merged into the row axis."""
    *lead, last = sizes(x)
    return dsl.ext.reshape(x, [math.prod(lead), last])


def _product(x: Any, weight: Any) -> Any:
    made = dsl.matmul(_rows(x), weight, dst_dtype=x.dtype)
    return dsl.ext.reshape(made, [*sizes(x)[:-1], sizes(weight)[1]])


def _product_of_rows(x: Any, y: Any) -> Any:
    return dsl.matmul(_rows(x), _rows(y), True, dst_dtype=x.dtype)


PLACES_MAX = 2**24
"""Largest number of consecutive integers from 0 on that float32 represents exactly."""


def matrices(like: Any, *tensors: Any) -> list[Any]:
    """Reshapes each tensor to a batch of matrices, so that the batch is as large as that of `like`.

    The last two axes of a tensor are the axes of a matrix; all other axes are batch axes. If a
    tensor has more matrices than `like`, neighbouring matrices are stacked row-wise.
    """
    count = math.prod(sizes(like)[:-2])
    lead = [count] if count > 1 else []
    return [
        dsl.ext.reshape(one, [*lead, math.prod(sizes(one)[:-1]) // max(count, 1), sizes(one)[-1]])
        for one in tensors
    ]


def score_scale(like: Any, scale: float, *, by_width: bool) -> float:
    """Returns 1 / √(size of the last axis of `like`) if `by_width` is true; otherwise `scale`."""
    return sizes(like)[-1] ** -0.5 if by_width else scale


def _product_with_rows(x: Any, y: Any, *, scale: float, by_width: bool) -> Any:
    made = dsl.matmul(*matrices(y, x, y), False, True, dst_dtype="float32")
    factor = score_scale(x, scale, by_width=by_width)
    made = made if factor == 1.0 else dsl.vmuls(made, factor)
    return dsl.ext.reshape(made, [*sizes(x)[:-1], sizes(y)[-2]])


def _add_product(total: Any, x: Any, y: Any) -> Any:
    before, *factors = matrices(y, total, x, y)
    made = dsl.vadd(before, dsl.matmul(*factors, dst_dtype="float32"))
    return dsl.ext.reshape(made, sizes(total))


def _add_product_of_rows(total: Any, x: Any, y: Any) -> Any:
    return dsl.vadd(total, dsl.matmul(x, y, True, dst_dtype="float32"))


def _add_product_to_share(total: Any, share: Any, x: Any, y: Any) -> Any:
    before, part, *factors = matrices(y, total, share, x, y)
    before = dsl.vmul(before, broadcast_like(part, before))
    made = dsl.vadd(before, dsl.matmul(*factors, dst_dtype="float32"))
    return dsl.ext.reshape(made, sizes(total))


def _products_of_rows(x: Any, y: Any, like: Any) -> Any:
    made = dsl.matmul(*matrices(like, x, y), True, dst_dtype="float32")
    return dsl.ext.reshape(dsl.cast_to(made, x.dtype), sizes(like))


def _indices(x: Any, *, axis: int, in_row: bool) -> Any:
    size = sizes(x)[axis]
    if size > PLACES_MAX:
        raise InputError(
            "the axis has more indices than float32 represents",
            place="Places",
            expected=f"at most {PLACES_MAX}",
            got=str(size),
        )
    found = dsl.compute([size], lambda i: dsl.cast("float32", i), "places")
    return dsl.ext.reshape(found, [1, size] if in_row else [size, 1])


PRODUCT = OpSpec(
    "Product",
    ("x", "weight"),
    forward=_product,
    undifferentiable=frozenset({"x", "weight"}),
    formula=lambda x, weight: x @ weight,
    samples=(((6, 17), (17, 24)), ((2, 3, 4), (4, 9)), ((5,), (5, 7))),
    nan="row",
    tbe=FOR_CUBE,
    doc="y = x weight: the gradient of x if the product was x weight'.",
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
    tbe=FOR_CUBE,
    doc="z = Σ xᵢ yᵢ' over rows: the gradient of weight if the product was x weight'.",
)
PRODUCT_WITH_ROWS = step_operator(
    "ProductWithRows",
    ("x", "y"),
    ("z",),
    _product_with_rows,
    lambda *_: ("float32",),
    "z = scale·x y' in float32, of 1 / √width where `by_width` is set.",
    attributes={"scale": 1.0, "by_width": False},
)
PRODUCT_ACCUMULATION = step_operator(
    "ProductAdded",
    ("total", "x", "y"),
    ("z",),
    _add_product,
    lambda *_: ("float32",),
    "z = total + x y in float32.",
    given={"total": "float32"},
)
PRODUCT_OF_ROWS_ACCUMULATION = step_operator(
    "ProductOfRowsAdded",
    ("total", "x", "y"),
    ("z",),
    _add_product_of_rows,
    lambda *_: ("float32",),
    "z = total + Σ xᵢ yᵢ' in float32.",
    given={"total": "float32"},
)
PRODUCT_ON_SHARE = step_operator(
    "ProductOnShare",
    ("total", "share", "x", "y"),
    ("z",),
    _add_product_to_share,
    lambda *_: ("float32",),
    "z = total·share + x y in float32.",
    given={"total": "float32", "share": "float32"},
)
PRODUCTS_OF_ROWS = step_operator(
    "ProductsOfRows",
    ("x", "y", "like"),
    ("z",),
    _products_of_rows,
    lambda x, *_: (x,),
    "z = Σ xᵢ yᵢ' over the rows of all matrices that share one matrix of `like`.",
)
ZEROS = step_operator(
    "Zeros",
    ("x",),
    ("zeros",),
    lambda x: dsl.broadcast(dsl.const(0.0, "float32"), sizes(x)),
    lambda x: ("float32",),
    "Zeros in float32 in the shape of x.",
    tbe=FOR_FLOATS,
)
CAST_TO_FLOAT16 = step_operator(
    "Rounded",
    ("x",),
    ("y",),
    lambda x: dsl.cast_to(x, "float16"),
    lambda x: ("float16",),
    "A float32 sum cast to float16.",
    tbe=FOR_SUMS,
    given={"x": "float32"},
)
PLACES = step_operator(
    "Places",
    ("x",),
    ("places",),
    _indices,
    lambda x: ("float32",),
    "The indices along an axis, as a column or a row.",
    tbe=FOR_FLOATS,
    attributes={"axis": -2, "in_row": False},
)
