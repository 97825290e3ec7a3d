"""Lists the names of MindSpore's operators and back-end passes, by MindSpore version and device.

For each version there is one JSON file, which `ms_fusion.vocabulary.build` has extracted from
MindSpore's libraries and Python files.

In: a version and a device. Out: sets of names. This package must not import MindSpore.
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
    """The names of one version of MindSpore.

    Attributes:
        version: version of MindSpore.
        operators: operators of all devices together, since MindSpore's libraries do not show the
            device of an operator.
        passes: a dict from a device to the names of the passes of its back end.
    """

    version: str
    operators: frozenset[str]
    passes: dict[str, frozenset[str]]


def versions() -> tuple[str, ...]:
    """Returns the versions of MindSpore whose names are known, newest last."""
    found = [path.stem for path in _DIRECTORY.glob("*.json")]
    return tuple(sorted(found, key=lambda one: tuple(map(int, one.split(".")))))


def vocabulary(version: str | None = None) -> Vocabulary:
    """Returns the names of a MindSpore version; an unknown version gets the newest known names.

    Args:
        version: version of MindSpore. The default is the installed version.
    """
    known = versions()
    wanted = version or _installed_version()
    return _read(wanted if wanted in known else known[-1])


@lru_cache(maxsize=1)
def _installed_version() -> str:
    try:
        return metadata.version("mindspore")
    except metadata.PackageNotFoundError:
        return ""


@lru_cache(maxsize=4)
def _read(version: str) -> Vocabulary:
    found = json.loads((_DIRECTORY / f"{version}.json").read_text("utf-8"))
    passes = {device: frozenset(names) for device, names in found["passes"].items()}
    return Vocabulary(found["version"], frozenset(found["operators"]), passes)
