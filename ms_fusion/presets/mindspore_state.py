"""MindSpore's context, environment variables and compile server; also used by `scopes`."""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import functools
import importlib
import importlib.util
import inspect
import logging
import os
import shutil
import threading
import warnings
from collections.abc import Callable, Iterable, Iterator
from pathlib import Path
from typing import Any

from ms_fusion.generator_limits import generator_of
from ms_fusion.presets import private_directory
from ms_fusion.presets.preset_record import fuses
from tbe_impl import environment
from tbe_impl.errors import InputError, MissingError, UnsafeError

FLAGS_VARIABLE = "MS_DEV_GRAPH_KERNEL_FLAGS"
KERNELS_VARIABLE = "MS_COMPILER_CACHE_PATH"
KERNELS = "akg_kernel_meta"
"""Where in its kernel directory MindSpore puts descriptions and libraries."""
LEAST_FREE_BYTES = 16 << 20
"""Descriptions and libraries of a large net take less; MindSpore ends the program where it cannot write them."""
EARLIER = "MindSpore's own generator has built kernels in this process before ms_fusion was there, and MindSpore keeps them by names that ours would have"
"""Why our generator cannot take over."""
PASSES_VARIABLE = "MS_DEV_DUMP_IR_PASSES"
SAVING_VARIABLES = ("MS_DEV_SAVE_GRAPHS", "MS_DEV_SAVE_GRAPHS_PATH")
FRONT_END_PHASE = "export.front_end"
"""MindSpore compiles a Cell in a phase of such a name as far as its front end, and no other that is called meanwhile."""
FAILURES_VARIABLE = "MS_OM_PATH"

compile_lock = threading.RLock()
"""Held around every compilation: MindSpore's graph mode is not thread-safe."""

DUMPED_PASSES = (
    "graph_build,graph_kernel_expander,graph_kernel_cluster,graph_kernel_splitter,graph_kernel_cse,"
    "spread_update_state,validate"
)
"""The states that dumps are made of; MindSpore reads this list once in a process, so there is one list for all uses."""


def mindspore_module() -> Any:
    """MindSpore, imported; raises `MissingError` with the command that installs it."""
    try:
        import mindspore
    except ImportError as error:
        from ms_fusion.target import INSTALL

        raise MissingError(
            f"MindSpore cannot be imported ({error})", remedy=f"Run: {INSTALL}"
        ) from error
    return mindspore


def _compile_module() -> Any:
    """Where MindSpore compiles Cells and functions; None in a version that has no such module."""
    for name in ("mindspore.graph.api", "mindspore.common.api"):
        # the package it is in may be missing too
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(name)
    return None


def compilers() -> tuple[Any, ...]:
    """MindSpore's classes whose method ``compile`` compiles a Cell or a function, given before its arguments.

    It is called once for types and shapes that are new; what stands before it in Python, with every call of a net.
    """
    owner = importlib.import_module("mindspore._c_expression")
    names = ("GraphExecutor_", "JitExecutor_")
    return tuple(getattr(owner, name) for name in names if hasattr(owner, name))


def pynative_executor() -> Any:
    """MindSpore's class whose method ``grad`` takes gradients in PyNative mode; None in a version that has none."""
    return getattr(_compile_module(), "_PyNativeExecutor", None)


def jit_executor() -> Any:
    """MindSpore's class whose objects call what ``ms.jit`` compiled; None where there is none."""
    module = _compile_module()
    names = ("_JitExecutor", "_MindsporeFunctionExecutor")
    return next((getattr(module, name) for name in names if hasattr(module, name)), None)


def compiled_functions() -> frozenset[str]:
    """Names of what ``ms.jit`` compiled so far, and was not forgotten."""
    return frozenset(getattr(_compile_module(), "ms_compile_cache", ()))


def is_compiled(net: Any) -> bool:
    """Whether MindSpore has compiled this Cell or function, for whatever inputs."""
    return bool(getattr(net, "compile_cache", None) or graphs_of(net))


