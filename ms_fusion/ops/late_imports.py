"""Imports modules for formulas and lowering rules lazily, when a formula or rule first runs.

Some processes only read the tables of operators and run no formula. An example is a process that
enables a preset (a named set of MindSpore's fusion flags). Such a process need not import NumPy and
the DSL.
"""

from __future__ import annotations

import importlib
import sys
from typing import Any


class LateName:
    """Proxy of a function or class; its module is imported at the first call of the proxy.

    Args:
        module: name of the module.
        path: dotted path of the function or class inside the module.
    """

    def __init__(self, module: str, path: str):
        self._module, self._path = module, path

    def __getattr__(self, name: str) -> Any:
        return LateName(self._module, f"{self._path}.{name}")

    def __call__(self, *arguments: Any, **options: Any) -> Any:
        found: Any = importlib.import_module(self._module)
        for name in self._path.split("."):
            found = getattr(found, name)
        return found(*arguments, **options)


class LateModule:
    """A module whose attributes are `LateName` objects until the module is imported."""

    def __init__(self, module: str):
        self._module = module

    def __getattr__(self, name: str) -> Any:
        module = sys.modules.get(self._module)
        return LateName(self._module, name) if module is None else getattr(module, name)


np: Any = LateModule("numpy")
dsl: Any = LateModule("tbe_impl.dsl")
arrays: Any = LateModule("tbe_impl.tracing.arrays")
convolution_formulas: Any = LateModule("ms_fusion.ops.convolution_formulas")
convolution_lowering: Any = LateModule("ms_fusion.ops.convolution_lowering")
onnx_windows: Any = LateModule("ms_fusion.ops.onnx_windows")
pooling_formulas: Any = LateModule("ms_fusion.ops.pooling_formulas")
pooling_lowering: Any = LateModule("ms_fusion.ops.pooling_lowering")
pooling_windows: Any = LateModule("ms_fusion.ops.pooling_windows")
resizing_formulas: Any = LateModule("ms_fusion.ops.resizing_formulas")
resizing_lowering: Any = LateModule("ms_fusion.ops.resizing_lowering")
