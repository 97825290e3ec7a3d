"""What the two server scripts do: change into the private directory, put the guard in, serve."""

from __future__ import annotations

import contextlib
import importlib
import json
import logging
import os
import re
import signal
import sys
import threading
import time
import warnings
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any, Protocol

from ms_fusion.generator_limits import Refusal, kernel_refusal, only_views
from ms_fusion.presets.compile_server import refusals
from ms_fusion.presets.compile_server.part_of_package import import_alone
from ms_fusion.presets.compile_server.workers import Ended, build_apart
from tbe_impl.errors import FusionError

log = logging.getLogger("ms_fusion")
SERVER = "mindspore._extends.remote.kernel_build_server"


def serve(messager: str) -> None:
    """Run MindSpore's own kernel build server of that name with our guard.

    Args:
        messager: ``AkgMessager`` or ``AkgV2Messager``.
    """
    warnings.simplefilter("ignore")
    # those that were held back where this was started
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # MindSpore's generator writes logs and looks for tuning files in the working directory: both are kept from the user's
    os.chdir(os.environ["MS_COMPILER_CACHE_PATH"])
    _print_to("compile_server.log")
    threading.Thread(target=_end_with, args=(os.getppid(),), daemon=True).start()
    if messager == "AkgMessager":
        base = importlib.import_module(SERVER)
        server = importlib.import_module(f"{SERVER}_akg").AkgMessager
        base.AkgBuilderBase.accept_json = _accept_guarded
    else:
        # all of MindSpore would be a second and half a GiB, of which nothing is needed
        base = import_alone(SERVER)
        server = importlib.import_module(f"{SERVER}_akg_v2").AkgV2Messager
        sys.path.insert(0, str(Path(__file__).resolve().parents[2] / "kernel_server" / "plug"))
    base.AkgBuilderBase.compile = _compile_guarded
    server(int(sys.argv[1]), int(sys.argv[2])).run()


def _end_with(parent: int) -> None:
    """End when the process that this server works for is gone: MindSpore's own would wait on, for ever, with half a GiB."""
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(0)


def _print_to(file: str) -> None:
    """The generator prints remarks and whole stack traces; they are kept, but not in the user's terminal."""
    log_file = os.open(file, os.O_WRONLY | os.O_CREAT | os.O_APPEND | os.O_NOFOLLOW, 0o600)
    os.dup2(log_file, 1)
    os.dup2(log_file, 2)
    os.close(log_file)


def _accept_guarded(builder: Any, text: str) -> Any:
    found = kernel_refusal(text)
    if found:
        builder.ms_fusion_refused = [*getattr(builder, "ms_fusion_refused", []), found]
        return None
    return builder.akg_processor.accept_json(text)


def _compile_guarded(builder: Any) -> bool:
    """Build what can be built, and say that all was: MindSpore looks for the files, and does without those that are missing.

    Told of a failure, it would keep the kernel on the list of those in work, and wait for it when it is asked for again.
    """
    refused = getattr(builder, "ms_fusion_refused", [])
    builder.ms_fusion_refused = []
    processor = builder.akg_processor
    kernels = [kernel for share in processor.args for kernel in share]
    waiting, stand_ins = kernels, set()
    try:
        generator = _generator(processor, builder.attrs)
        # a kernel that is missing is taken back, and its operators run as they are
        waiting = [
            text for text in kernels if not only_views(text) and not generator.answered(text)
        ]
        limits = {"workers": processor.process_num, "seconds": processor.wait_time}
        failed = build_apart(waiting, generator.builder(), **limits) if waiting else {}
        for text, ended in failed.items():
            # whatever is amiss with one, the others have theirs
            with contextlib.suppress(Exception):
                generator.stand_in(text, ended.why)
                stand_ins.add(text)
    except Exception as error:  # noqa: BLE001 - whatever is amiss, the client needs an answer
        failed = dict.fromkeys(waiting, Ended(f"{type(error).__name__}: {error}"))
    # where the disk is full, not even that can be written
    with contextlib.suppress(OSError):
        found = [
            *refused,
            *(_refusal(*one, left=one[0] not in stand_ins) for one in failed.items()),
        ]
        refusals.record(Path.cwd(), found, process=os.getppid())
    return True


def _refusal(text: str, ended: Ended, *, left: bool) -> Refusal:
    """What is kept of a kernel that was not built."""
    kernel = re.search(r'"op": ?"(\w{1,100})', text)
    culprit = ended.place if f'"{ended.place}"' in text else ""
    return Refusal(
        culprit, f"it cannot build {kernel[1] if kernel else 'a kernel'} ({ended.why})", left
    )


class _Generator(Protocol):
    """What builds kernels from their descriptions."""

    def answered(self, text: str) -> bool:
        """Puts a kernel that was built before where MindSpore looks for it; whether it did."""

    def builder(self) -> Callable[[str], object]:
        """Loads the generator, and hands back what builds a kernel, as MindSpore does in its own pool."""

    def stand_in(self, text: str, why: str) -> None:
        """Puts something in the place of a kernel that failed."""


@dataclass(frozen=True)
class _Ours:
    """Our generator, which is loaded for kernels that are new.

    Attributes:
        directory: where MindSpore looks for libraries.
    """

    directory: Path

    def answered(self, text: str) -> bool:
        from ms_fusion.kernel_server.compile_cache import published

        try:
            return published(text, self.directory)
        except Exception:
            # whatever is amiss with an answer, it can be built
            log.exception("an answer cannot be given")
            return False

    def builder(self) -> Callable[[str], object]:
        build = self._plug().build
        return lambda text: build(text, self.directory)

    def stand_in(self, text: str, why: str) -> None:
        self._plug().stand_in(text, self.directory, why)

    @staticmethod
    def _plug() -> Any:
        return importlib.import_module("akg_v2")


@dataclass(frozen=True)
class _MindSpores:
    """MindSpore's own generator.

    Attributes:
        directory: where MindSpore looks for libraries.
        attributes: what MindSpore tells it.
    """

    directory: Path
    attributes: str

    def answered(self, text: str) -> bool:
        return False

    def builder(self) -> Callable[[str], object]:
        from mindspore._extends.parallel_compile.akg_compiler import akg_process

        from ms_fusion.kernel_server.publishing import publish_beside_own

        sys.path.append(akg_process.get_akg_path())
        function = importlib.import_module("akg.ms").compilewithjson

        def build(text: str) -> None:
            akg_process._compile_akg_task_default([text], self.attributes, function)
            # without a compiler there is nobody who would call it as ours
            with contextlib.suppress(FusionError, OSError, ValueError):
                publish_beside_own(json.loads(text)["op"], self.directory)

        return build

    def stand_in(self, text: str, why: str) -> None:
        pass


def _generator(processor: Any, attributes: str) -> _Generator:
    from mindspore._extends.parallel_compile.akg_compiler import akg_process
    from mindspore._extends.parallel_compile.akg_compiler.util import get_kernel_meta_parent_dir

    directory = Path(get_kernel_meta_parent_dir(attributes)) / "akg_kernel_meta"
    if isinstance(processor, akg_process.AkgV2Process):
        return _Ours(directory)
    return _MindSpores(directory, attributes)
