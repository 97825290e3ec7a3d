"""Simplifies models in place, with ONNX's own operators only; each file applies one identity.

In: a model of onnx-ir. Out: the same model, simplified. Must not rename a result of the model or
remove a value that another node reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import onnx_ir as ir

from ms_fusion.onnx.canonicalization.gemms import fuse_add_into_gemm
from ms_fusion.onnx.canonicalization.global_pools import rewrite_global_average_pools
from ms_fusion.onnx.canonicalization.layer_norms import fuse_layer_norms
from ms_fusion.onnx.canonicalization.signs import remove_redundant_signs

PASSES: Mapping[str, Callable[[ir.Model], None]] = MappingProxyType(
    {
        "spelled-out norms": fuse_layer_norms,
        "signs": remove_redundant_signs,
        "flattened poolings": rewrite_global_average_pools,
        "products with what is added": fuse_add_into_gemm,
    }
)
"""Name of the kind of nodes that a pass removes → the pass, in execution order."""
