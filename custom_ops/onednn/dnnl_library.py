"""Loads the oneDNN library that MindSpore ships, without importing MindSpore."""

from __future__ import annotations

import ctypes
import platform
from pathlib import Path
from typing import Any

from custom_ops.onednn import constants
from custom_ops.onednn.statuses import describe
from tbe_impl.errors import CompileError, MissingError
from tbe_impl.runtime import compiler
from tbe_impl.runtime.shared_library_loader import open_library

SOURCE_FOLDER = Path(__file__).resolve().parent
VERSIONS = ((3, 1), (3, 13))
"""Lowest and highest supported version of oneDNN.

The C runtime of this package uses the C interface and the thread pool class of these versions.
"""
SOURCES = ("threads.c", "passes.c", "runtime.c")
"""C files of our runtime. They are concatenated in this order and compiled."""
SYMBOLS = (
    "onednn_bind",
    "onednn_run",
    "onednn_scratch_bytes",
    "onednn_free_scratch",
    "onednn_forget",
)
_STDLIB = "_ZSt20__throw_length_errorPKc"
"""Symbol that the C++ library libstdc++ defines, but no other C++ library."""

Handle = ctypes.c_void_p


class Version(ctypes.Structure):
    """``dnnl_version_t``, as returned by ``dnnl_version``."""

    _fields_ = [
        ("major", ctypes.c_int),
        ("minor", ctypes.c_int),
        ("patch", ctypes.c_int),
        ("hash", ctypes.c_char_p),
        ("cpu_runtime", ctypes.c_uint),
        ("gpu_runtime", ctypes.c_uint),
    ]


class LibraryStruct(ctypes.Structure):
    """``struct library`` of runtime.c."""

    _fields_ = [
        (name, Handle)
        for name in (
            "memory_create",
            "memory_destroy",
            "memory_set_data_handle",
            "stream_create",
            "primitive_execute",
            "engine",
        )
    ]


class Library:
    """The loaded oneDNN library, with our C runtime that runs plans of oneDNN primitives.

    Attributes:
        path: path of the oneDNN library.
        version: version of oneDNN.
        runtime: the loaded library of our runtime, compiled from the C files in this folder.
        engine: oneDNN's CPU engine.
    """

    def __init__(self, path: Path, functions: ctypes.CDLL, version: tuple[int, int, int]):
        self.path, self.version, self._functions = path, version, functions
        source = "\n".join((SOURCE_FOLDER / name).read_text("utf-8") for name in SOURCES)
        self.runtime = open_library(compiler.build(source, symbols=SYMBOLS), SYMBOLS)
        self.runtime.onednn_bind.restype = Handle
        self.runtime.onednn_run.argtypes = [Handle, Handle]
        self.runtime.onednn_forget.argtypes = [Handle]
        self.runtime.onednn_scratch_bytes.restype = ctypes.c_int64
        self.engine = self._bind()

    def _bind(self) -> Any:
        made = Handle()
        self.call("engine_create", ctypes.byref(made), ctypes.c_int(1), ctypes.c_size_t(0))
        names = (
            "memory_create",
            "memory_destroy",
            "memory_set_data_handle",
            "threadpool_interop_stream_create",
            "primitive_execute",
        )
        bound = LibraryStruct(*map(self._address, names), made)
        engine = Handle(self.runtime.onednn_bind(ctypes.byref(bound)))
        if engine.value != made.value:
            self.call("engine_destroy", made)
        return engine

    def _address(self, name: str) -> int:
        found = ctypes.cast(getattr(self._functions, f"dnnl_{name}"), Handle).value
        assert found is not None
        return found

    @property
    def function(self) -> int:
        """The address of ``int onednn_run(void *state, void **buffers)``."""
        found = ctypes.cast(self.runtime.onednn_run, Handle).value
        assert found is not None
        return found

    def status(self, name: str, *arguments: Any) -> int:
        """Calls ``dnnl_<name>`` and returns its status."""
        return int(getattr(self._functions, f"dnnl_{name}")(*arguments))

    def call(self, name: str, *arguments: Any) -> None:
        """Calls ``dnnl_<name>``.

        Raises:
            CompileError: the call failed.
        """
        status = self.status(name, *arguments)
        if status:
            raise CompileError(
                f"oneDNN refused dnnl_{name}", place=str(self.path), got=describe(status)
            )

    def value(self, name: str, result: Any, *arguments: Any) -> Any:
        """Calls ``dnnl_<name>`` and returns its result, which has the ctypes type `result`."""
        function = getattr(self._functions, f"dnnl_{name}")
        return ctypes.cast(function, ctypes.CFUNCTYPE(result, *(type(item) for item in arguments)))(
            *arguments
        )


def load(path: Path) -> Library:
    """Loads oneDNN from the library file `path`.

    Raises:
        MissingError: the platform is not 64-bit Linux, the file cannot be loaded, or its version or
            threading runtime is not supported.
        CompileError: our runtime cannot be built.
    """
    if platform.machine() not in ("x86_64", "aarch64") or platform.system() != "Linux":
        raise MissingError(
            "oneDNN is called on Linux of 64 bits only",
            got=f"{platform.system()} {platform.machine()}",
        )
    try:
        functions = ctypes.CDLL(str(path))
        get_version = functions.dnnl_version
        getattr(functions, _STDLIB)
        getattr(functions, "dnnl_threadpool_interop_stream_create")  # noqa: B009
    except (OSError, AttributeError) as error:
        raise MissingError(
            "oneDNN cannot be loaded as it is expected", place=str(path), got=str(error)
        ) from error
    get_version.restype = ctypes.POINTER(Version)
    told = get_version().contents
    version = (int(told.major), int(told.minor), int(told.patch))
    if (
        not VERSIONS[0] <= version[:2] <= VERSIONS[1]
        or told.cpu_runtime != constants.THREAD_POOL_RUNTIME
    ):
        low, high = (".".join(map(str, item)) for item in VERSIONS)
        raise MissingError(
            "this oneDNN is not called",
            place=str(path),
            expected=f"a version from {low} to {high} with the thread pool runtime",
            got=f"version {'.'.join(map(str, version))}, CPU runtime {told.cpu_runtime}",
        )
    return Library(path, functions, version)
