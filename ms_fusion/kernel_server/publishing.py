"""Publishes a library where MindSpore looks for it."""

from __future__ import annotations

import hashlib
import json
import os
import tempfile
from pathlib import Path

from ms_fusion.kernel_server import records
from ms_fusion.kernel_server.stubs import stub_beside_own
from ms_fusion.ledger import Build
from tbe_impl.runtime import compiler

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
    told = {
        "kernelName": f"{name}_kernel",
        "sha256": digest,
        "objSha256": digest,
        "threadNumber": "null",
    }
    _put(directory / f"{name}.so", content)
    _put(directory / records.file_name(name), records.content(record))
    _put(directory / f"{name}.json", json.dumps(told).encode())


OWN = ".own"
"""How a file ends that MindSpore's own generator built."""


def publish_beside_own(name: str, directory: Path) -> None:
    """What MindSpore's own generator has just built can be called as a kernel of ours as well: then it is ours, made at that call.

    Raises:
        CompileError, MissingError: there is no compiler, or it fails; all is as it was.
        OSError: the directory cannot be written.
    """
    if not is_name(name):
        return
    library, told = directory / f"{name}.so", directory / f"{name}.json"
    around = compiler.build(stub_beside_own(name), symbols=(name, f"{name}_kernel")).read_bytes()
    known = json.loads(told.read_text("utf-8"))
    _put(library.with_suffix(OWN), library.read_bytes())
    _put(library, around)
    _put(told, json.dumps({**known, "sha256": hashlib.sha256(around).hexdigest()}).encode())


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
