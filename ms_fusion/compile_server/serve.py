"""Runs MindSpore's kernel build server with our checks and our build processes."""

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

from ms_fusion.compile_server import refusals
from ms_fusion.compile_server.build_processes import BuildFailure, build_in_processes
from ms_fusion.compile_server.isolated_import import import_alone
from ms_fusion.mindspore.flags.generator_limits import KernelRefusal, has_only_views, kernel_refusal
from tbe_impl.errors import FusionError

log = logging.getLogger("ms_fusion")
SERVER = "mindspore._extends.remote.kernel_build_server"


def serve(messager: str) -> None:
    """Runs MindSpore's kernel build server with our checks and our build processes.

    Args:
        messager: name of MindSpore's server class: ``AkgMessager`` or ``AkgV2Messager``.
    """
    warnings.simplefilter("ignore")
    # Unblocks the signals that the parent process had blocked when it started this process.
    signal.pthread_sigmask(signal.SIG_SETMASK, ())
    # MindSpore's generator writes logs to the working directory and searches tuning files in it. So
    # the kernel directory becomes the working directory instead of the user's.
    os.chdir(os.environ["MS_COMPILER_CACHE_PATH"])
    _redirect_output("compile_server.log")
    threading.Thread(target=_exit_with_parent, args=(os.getppid(),), daemon=True).start()
    if messager == "AkgMessager":
        base = importlib.import_module(SERVER)
        server = importlib.import_module(f"{SERVER}_akg").AkgMessager
        base.AkgBuilderBase.accept_json = _accept_guarded
    else:
        # The import of all of MindSpore would take a second and half a GiB. It is not needed.
        base = import_alone(SERVER)
        server = importlib.import_module(f"{SERVER}_akg_v2").AkgV2Messager
        sys.path.insert(0, str(Path(__file__).resolve().parents[1] / "kernel_server" / "plug"))
    base.AkgBuilderBase.compile = _compile_guarded
    server(int(sys.argv[1]), int(sys.argv[2])).run()


def _exit_with_parent(parent: int) -> None:
    """Waits until the parent process has ended, and then ends this process.

    MindSpore's own server would wait forever and keep half a GiB of memory.
    """
    while os.getppid() == parent:
        time.sleep(1.0)
    os._exit(0)


def _redirect_output(file: str) -> None:
    """Redirects standard output and standard error to a file.

    The file then contains the messages and stack traces of the kernel generator.
    """
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
    """Builds all kernels that can be built; always returns True (success).

    After the result True, MindSpore looks for the files of the kernels. If the files of a kernel
    are missing, MindSpore runs the operators of this kernel one by one. After the result False,
    MindSpore would keep all kernels in its list of pending kernels, and wait for them at the next
    request.
    """
    refused = getattr(builder, "ms_fusion_refused", [])
    builder.ms_fusion_refused = []
    processor = builder.akg_processor
    kernels = [kernel for share in processor.args for kernel in share]
    waiting, stand_ins = kernels, set()
    try:
        generator = _generator(processor, builder.attrs)
        # MindSpore splits the group of a missing kernel and runs its operators unfused.
        waiting = [
            text
            for text in kernels
            if not has_only_views(text) and not generator.reuse_cached(text)
        ]
        limits = {"workers": processor.process_num, "seconds": processor.wait_time}
        failed = build_in_processes(waiting, generator.builder(), **limits) if waiting else {}
        for text, ended in failed.items():
            # If one substitute kernel fails, the others are still tried.
            with contextlib.suppress(Exception):
                if generator.stand_in(text, ended.why):
                    stand_ins.add(text)
    except Exception as error:  # noqa: BLE001 - the client needs an answer in any case
        failed = dict.fromkeys(waiting, BuildFailure(f"{type(error).__name__}: {error}"))
    # On a full disk even the record of refusals cannot be written.
    with contextlib.suppress(OSError):
        found = [
            *refused,
            *(_refusal(*one, left=one[0] not in stand_ins) for one in failed.items()),
        ]
        refusals.record(Path.cwd(), found, process=os.getppid())
    return True


