"""Operator fusion in MindSpore: visible, provable and fast.

Importing it loads no framework: each public name is fetched from its module when it is first used.

>>> import ms_fusion as mf
>>> mf.__version__
'0.1.0'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import custom_ops as custom_ops  # with it a script's `import te` finds our modules
from tbe_impl import __version__ as __version__
from tbe_impl.lazy_names import late_names

if TYPE_CHECKING:
    from ms_fusion.capture.explain_net import assert_fused, explain, read
    from ms_fusion.capture.tune import tune
    from ms_fusion.ledger import Ledger
    from ms_fusion.onnx_cell.cell import from_onnx
    from ms_fusion.onnx_fusion.auto_fuse import auto_fuse
    from ms_fusion.presets.scopes import check, disable, enable, fusion, patch
    from ms_fusion.specializing.specialized import specialize
    from tbe_impl.errors import FusionError, FusionNotFound

__all__ = [
    "FusionError",
    "FusionNotFound",
    "Ledger",
    "assert_fused",
    "auto_fuse",
    "check",
    "disable",
    "enable",
    "explain",
    "from_onnx",
    "fusion",
    "patch",
    "read",
    "specialize",
    "tune",
]

_HOMES = {
    "FusionError": "tbe_impl.errors",
    "FusionNotFound": "tbe_impl.errors",
    "Ledger": "ms_fusion.ledger",
    "assert_fused": "ms_fusion.capture.explain_net",
    "auto_fuse": "ms_fusion.onnx_fusion.auto_fuse",
    "check": "ms_fusion.presets.scopes",
    "disable": "ms_fusion.presets.scopes",
    "enable": "ms_fusion.presets.scopes",
    "explain": "ms_fusion.capture.explain_net",
    "from_onnx": "ms_fusion.onnx_cell.cell",
    "fusion": "ms_fusion.presets.scopes",
    "patch": "ms_fusion.presets.scopes",
    "read": "ms_fusion.capture.explain_net",
    "specialize": "ms_fusion.specializing.specialized",
    "tune": "ms_fusion.capture.tune",
}


__getattr__ = late_names(__name__, _HOMES)


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