def graphs_of(net: Any) -> frozenset[str]:
    """The names of what ``ms.jit`` compiled of a function, or of the `construct` of a Cell."""
    function = inspect.unwrap(getattr(net, "construct", net))
    code = getattr(function, "__code__", None)
    if code is None:
        return frozenset()
    start = f"{function.__module__}.{function.__name__}.{code.co_filename}.{code.co_firstlineno}."
    own = f".{id(net)}." if hasattr(net, "construct") else ""
    return frozenset(one for one in compiled_functions() if one.startswith(start) and own in one)


def forget(cell: Any, functions: Iterable[str] = ()) -> None:
    """MindSpore frees what it compiled for this Cell, and these functions."""
    module, gone = _compile_module(), set(functions)
    if gone:
        module.ms_compile_cache.difference_update(gone)
        module._cell_graph_executor.del_net_res(None, gone)
        if variable("MS_DEV_JIT_PIPELINE") != "0":
            module.JitExecutor_.get_instance().del_net_res(None, gone)
    if getattr(cell, "compile_cache", None):
        module._cell_graph_executor.del_net_res(cell, cell.compile_cache)
        cell.compile_cache.clear()


def device_target() -> str:
    """``CPU``, ``GPU`` or ``Ascend``."""
    return str(mindspore_module().get_context("device_target"))


def version() -> str:
    """MindSpore's version."""
    return str(mindspore_module().__version__)


def is_graph_mode() -> bool:
    """Whether MindSpore's mode is graph mode (its default is PyNative)."""
    mindspore = mindspore_module()
    return bool(mindspore.get_context("mode") == mindspore.GRAPH_MODE)


def set_mode(mode: int) -> None:
    """Set MindSpore's mode (``mindspore.GRAPH_MODE`` or ``PYNATIVE_MODE``)."""
    mindspore = mindspore_module()
    if mindspore.get_context("mode") != mode:
        mindspore.set_context(mode=mode)


def context(name: str) -> Any:
    """A setting of MindSpore's context, None when this version has no such setting."""
    with contextlib.suppress(ValueError, KeyError):
        return mindspore_module().get_context(name)
    return None


def variable(name: str) -> str | None:
    """An environment variable as C code in this process sees it, which is what MindSpore reads."""
    found = _getenv()(name.encode())
    return None if found is None else found.decode(errors="replace")


@functools.cache
def _getenv() -> Callable[[bytes], bytes | None]:
    getenv = ctypes.CDLL(None).getenv
    getenv.restype, getenv.argtypes = ctypes.c_char_p, [ctypes.c_char_p]
    return getenv


def set_variable(name: str, value: str | None) -> None:
    """Set an environment variable, or delete it for None."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


@contextlib.contextmanager
def variable_set(name: str, value: str) -> Iterator[None]:
    """The environment variable has this value inside; what it had before is restored."""
    saved = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        set_variable(name, saved)


def kernel_directory() -> Path:
    """Where MindSpore keeps the fused kernels of this process; made and announced to MindSpore when it was not.

    The user's own `MS_COMPILER_CACHE_PATH` is used when it is set; else a private directory that goes at exit. MindSpore
    reads it at the first fused compilation only, so the first answer stays (see `kernels_in_place`).
    """
    global _place
    if _place is None:
        _place = _chosen_directory()
    return _place


def where_kernels_are() -> str:
    """Where they are kept, or would be by the user's own variable; empty when nobody has said so yet."""
    return str(_place or variable(KERNELS_VARIABLE) or "")


def kernels_in_place() -> contextlib.AbstractContextManager[None]:
    """Inside, MindSpore looks for kernels where ours are put, wherever the user's variable has come to point since."""
    return variable_set(KERNELS_VARIABLE, str(kernel_directory()))


