"""The TBE DSL: ``dsl.vadd(x, y)`` and every other word of CANN, ``dsl.ext`` for words that CANN lacks.

>>> import tbe_impl.dsl as dsl
>>> x = dsl.placeholder((4, 8), "float16", "x")
>>> dsl.vmuls(dsl.vexp(x), 2.0).dtype
'float16'
"""

from __future__ import annotations

import importlib
from typing import Any

_HOMES = {
    "placeholder": "tensor",
    "compute": "tensor",
    "reduce_axis": "tensor",
    "Tensor": "tensor",
    "var": "expr",
    "const": "expr",
    "select": "expr",
    "cast": "expr",
    "gradients": "gradient",
    "show": "display",
    "trace": "tracing",
    "WORDS": "words",
    "EXT_WORDS": "ext",
}
"""Name → the module of this package that has it."""


def __getattr__(name: str) -> Any:
    if name == "ext":
        return importlib.import_module("tbe_impl.dsl.ext")
    home = _HOMES.get(name)
    if home is not None:
        module = importlib.import_module(f"tbe_impl.dsl.{home}")
        return module.Var if name == "var" else getattr(module, name)
    if not name.startswith("_"):
        words = importlib.import_module("tbe_impl.dsl.words").WORDS
        if name in words:
            return words[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")


def __dir__() -> list[str]:
    words = importlib.import_module("tbe_impl.dsl.words").WORDS
    return sorted((*globals(), *_HOMES, "ext", *words))
