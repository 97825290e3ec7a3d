"""The TBE DSL: ``dsl.vadd`` and the other CANN operations, and the extensions in ``dsl.ext``.

In: tensors and attributes.
Out: a graph of stages (a stage computes one or more tensors). A NumPy implementation defines the
result of each stage.
Must not: depend on a chip, generate C, or write files.

>>> import tbe_impl.dsl as dsl
>>> x = dsl.placeholder((4, 8), "float16", "x")
>>> dsl.vmuls(dsl.vexp(x), 2.0).dtype
'float16'
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "placeholder": "tbe_impl.dsl.tensor",
    "compute": "tbe_impl.dsl.tensor",
    "reduce_axis": "tbe_impl.dsl.tensor",
    "Tensor": "tbe_impl.dsl.tensor",
    "var": "tbe_impl.dsl.expr",
    "const": "tbe_impl.dsl.expr",
    "select": "tbe_impl.dsl.expr",
    "cast": "tbe_impl.dsl.expr",
    "gradients": "tbe_impl.autodiff.reverse_mode",
    "show": "tbe_impl.dsl.graph_display",
    "trace": "tbe_impl.tracing.trace",
    "OPERATIONS": "tbe_impl.dsl.operations.operation_table",
    "EXT_OPERATIONS": "tbe_impl.dsl.ext",
}
"""Maps a public name to the module that defines it."""


def __getattr__(name: str) -> Any:
    if name == "ext":
        return importlib.import_module("tbe_impl.dsl.ext")
    home = _HOMES.get(name)
    if home is not None:
        module = importlib.import_module(home)
        return module.Var if name == "var" else getattr(module, name)
    if not name.startswith("_"):
        words = importlib.import_module("tbe_impl.dsl.operations.operation_table").OPERATIONS
        if name in words:
            return words[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    words = importlib.import_module("tbe_impl.dsl.operations.operation_table").OPERATIONS
    return sorted((*globals(), *_HOMES, "ext", *words))