def _chosen_directory() -> Path:
    chosen = variable(KERNELS_VARIABLE)
    # inherited from a parent process that used ms_fusion, which removes it when it ends
    if not chosen or private_directory.is_of_another_process(Path(chosen)):
        place = private_directory.make()
        os.environ[KERNELS_VARIABLE] = str(place)
        return place
    place = Path(chosen)
    if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
        raise InputError(
            "the directory for MindSpore's kernels cannot be used",
            place=KERNELS_VARIABLE,
            expected="an existing directory that can be written",
            got=chosen,
            remedy=f"Make it, or delete the variable {KERNELS_VARIABLE}.",
        )
    if not environment.is_text(place):
        raise InputError(
            "the directory for MindSpore's kernels cannot be used",
            place=KERNELS_VARIABLE,
            expected="a name that is UTF-8 text in this locale",
            got=environment.shown(place),
            remedy=f"Choose another, or delete the variable {KERNELS_VARIABLE}.",
        )
    return place.resolve()


_place: Path | None = None
_prepared = False
_had_kernels = False


def prepare() -> None:
    """What has to be so before the first fused compilation: a private kernel directory and our guarded compile server.

    Raises:
        MissingError: MindSpore, or the package `decorator`, without which its generator dies, is not installed.
        InputError: the user's own kernel directory cannot be used.
    """
    global _prepared, _had_kernels
    with compile_lock:
        place = kernel_directory()
        if _prepared:
            return
        mindspore_module()
        if importlib.util.find_spec("decorator") is None:
            raise MissingError(
                "MindSpore's kernel generator needs the package `decorator`, and dies without it",
                remedy="Run: pip install decorator",
            )
        from mindspore._c_expression import GraphExecutor_

        scripts = Path(__file__).resolve().parent / "compile_server"
        GraphExecutor_.get_instance().set_kernel_build_server_dir(f"{scripts}{os.sep}")
        _had_kernels = _has_kernels_loaded()
        if not _had_kernels and not private_directory.is_made_here(place):
            from ms_fusion.presets import user_kernel_directory

            user_kernel_directory.remove_strange(place / KERNELS)
        _prepared = True


def _has_kernels_loaded() -> bool:
    """Whether kernels are in memory that MindSpore had built before anything of ours was there to see it."""
    try:
        return f"/{KERNELS}/" in Path("/proc/self/maps").read_text("utf-8", errors="replace")
    except OSError:
        return False


def had_kernels() -> bool:
    """Whether MindSpore's own generator was at work in this process before ms_fusion; its kernels cannot be called as ours."""
    return _had_kernels


@functools.cache
def host_kernels() -> None:
    """What has to be so before kernels of our generator are called: those with a library in them are prepared here.

    Raises:
        MissingError, CompileError: there is no C compiler, or it fails.
    """
    from ms_fusion.kernel_server.host import Host

    Host(kernel_directory() / KERNELS).install()


def why_no_kernels() -> str:
    """Why no kernel can be put where MindSpore looks for them; empty when it can."""
    place = kernel_directory()
    try:
        if not os.access(place, os.W_OK | os.X_OK):
            return f"{place} cannot be written"
        free = shutil.disk_usage(place).free
    except OSError as error:
        return str(error)
    return f"the disk of {place} is full" if free < LEAST_FREE_BYTES else ""


class _Fixed(threading.local):
    depth = 0


_fixed = _Fixed()
_around: list[str | None] = []
"""What the variable of the flags held before each of ours."""
_last = ""


def flags_are_fixed() -> bool:
    """Whether this thread is inside `environment_flags`: then a patched Cell does not bring its own flags."""
    return _fixed.depth > 0


def users_flags() -> str | None:
    """The variable of the flags as it is outside of our compilations."""
    return _around[0] if _around else variable(FLAGS_VARIABLE)


