"""Installs an import hook; the hook provides the TBE toolkit's modules and patches MindSpore."""

from __future__ import annotations

import sys
from collections.abc import Callable
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any

from tbe_impl import toolkit_finder


def activate() -> None:
    """Installs the import hook. If MindSpore is already imported, patches MindSpore at once.

    With ``MS_FUSION=off``, the function does not patch MindSpore.
    """
    if any(isinstance(one, _ImportHook) for one in sys.meta_path):
        return
    toolkit_finder.provide()
    sys.meta_path.insert(0, _ImportHook())
    if "mindspore" in sys.modules:
        _replace_functions()


class _ImportHook:
    """Import hook that hides our TBE modules during MindSpore's import, and then patches MindSpore.

    The modules are hidden because MindSpore's kernel generator (AKG) has a ``topi`` of its own.
    """

    def find_spec(self, fullname: str, path: Any = None, target: Any = None) -> ModuleSpec | None:
        if fullname not in toolkit_finder.PROBERS:
            return None
        others = [one for one in sys.meta_path if one is not self and hasattr(one, "find_spec")]
        found = (one.find_spec(fullname, path, target) for one in others)
        spec = next((one for one in found if one is not None), None)
        if spec is not None and spec.loader is not None:
            loader: Any = spec.loader
            run = loader.exec_module
            # patches this loader object only, not its class
            loader.exec_module = lambda module: _execute_module(run, module)
        return spec


def _execute_module(run: Callable[[ModuleType], None], module: ModuleType) -> None:
    with toolkit_finder.hide_provided_modules():
        run(module)
    _replace_functions()


def _replace_functions() -> None:
    from custom_ops.tbe_bridge import mindspore_hook

    mindspore_hook.replace_functions()
