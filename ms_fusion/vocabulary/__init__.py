"""The names that MindSpore knows, by version and device: operators, and the passes of its back ends.

One JSON file a version, written by `ms_fusion.vocabulary.build` from MindSpore's own libraries and Python files.

In: a version, a device. Out: sets of names. It imports no MindSpore.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from functools import lru_cache
from importlib import metadata
from pathlib import Path

_DIRECTORY = Path(__file__).parent


@dataclass(frozen=True)
class Vocabulary:
    """The names of one version.

    Attributes:
        version: of MindSpore.
        operators: of all devices: MindSpore's libraries name them in common.
        passes: device → the passes of its back end, by name.
    """

    version: str
    operators: frozenset[str]
    passes: dict[str, frozenset[str]]


def versions() -> tuple[str, ...]:
    """The versions whose names are known, the newest last."""
    found = [path.stem for path in _DIRECTORY.glob("*.json")]
    return tuple(sorted(found, key=lambda one: tuple(map(int, one.split(".")))))


def vocabulary(version: str | None = None) -> Vocabulary:
    """The names of a version; of the newest one that is known where its own are not.

    Args:
        version: by default that of the installed MindSpore.
    """
    known = versions()
    wanted = version or _installed()
    return _read(wanted if wanted in known else known[-1])


@lru_cache(maxsize=1)
def _installed() -> str:
    try:
        return metadata.version("mindspore")
    except metadata.PackageNotFoundError:
        return ""


@lru_cache(maxsize=4)
def _read(version: str) -> Vocabulary:
    found = json.loads((_DIRECTORY / f"{version}.json").read_text("utf-8"))
    passes = {device: frozenset(names) for device, names in found["passes"].items()}
    return Vocabulary(found["version"], frozenset(found["operators"]), passes)