@contextlib.contextmanager
def flags_set(text: str) -> Iterator[None]:
    """MindSpore reads these flags at each compilation inside; child processes that begin elsewhere do not inherit them."""
    global _last
    _around.append(os.environ.get(FLAGS_VARIABLE))
    os.environ[FLAGS_VARIABLE] = _last = text
    try:
        yield
    finally:
        set_variable(FLAGS_VARIABLE, _around.pop())


def _leave_flags() -> None:
    """When the process ends, MindSpore compares what it did with what the variable holds, and dies where that has fewer passes."""
    if _last:
        os.environ[FLAGS_VARIABLE] = _last


@contextlib.contextmanager
def environment_flags(text: str) -> Iterator[None]:
    """Exactly this flag string for everything compiled inside, above every scope; restored at the end.

    Raises:
        UnsafeError: they name our generator, which comes too late.
        MissingError, CompileError: as `host_kernels`.
    """
    prepare()
    if fuses(text) and generator_of(text) == "ms_fusion":
        if _had_kernels:
            raise UnsafeError(EARLIER, remedy="Enable ours before anything is compiled.")
        host_kernels()
    _fixed.depth += 1
    try:
        with flags_set(text):
            yield
    finally:
        _fixed.depth -= 1


@contextlib.contextmanager
def save_graphs(directory: Path, level: int = 2) -> Iterator[None]:
    """MindSpore writes its graphs to `directory` while inside; the user's own settings are restored.

    Args:
        directory: existing directory.
        level: 1 to 3, as for `save_graphs`.
    """
    mindspore = mindspore_module()
    if variable(PASSES_VARIABLE) is None:
        os.environ[PASSES_VARIABLE] = DUMPED_PASSES
    # the user's variables would win over what is set here
    users = {name: os.environ.pop(name, None) for name in SAVING_VARIABLES}
    saved_level = mindspore.get_context("save_graphs")
    saved_place = mindspore.get_context("save_graphs_path")
    with quiet():
        mindspore.set_context(save_graphs=level, save_graphs_path=str(directory))
    try:
        yield
    finally:
        with quiet():
            mindspore.set_context(save_graphs=saved_level, save_graphs_path=saved_place or ".")
        for name, value in users.items():
            set_variable(name, value)


def failed_graphs_in(directory: Path) -> contextlib.AbstractContextManager[None]:
    """MindSpore writes a graph that it cannot compile to the working directory unless told where."""
    return variable_set(FAILURES_VARIABLE, str(directory))


def read_by_front_end(cell: Any, inputs: Iterable[Any], directory: Path) -> None:
    """A Cell of ours is compiled as far as MindSpore's front end, and does not run; the last graph is written to `directory`.

    Other threads wait where they compile; what they call runs.
    """
    cell.phase = FRONT_END_PHASE
    with (
        compile_lock,
        quiet(),
        environment_flags("--opt_level=0"),
        save_graphs(directory, level=1),
        failed_graphs_in(directory),
    ):
        try:
            cell.compile(*inputs)
        finally:
            forget(cell)


def dump_directory() -> Path | None:
    """Where MindSpore writes the graphs of this process, None when it writes none."""
    level = variable(SAVING_VARIABLES[0]) or context("save_graphs")
    if str(level or 0) in ("0", "False"):
        return None
    place = Path(variable(SAVING_VARIABLES[1]) or context("save_graphs_path") or ".")
    own = place / f"rank_{variable('RANK_ID') or 0}"
    return own if own.is_dir() else place


@contextlib.contextmanager
def quiet() -> Iterator[None]:
    """Nothing in MindSpore's Python log below an error: it warns of settings that the user did not write."""
    loggers = [
        logging.getLogger(name)
        for name in logging.root.manager.loggerDict
        if "mindspore.log" in name
    ]
    levels = [logger.level for logger in loggers]
    for logger in loggers:
        logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        for logger, level in zip(loggers, levels, strict=True):
            logger.setLevel(level)


atexit.register(private_directory.remove_all)
atexit.register(_leave_flags)
