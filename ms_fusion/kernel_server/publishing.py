"""Writes a kernel's library and its JSON file to the directory from which MindSpore loads them."""

from __future__ import annotations

import hashlib
import json
from pathlib import Path

from ms_fusion.kernel_server import build_records
from ms_fusion.kernel_server.stubs import stub_beside_own
from ms_fusion.ledger import Build
from tbe_impl.runtime import compiler
from tbe_impl.runtime.atomic_file import write_atomically

SYMBOL_CHARACTERS = frozenset("abcdefghijklmnopqrstuvwxyzABCDEFGHIJKLMNOPQRSTUVWXYZ0123456789_")


def is_c_identifier(name: str) -> bool:
    """Returns whether a name is a valid C function name."""
    return bool(name) and set(name) <= SYMBOL_CHARACTERS and not name[0].isdigit()


def publish(built: Path, name: str, directory: Path, record: Build) -> None:
    """Writes a kernel's library and its JSON file to `directory`, where MindSpore looks for them.

    The JSON file is written last, because MindSpore loads the library as soon as the JSON file
    exists.

    Args:
        built: the compiled library.
        name: name of the kernel.
        directory: MindSpore's directory for kernels.
        record: description of the build. The record is written to a file beside the library, for
            the report of `explain`.
    """
    content = built.read_bytes()
    digest = hashlib.sha256(content).hexdigest()
    told = {
        "kernelName": f"{name}_kernel",
        "sha256": digest,
        "objSha256": digest,
        "threadNumber": "null",
    }
    write_atomically(directory / f"{name}.so", content)
    write_atomically(directory / build_records.file_name(name), build_records.content(record))
    write_atomically(directory / f"{name}.json", json.dumps(told).encode())


OWN_SUFFIX = ".own"
"""Suffix of the file to which a library of MindSpore's own generator is renamed."""


def publish_beside_own(name: str, directory: Path) -> None:
    """Replaces a library of MindSpore's own generator by a stub with two entry functions.

    The original library is renamed to ``NAME.own``. One entry function of the stub calls our
    kernel. The other entry function has the name that MindSpore's own generator uses, and calls the
    original library.

    Raises:
        CompileError, MissingError: the compiler fails or is missing. In this case, no file is
            changed.
        OSError: the directory is not writable.
    """
    if not is_c_identifier(name):
        return
    library, told = directory / f"{name}.so", directory / f"{name}.json"
    around = compiler.build(stub_beside_own(name), symbols=(name, f"{name}_kernel")).read_bytes()
    known = json.loads(told.read_text("utf-8"))
    write_atomically(library.with_suffix(OWN_SUFFIX), library.read_bytes())
    write_atomically(library, around)
    write_atomically(
        told, json.dumps({**known, "sha256": hashlib.sha256(around).hexdigest()}).encode()
    )
