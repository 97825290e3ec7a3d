"""Defines one fused operator per file: forward, gradient, reference formula and Cell.

In: the classes of `core` that describe and build operators. Out: `OpSpec` records and Cells.
Must not: import MindSpore directly or call a kernel directly.
"""

from __future__ import annotations

import importlib
import pkgutil
from collections.abc import Mapping

from custom_ops.core.operator_spec import OpSpec


def all_specs() -> Mapping[str, OpSpec]:
    """Returns a dict of all operators of this package, from the operator's name to the `OpSpec`."""
    found: dict[str, OpSpec] = {}
    for module in pkgutil.iter_modules(__path__):
        members = vars(importlib.import_module(f"{__name__}.{module.name}"))
        found |= {item.name: item for item in members.values() if isinstance(item, OpSpec)}
    return dict(sorted(found.items()))
