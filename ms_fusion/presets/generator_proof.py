"""Proves, before use, that this MindSpore calls our kernels as expected.

Once for each version and machine a child process sends a known group through MindSpore and looks at what comes out. The
calling convention differs between versions of MindSpore, so nothing is taken for granted.
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import os
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import msgspec

from tbe_impl import environment
from tbe_impl.errors import MissingError
from tbe_impl.runtime import compiler
from tbe_impl.runtime.cache import make_key
from tbe_impl.runtime.process_group import child_group

TIME_LIMIT_S = 180.0
TELLING = "ms_fusion: trying our kernel generator with this MindSpore, once on this machine (some seconds) …"
LOCK = "proof.lock"
log = logging.getLogger("ms_fusion")
_SOURCES = (
    "kernel_server",
    "presets/compile_server",
    "presets/own_generator_flags.py",
    "presets/generator_proof_child.py",
)


class Proof(msgspec.Struct, frozen=True):
    """What was found out.

    Attributes:
        why: our generator is not used; empty when it is proved to work.
        without_onednn: why matrix products and convolutions are not built by it; empty when they are.
    """

    why: str = ""
    without_onednn: str = ""


def why_not(version: str) -> str:
    """Why our generator is not used with this version of MindSpore here; empty when it is proved to work.

    The first call on a machine takes some seconds, which is said on a terminal; what it found is kept. Of several
    processes one tries, and the others wait for it.
    """
    found = _known(version)
    if found is not None:
        return found.why
    with _one_at_a_time():
        found = _known(version)
        if found is None:
            with _said():
                found = _proved()
            # a machine that was busy may be quiet next time
            if not found.why.startswith("it took"):
                compiler.user_cache().remember(_key(version), msgspec.json.encode(found))
    return found.why


def known(version: str) -> str | None:
    """What `why_not` says, as far as nothing need be tried for it; None when it has to be."""
    found = _known(version)
    return None if found is None else found.why


def without_library(version: str) -> str:
    """Why matrix products and convolutions are left to MindSpore, once `why_not` was asked; empty where they are built by us."""
    found = _known(version)
    return "" if found is None else found.without_onednn


def _known(version: str) -> Proof | None:
    try:
        note = compiler.user_cache().recall(_key(version))
    except MissingError as error:
        return Proof(str(error))
    return None if note is None else msgspec.json.decode(note, type=Proof)


def is_due() -> bool:
    """Whether `why_not` will have to try here, as far as can be told without loading MindSpore."""
    from importlib import metadata  # it loads much, and enabling needs none

    try:
        return known(metadata.version("mindspore")) is None
    except metadata.PackageNotFoundError:
        return False


def _key(version: str) -> str:
    identity = compiler.find_compiler().identity
    return make_key(proof=version, compiler=identity, python=sys.version, sources=_sources())


@contextlib.contextmanager
def _one_at_a_time() -> Iterator[None]:
    """Among the processes of this user; where no lock can be had, each tries for itself."""
    import fcntl  # not on Windows, where dumps are read all the same

    lock = None
    with contextlib.suppress(OSError):
        environment.cache_dir().mkdir(mode=0o700, parents=True, exist_ok=True)
        lock = os.open(
            environment.cache_dir() / LOCK,
            os.O_RDWR | os.O_CREAT | os.O_CLOEXEC | os.O_NOFOLLOW,
            0o600,
        )
        fcntl.flock(lock, fcntl.LOCK_EX)
    try:
        yield
    finally:
        if lock is not None:
            os.close(lock)


@contextlib.contextmanager
def _said() -> Iterator[None]:
    """Tells what takes so long, and when it is over: on a terminal and in a notebook, else in the log."""
    shown = sys.stderr.isatty() or "ipykernel" in sys.modules
    if shown:
        sys.stderr.write(TELLING)
        sys.stderr.flush()
    else:
        log.info(TELLING)
    try:
        yield
    finally:
        if shown:
            sys.stderr.write(" done\n")


def _proved() -> Proof:
    with tempfile.TemporaryDirectory(
        prefix="ms_fusion-proof-", dir=environment.temporary_directory()
    ) as name:
        place = Path(name)
        (place / "kernels").mkdir()
        root = str(Path(__file__).resolve().parents[2])
        path = os.pathsep.join(filter(None, [root, os.environ.get("PYTHONPATH", "")]))
        variables = {
            **os.environ,
            "PYTHONPATH": path,
            "MS_COMPILER_CACHE_PATH": str(place / "kernels"),
            "GLOG_v": "4",
        }
        variables.pop("MS_DEV_GRAPH_KERNEL_FLAGS", None)
        variables.pop("MS_FUSION", None)
        command = [
            sys.executable,
            "-m",
            "ms_fusion.presets.generator_proof_child",
            str(place / "result.json"),
        ]
        try:
            silent = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
            with child_group(command, cwd=place, env=variables, **silent) as process:
                status = process.wait(TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            return Proof(f"it took longer than {TIME_LIMIT_S:.0f} s to try")
        try:
            return msgspec.json.decode((place / "result.json").read_bytes(), type=Proof)
        except (OSError, msgspec.DecodeError):
            return Proof(f"the process that tried it ended with status {status}")


@lru_cache(maxsize=1)
def _sources() -> str:
    """Changes when what is proved changes."""
    room = Path(__file__).resolve().parents[1]
    digest = hashlib.sha256()
    for name in _SOURCES:
        files = [file for file in (room / name).rglob("*") if file.suffix in (".py", ".c")]
        for file in sorted(files) or [room / name]:
            digest.update(file.read_bytes())
    return digest.hexdigest()
