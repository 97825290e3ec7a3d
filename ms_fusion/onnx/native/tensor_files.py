"""Passes tensors between two processes in a directory of memory-mapped files."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import numpy as np

NAMES = "names.json"


def write(place: Path, tensors: Mapping[str, np.ndarray]) -> None:
    """Creates the directory with the tensors.

    Raises:
        ValueError: a tensor holds objects, such as texts.
    """
    place.mkdir()
    for number, (name, tensor) in enumerate(tensors.items()):
        if tensor.dtype.hasobject:
            raise ValueError(f"{name} holds no numbers")
        np.save(place / f"{number}.npy", tensor, allow_pickle=False)
    (place / NAMES).write_text(json.dumps(list(tensors)), "utf-8")


def read(place: Path) -> dict[str, np.ndarray]:
    """Maps the tensors of `write` by name.

    They are writable (copy-on-write) and stay valid after the directory is removed.
    """
    names = json.loads((place / NAMES).read_text("utf-8"))
    return {
        name: np.asarray(np.load(place / f"{number}.npy", mmap_mode="c"))
        for number, name in enumerate(names)
    }
