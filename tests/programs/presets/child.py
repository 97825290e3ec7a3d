"""Shared code of the programs in this folder: their result, and the kernels of their process."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from typing import Any

import numpy as np
from mindspore import Tensor

from ms_fusion.mindspore.flags.generator_limits import has_only_views

RESULT: dict[str, Any] = {}


def answer() -> None:
    """Writes ``RESULT`` to the file that the test reads."""
    Path(sys.argv[1]).write_text(json.dumps(RESULT), encoding="utf-8")


def kernels() -> list[str]:
    """The names of the kernels built for this process."""
    place = os.environ.get("MS_COMPILER_CACHE_PATH")
    return (
        sorted(path.stem for path in Path(place, "akg_kernel_meta").glob("*.so")) if place else []
    )


def bodies() -> list[dict[str, Any]]:
    """Their descriptions, without groups that only reshape, which are not built."""
    place = os.environ["MS_COMPILER_CACHE_PATH"]
    texts = (path.read_text() for path in Path(place, "akg_kernel_meta").glob("*.info"))
    return [json.loads(text) for text in texts if not has_only_views(text)]


def ones(*shape: int) -> Tensor:
    """A tensor of ones in float32."""
    return Tensor(np.ones(shape, np.float32))
