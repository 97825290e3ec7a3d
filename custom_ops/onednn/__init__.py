"""Convolutions and matrix products by the oneDNN that comes with MindSpore, from plain pointers.

``prepare_conv2d``, ``prepare_conv2d_backward``, ``prepare_matmul`` and ``prepare_max_pool_gradient`` give a `Prepared` operator for fixed shapes, dtypes
and attributes: ``.call(arrays)`` runs it on NumPy arrays, ``.function`` and ``.state`` run it from C. Each name is fetched from
its module when it is first used.

In: shapes, dtypes, attributes, pointers. Out: prepared operators that C and Python call alike. It loads no MindSpore.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbe_impl.lazy_names import late_names

if TYPE_CHECKING:
    from custom_ops.onednn.convolution import prepare_conv2d, prepare_conv2d_backward
    from custom_ops.onednn.fast_dtypes import quick_channels_last
    from custom_ops.onednn.pooling import prepare_max_pool_gradient
    from custom_ops.onednn.prepared_operator import Prepared, TensorType
    from custom_ops.onednn.products import prepare_matmul
    from custom_ops.onednn.verified_library import why_missing

_HOMES = {
    "Prepared": "prepared_operator",
    "TensorType": "prepared_operator",
    "prepare_conv2d": "convolution",
    "prepare_conv2d_backward": "convolution",
    "prepare_matmul": "products",
    "prepare_max_pool_gradient": "pooling",
    "quick_channels_last": "fast_dtypes",
    "why_missing": "verified_library",
}

__all__ = [
    "Prepared",
    "TensorType",
    "prepare_conv2d",
    "prepare_conv2d_backward",
    "prepare_matmul",
    "prepare_max_pool_gradient",
    "quick_channels_last",
    "why_missing",
]


__getattr__ = late_names(__name__, {name: f".{home}" for name, home in _HOMES.items()})
