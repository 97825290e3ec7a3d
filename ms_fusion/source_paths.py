"""Distinguishes MindSpore's own source files from the user's source files."""

from __future__ import annotations

import re
import sys
from pathlib import Path

_OWN = f"{Path(__file__).resolve().parent}/"
_INSTALLED = re.compile(
    r"/(?:site-packages|dist-packages|python[\d.]*|package)/mindspore/"
    r"|/mindspore/(?:_extends|common|graph|mint|nn|ops)/"
)
"""Matches paths of MindSpore's files: in an installation directory or a known sub-package."""


def is_mindspore_file(path: str) -> bool:
    """Whether a file belongs to MindSpore.

    MindSpore may be installed or built from source, on this machine or on the machine that wrote a
    dump.

    >>> is_mindspore_file("/usr/lib/python3.11/site-packages/mindspore/nn/cell.py")
    True
    >>> is_mindspore_file("/home/me/mindspore/train.py")
    False
    """
    home = getattr(sys.modules.get("mindspore"), "__file__", None)
    if home and path.startswith(f"{Path(home).parent}/"):
        return True
    return _INSTALLED.search(path.replace("\\", "/")) is not None


def is_internal_file(path: str) -> bool:
    """Whether a file belongs to MindSpore, ms_fusion or Python's `contextlib`, not to the user."""
    return is_mindspore_file(path) or path.startswith(_OWN) or path.endswith("/contextlib.py")
