"""Passes tensors between two processes as memory-mapped files in a directory."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

NAMES = "names.json"


def write(place: Path, tensors: Mapping[str, np.ndarray]) -> None:
    """Creates the directory `place` and writes the tensors into it.

    Raises:
        ValueError: a tensor holds Python objects, such as strings.
    """
    place.mkdir()
    for number, (name, tensor) in enumerate(tensors.items()):
        if tensor.dtype.hasobject:
            raise ValueError(f"{name} holds no numbers")
        np.save(place / f"{number}.npy", tensor, allow_pickle=False)
    (place / NAMES).write_text(json.dumps(list(tensors)), "utf-8")


def read(place: Path) -> dict[str, np.ndarray]:
    """Memory-maps the tensors that `write` stored, and returns them by name.

    The tensors are writable (copy-on-write) and stay valid after the directory is removed.
    """
    names = json.loads((place / NAMES).read_text("utf-8"))
    return {
        name: np.asarray(np.load(place / f"{number}.npy", mmap_mode="c"))
        for number, name in enumerate(names)
    }
