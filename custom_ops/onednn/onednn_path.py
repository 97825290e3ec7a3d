"""Where oneDNN lies on this machine."""

from __future__ import annotations

import importlib.util
from pathlib import Path

from tbe_impl.errors import MissingError

FILE = "libdnnl.so.3"


def find() -> Path:
    """The file beside the installed MindSpore, which is not imported for that.

    Other builds of oneDNN are not looked for: those of Python packages bring threads of their own, or are part of another
    library, and MindSpore loads this one anyway.

    Raises:
        MissingError: there is none.
    """
    try:
        found = importlib.util.find_spec("mindspore")
    except ValueError:  # a stand-in without a place
        found = None
    for place in (found.submodule_search_locations or []) if found else []:
        path = Path(place) / "lib" / FILE
        if path.is_file():
            return path
    raise MissingError(
        f"{FILE} of MindSpore is not there",
        remedy="Run: pip install 'ms_fusion[cpu]', or choose lowering=\"im2col\"",
    )
