"""Putting a library where MindSpore looks for it."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path

from ms_fusion.kernel_server import records
from ms_fusion.ledger import Build

SYMBOL_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def is_name(name: str) -> bool:
    """Whether it can be a function's name in C."""
    return bool(name) and set(name) <= SYMBOL_CHARACTERS and not name[0].isdigit()


def publish(built: Path, name: str, directory: Path, record: Build) -> None:
    """Puts a library where MindSpore looks for it; its JSON, by which MindSpore knows that it is there, comes last.

    Args:
        record: how it was built; the ledger looks for it there.
    """
    content = built.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    told = {"kernelName": f"{name}_kernel", "sha256": digest, "objSha256": digest, "threadNumber": "null"}  # fmt: skip
    _put(directory / f"{name}.so", content)
    _put(directory / records.file_name(name), records.content(record))
    _put(directory / f"{name}.json", json.dumps(told).encode())


def _put(path: Path, content: bytes) -> None:
    file, name = tempfile.mkstemp(dir=path.parent, prefix=f".{path.name}-")
    draft = Path(name)
    try:
        with os.fdopen(file, "wb") as stream:
            stream.write(content)
        draft.replace(path)
    except OSError:
        draft.unlink(missing_ok=True)
        raise
