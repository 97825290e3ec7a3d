"""Writes `functional.pyi`, the declarations of the generated functions for static tools.

Type checkers and editors read files and run no code, so they do not see generated functions. At run
time no stub is needed, because ``help`` and `inspect` read the generated source.
"""

from __future__ import annotations

from importlib import import_module
from pathlib import Path
from typing import Any

functional: Any = import_module("custom_ops.functional")  # static tools see the stub only

STUB = Path(__file__).with_name("functional.pyi")

_HEAD = '''"""Exposes the operators as functions of tensors.

Written by ``python -m custom_ops.functional_stub``.
"""

from collections.abc import Sequence
from typing import Any

'''


def stub_text() -> str:
    """Returns the text of the stub: imports, then each function's declaration and docstring."""
    imports, declarations = "", ""
    for name in functional.__all__:
        if functional._HOMES[name] == "optimizer_functions":
            imports += f"from custom_ops.optimizer_functions import {name} as {name}\n"
        else:
            declarations += f"\n{functional._function_spec(name).declaration()}"
    return f"{_HEAD}{imports}\n__all__: list[str]\n{declarations}"


if __name__ == "__main__":
    STUB.write_text(stub_text(), encoding="utf-8")
