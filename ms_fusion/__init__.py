"""Fuses operators in MindSpore, explains each fusion and measures it.

Importing the package loads no framework: public names are lazy imports.

>>> import ms_fusion as mf
>>> mf.__version__
'0.1.0'
"""

from __future__ import annotations

from typing import TYPE_CHECKING

import custom_ops as custom_ops  # makes a script's `import te` find our modules
from tbe_impl import __version__ as __version__
from tbe_impl.lazy_attributes import lazy_attributes

if TYPE_CHECKING:
    from ms_fusion.capture.dump_ledger import read
    from ms_fusion.capture.explain_net import explain
    from ms_fusion.capture.fusion_assertion import assert_fused
    from ms_fusion.capture.tune import tune
    from ms_fusion.ledger import Ledger
    from ms_fusion.mindspore.presets.scopes import check, disable, enable, fusion, patch
    from ms_fusion.mindspore.specialize.specialized_net import specialize
    from ms_fusion.onnx.cell.from_onnx import from_onnx
    from ms_fusion.onnx.fuse.auto_fuse import auto_fuse
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
    "assert_fused": "ms_fusion.capture.fusion_assertion",
    "auto_fuse": "ms_fusion.onnx.fuse.auto_fuse",
    "check": "ms_fusion.mindspore.presets.scopes",
    "disable": "ms_fusion.mindspore.presets.scopes",
    "enable": "ms_fusion.mindspore.presets.scopes",
    "explain": "ms_fusion.capture.explain_net",
    "from_onnx": "ms_fusion.onnx.cell.from_onnx",
    "fusion": "ms_fusion.mindspore.presets.scopes",
    "patch": "ms_fusion.mindspore.presets.scopes",
    "read": "ms_fusion.capture.dump_ledger",
    "specialize": "ms_fusion.mindspore.specialize.specialized_net",
    "tune": "ms_fusion.capture.tune",
}


_DOCUMENTED_MODULES = {name: f"ms_fusion.{name}" for name in ("cost", "devices")}
"""Submodules that are attributes of the package without an import, as the documents use them."""

__getattr__ = lazy_attributes(__name__, {**_HOMES, **_DOCUMENTED_MODULES})


def __dir__() -> list[str]:
    return [*__all__, "__version__"]
