"""Simplifies ONNX models in place; the passes insert only standard ONNX operators.

In: an onnx-ir model. Out: the same model, simplified. A pass must not rename an output of the
model, and must not remove a value that a node reads.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import onnx_ir as ir

from ms_fusion.onnx.canonicalization.exported_attention import rewrite_exported_attention
from ms_fusion.onnx.canonicalization.gemms import fuse_add_into_gemm
from ms_fusion.onnx.canonicalization.global_pools import rewrite_global_average_pools
from ms_fusion.onnx.canonicalization.layer_norms import fuse_layer_norms
from ms_fusion.onnx.canonicalization.reshapes import merge_reshapes, sink_unit_reshapes
from ms_fusion.onnx.canonicalization.shared_products import merge_shared_products
from ms_fusion.onnx.canonicalization.signs import remove_redundant_signs

PASSES: Mapping[str, Callable[[ir.Model], None]] = MappingProxyType(
    {
        "spelled-out norms": fuse_layer_norms,
        "signs": remove_redundant_signs,
        "flattened poolings": rewrite_global_average_pools,
        "products with what is added": fuse_add_into_gemm,
        "single axes": sink_unit_reshapes,
        "exported attention": rewrite_exported_attention,
        "reshapes": merge_reshapes,
        "products that read one value": merge_shared_products,
    }
)
"""Maps a description of the removed nodes to the pass that removes them, in execution order."""