def _refusal(text: str, ended: BuildFailure, *, left: bool) -> KernelRefusal:
    """Returns a `KernelRefusal` for a kernel that could not be built.

    Args:
        text: the kernel in composite JSON.
        ended: the failure of the build.
        left: whether MindSpore must run the kernel's operators one by one (`KernelRefusal.left`).
    """
    kernel = re.search(r'"op": ?"(\w{1,100})', text)
    culprit = ended.place if f'"{ended.place}"' in text else ""
    return KernelRefusal(
        culprit, f"it cannot build {kernel[1] if kernel else 'a kernel'} ({ended.why})", left
    )


class _Generator(Protocol):
    """Interface of a kernel generator.

    The argument `text` of the methods is a kernel in composite JSON.
    """

    def reuse_cached(self, text: str) -> bool:
        """Copies a kernel from the compile cache to the kernel directory for MindSpore.

        Returns False if the cache does not contain the kernel.
        """

    def builder(self) -> Callable[[str], object]:
        """Loads the generator; returns a function that builds a kernel from composite JSON."""

    def stand_in(self, text: str, why: str) -> bool:
        """Creates a slow substitute for a kernel that could not be built; returns False on failure.

        MindSpore itself runs the operators of a refused kernel one by one. So for MindSpore's
        generator, the method does nothing and returns True.
        """


@dataclass(frozen=True)
class _OurGenerator:
    """The kernel generator of ms_fusion; it is loaded when a kernel is not in the compile cache.

    Attributes:
        directory: directory that MindSpore searches for the libraries of the kernels.
    """

    directory: Path

    def reuse_cached(self, text: str) -> bool:
        from ms_fusion.kernel_server.compile_cache import publish_cached

        try:
            return publish_cached(text, self.directory)
        except Exception:
            # If the cache fails, the kernel can still be built.
            log.exception("a cached kernel cannot be published")
            return False

    def builder(self) -> Callable[[str], object]:
        build = self._plug().build
        return lambda text: build(text, self.directory)

    def stand_in(self, text: str, why: str) -> bool:
        return bool(self._plug().stand_in(text, self.directory, why))

    @staticmethod
    def _plug() -> Any:
        return importlib.import_module("akg_v2")


@dataclass(frozen=True)
class _MindSporeGenerator:
    """The kernel generator of MindSpore.

    Attributes:
        directory: directory that MindSpore searches for the libraries of the kernels.
        attributes: the attributes that MindSpore passes to the generator, as a string.
    """

    directory: Path
    attributes: str

    def reuse_cached(self, text: str) -> bool:
        return False

    def builder(self) -> Callable[[str], object]:
        from mindspore._extends.parallel_compile.akg_compiler import akg_process

        from ms_fusion.kernel_server.publishing import publish_beside_own

        sys.path.append(akg_process.get_akg_path())
        function = importlib.import_module("akg.ms").compilewithjson

        def build(text: str) -> None:
            akg_process._compile_akg_task_default([text], self.attributes, function)
            # This fails without a C compiler. Then our generator cannot be used either, and nothing
            # calls the kernel by our entry.
            with contextlib.suppress(FusionError, OSError, ValueError):
                publish_beside_own(json.loads(text)["op"], self.directory)

        return build

    def stand_in(self, text: str, why: str) -> bool:
        return True


def _generator(processor: Any, attributes: str) -> _Generator:
    from mindspore._extends.parallel_compile.akg_compiler import akg_process
    from mindspore._extends.parallel_compile.akg_compiler.util import get_kernel_meta_parent_dir

    directory = Path(get_kernel_meta_parent_dir(attributes)) / "akg_kernel_meta"
    if isinstance(processor, akg_process.AkgV2Process):
        return _OurGenerator(directory)
    return _MindSporeGenerator(directory, attributes)
