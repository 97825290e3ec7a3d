"""Self-test of our generator: verifies that MindSpore calls our kernels correctly.

MindSpore's calling convention for kernels differs between versions. So the self-test runs once per
MindSpore version and machine. In the self-test, a child process compiles a small net with MindSpore
and compares the net's results with NumPy. In the names of this module, the self-test is called
"proof".
"""

from __future__ import annotations

import contextlib
import hashlib
import logging
import subprocess
import sys
import tempfile
from collections.abc import Iterator
from functools import lru_cache
from pathlib import Path

import msgspec

from tbe_impl import environment
from tbe_impl.errors import CacheError, MissingError
from tbe_impl.runtime import compiler
from tbe_impl.runtime.process_group import child_environment, child_group
from tbe_impl.runtime.store import make_key, user_store
from tbe_impl.runtime.store_kinds import PROOFS

TIME_LIMIT_S = 180.0
TRIAL_MESSAGE = (
    "ms_fusion: trying our kernel generator with this MindSpore, "
    "once on this machine (some seconds) …"
)
log = logging.getLogger("ms_fusion")
_SOURCES = (
    "kernel_server",
    "lowering",
    "ops",
    "compile_server",
    "mindspore/flags/own_generator_flags.py",
    "mindspore/presets/generator_proof_child.py",
)


class GeneratorProof(msgspec.Struct, frozen=True):
    """The cached result of our generator's self-test.

    Attributes:
        why: the reason why our generator is not used; empty if the self-test succeeded.
        without_onednn: the reason why our generator does not build matrix products and
            convolutions; empty if our generator builds them.
    """

    why: str = ""
    without_onednn: str = ""


_DECODER = msgspec.json.Decoder(GeneratorProof)


def why_unusable(version: str) -> str:
    """Returns the reason why our generator is not used with this MindSpore version.

    The reason is empty if the generator's self-test succeeded. The first call on a machine runs the
    self-test, which takes some seconds, and caches the result. If several processes call this
    function, only one runs the self-test, and the others wait for the result.
    """
    found = _cached_proof(version)
    if found is not None:
        return found.why
    with _hold_proof_lock(version):
        found = _cached_proof(version)
        if found is None:
            with _announce_trial():
                found = _run_proof()
            # A timeout is not cached, since it may be due to the load of the machine.
            if not found.why.startswith("it took"):
                user_store().write_record(PROOFS, _key(version), found)
    return found.why


def known_reason(version: str) -> str | None:
    """Returns the cached result of `why_unusable`, or None if no result is cached."""
    found = _cached_proof(version)
    return None if found is None else found.why


def why_no_library(version: str) -> str:
    """Returns the reason why our generator does not build matrix products and convolutions.

    The reason is empty if our generator builds them. The caller must first call `why_unusable`,
    which caches the reason. Without a cached reason, the result is empty.
    """
    found = _cached_proof(version)
    return "" if found is None else found.without_onednn


def _cached_proof(version: str) -> GeneratorProof | None:
    try:
        return user_store().read_record(PROOFS, _key(version), _DECODER)
    except MissingError as error:
        return GeneratorProof(str(error))


def is_due() -> bool:
    """Returns whether the generator's self-test still has to run on this machine.

    Returns False if MindSpore is not installed. This function does not import MindSpore.
    """
    from importlib import metadata  # slow import, needed only here

    try:
        return known_reason(metadata.version("mindspore")) is None
    except metadata.PackageNotFoundError:
        return False


def _key(version: str) -> str:
    identity = compiler.find_compiler().identity
    return make_key(proof=version, compiler=identity, python=sys.version, sources=_source_digest())


@contextlib.contextmanager
def _hold_proof_lock(version: str) -> Iterator[None]:
    """Returns a context manager that holds a file lock during its ``with`` block.

    The lock makes processes of the same user run the self-test of our generator one at a time. If
    the directory of the lock file is not writable, there is no lock, and each process runs the
    self-test.
    """
    with contextlib.ExitStack() as held:
        with contextlib.suppress(CacheError, OSError):
            held.enter_context(user_store().lock(_key(version), timeout_s=TIME_LIMIT_S))
        yield


@contextlib.contextmanager
def _announce_trial() -> Iterator[None]:
    """Returns a context manager that informs the user of the self-test in its ``with`` block.

    In a terminal or notebook, the context manager writes to standard error before and after the
    self-test. Elsewhere, it writes one message to the log before the self-test.
    """
    shown = sys.stderr.isatty() or "ipykernel" in sys.modules
    if shown:
        sys.stderr.write(TRIAL_MESSAGE)
        sys.stderr.flush()
    else:
        log.info(TRIAL_MESSAGE)
    try:
        yield
    finally:
        if shown:
            sys.stderr.write(" done\n")


def _run_proof() -> GeneratorProof:
    with tempfile.TemporaryDirectory(
        prefix="ms_fusion-proof-", dir=environment.temporary_directory()
    ) as name:
        place = Path(name)
        (place / "kernels").mkdir()
        variables = child_environment(MS_COMPILER_CACHE_PATH=str(place / "kernels"), GLOG_v="4")
        variables.pop("MS_DEV_GRAPH_KERNEL_FLAGS", None)
        variables.pop("MS_FUSION", None)
        command = [
            sys.executable,
            "-m",
            "ms_fusion.mindspore.presets.generator_proof_child",
            str(place / "result.json"),
        ]
        try:
            silent = dict.fromkeys(("stdin", "stdout", "stderr"), subprocess.DEVNULL)
            with child_group(command, cwd=place, env=variables, **silent) as process:
                status = process.wait(TIME_LIMIT_S)
        except subprocess.TimeoutExpired:
            return GeneratorProof(f"it took longer than {TIME_LIMIT_S:.0f} s to try")
        try:
            return msgspec.json.decode((place / "result.json").read_bytes(), type=GeneratorProof)
        except (OSError, msgspec.DecodeError):
            return GeneratorProof(f"the process that tried it ended with status {status}")


@lru_cache(maxsize=1)
def _source_digest() -> str:
    """Returns a digest of those of our source files that influence the result of the self-test.

    The digest is part of the cache key of the self-test's result.
    """
    package = Path(__file__).resolve().parents[2]
    digest = hashlib.sha256()
    for name in _SOURCES:
        files = [file for file in (package / name).rglob("*") if file.suffix in (".py", ".c", ".h")]
        for file in sorted(files) or [package / name]:
            digest.update(file.read_bytes())
    return digest.hexdigest()
