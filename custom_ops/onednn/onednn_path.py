"""Finds oneDNN's library file on this machine."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tbe_impl.errors import MissingError

FILE = "libdnnl.so.3"


def find_library() -> Path:
    """Returns the path of oneDNN in the installed MindSpore package; does not import MindSpore.

    Builds of oneDNN in other Python packages are not considered, because such builds use their own
    threads or are part of another library. MindSpore loads its own copy of oneDNN in any case.

    Raises:
        MissingError: the file does not exist.
    """
    try:
        found = importlib.util.find_spec("mindspore")
    except ValueError:  # a stub module without a spec
        found = None
    for place in (found.submodule_search_locations or []) if found else []:
        path = Path(place) / "lib" / FILE
        if path.is_file():
            return path
    raise MissingError(
        f"{FILE} of MindSpore is not there",
        remedy="Run: pip install 'ms_fusion[cpu]', or choose lowering=\"im2col\"",
    )
