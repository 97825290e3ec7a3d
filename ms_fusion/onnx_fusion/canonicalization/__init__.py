"""Clean-up that ONNX's own operators allow: each file says in one line what is the same as what, and changes a model in place.

Nothing that is a result of the model changes its name, and nothing that somebody else reads goes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping
from types import MappingProxyType

import onnx_ir as ir

from ms_fusion.onnx_fusion.canonicalization.gemms import with_gemms
from ms_fusion.onnx_fusion.canonicalization.layer_norms import with_layer_norms
from ms_fusion.onnx_fusion.canonicalization.pools import with_means
from ms_fusion.onnx_fusion.canonicalization.signs import without_signs

PASSES: Mapping[str, Callable[[ir.Model], None]] = MappingProxyType(
    {
        "spelled-out norms": with_layer_norms,
        "signs": without_signs,
        "flattened poolings": with_means,
        "products with what is added": with_gemms,
    }
)
"""What goes → the pass, in the order in which they run."""
