"""Runs convolutions, matrix products and pooling gradients with MindSpore's copy of oneDNN.

MindSpore itself is not imported.

``prepare_conv2d``, ``prepare_conv2d_backward``, ``prepare_matmul`` and
``prepare_max_pool_gradient`` return a `Prepared` operator for fixed shapes, dtypes and attributes.
``.call(arrays)`` runs this operator on NumPy arrays. C code calls ``.function`` with ``.state``.
Each public name is imported lazily, on first use.

In: shapes, dtypes, attributes, pointers. Out: prepared operators that C and Python call. This
package must not load MindSpore.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from tbe_impl.lazy_attributes import lazy_attributes

if TYPE_CHECKING:
    from custom_ops.onednn.convolution import (
        prepare_conv2d,
        prepare_conv2d_backward,
        quick_channels_last,
    )
    from custom_ops.onednn.matmul import prepare_matmul
    from custom_ops.onednn.pooling import prepare_max_pool_gradient
    from custom_ops.onednn.prepared_operator import Prepared, TensorType
    from custom_ops.onednn.verified_library import why_missing

_HOMES = {
    "Prepared": "prepared_operator",
    "TensorType": "prepared_operator",
    "prepare_conv2d": "convolution",
    "prepare_conv2d_backward": "convolution",
    "prepare_matmul": "matmul",
    "prepare_max_pool_gradient": "pooling",
    "quick_channels_last": "convolution",
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


__getattr__ = lazy_attributes(__name__, {name: f".{home}" for name, home in _HOMES.items()})
