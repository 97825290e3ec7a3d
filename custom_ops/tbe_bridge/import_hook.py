"""Provides the toolkit's names, and has MindSpore run TBE functions once it is imported."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tbe_impl import toolkit_finder


def activate() -> None:
    """Replaces MindSpore's functions, now or once it is imported; ``MS_FUSION=off`` is read then."""
    if any(isinstance(one, _Watch) for one in sys.meta_path):
        return
    toolkit_finder.provide()
    sys.meta_path.insert(0, _Watch())
    if "mindspore" in sys.modules:
        _replace()


class _Watch:
    """Hides the toolkit's names while MindSpore is imported, and replaces its functions then.

    AKG, MindSpore's generator, brings a ``topi`` of its own.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname not in toolkit_finder.PROBERS:
            return None
        others = [one for one in sys.meta_path if one is not self and hasattr(one, "find_spec")]
        found = (one.find_spec(fullname, path, target) for one in others)
        spec = next((one for one in found if one is not None), None)
        if spec is not None and spec.loader is not None:
            run = spec.loader.exec_module
            # of this loader alone
            setattr(spec.loader, "exec_module", lambda module: _imported(run, module))  # noqa: B010
        return spec


def _imported(run: Callable[[ModuleType], None], module: ModuleType) -> None:
    with toolkit_finder.hidden():
        run(module)
    _replace()


def _replace() -> None:
    from custom_ops.tbe_bridge import mindspore_hook

    mindspore_hook.replace_functions()
