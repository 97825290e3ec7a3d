"""Accesses MindSpore's context, environment variables and compile server; also used by `scopes`."""

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

from ms_fusion.mindspore.flags.generator_limits import generator_of
from ms_fusion.mindspore.state import private_directory
from ms_fusion.mindspore.state.preset_record import has_fusion
from tbe_impl import environment
from tbe_impl.errors import InputError, MissingError, UnsafeError

FLAGS_VARIABLE = "MS_DEV_GRAPH_KERNEL_FLAGS"
KERNELS_VARIABLE = "MS_COMPILER_CACHE_PATH"
KERNELS = "akg_kernel_meta"
"""Subdirectory of MindSpore's kernel directory with descriptions and libraries."""
LEAST_FREE_BYTES = 16 << 20
"""Free space required for a large net; MindSpore aborts the process if it cannot write its
kernels.
"""
EARLIER_KERNELS = (
    "MindSpore's own generator has built kernels in this process before ms_fusion was there, and "
    "MindSpore keeps them by names that ours would have"
)
"""Why our generator cannot take over."""
PASSES_VARIABLE = "MS_DEV_DUMP_IR_PASSES"
SAVING_VARIABLES = ("MS_DEV_SAVE_GRAPHS", "MS_DEV_SAVE_GRAPHS_PATH")
FRONT_END_PHASE = "export.front_end"
"""MindSpore compiles a Cell in a phase of this name only as far as its front end; other Cells are
not affected.
"""
FAILURES_VARIABLE = "MS_OM_PATH"

compile_lock = threading.RLock()
"""Held during every compilation: MindSpore's graph mode is not thread-safe."""

DUMPED_PASSES = (
    "graph_build,graph_kernel_expander,graph_kernel_cluster,graph_kernel_splitter,graph_kernel_cse,"
    "spread_update_state,validate"
)
"""Graph states that dumps contain. MindSpore reads this list once per process, so one list serves
all uses.
"""


def mindspore_module() -> Any:
    """The imported MindSpore; raises `MissingError` with the install command."""
    try:
        import mindspore
    except ImportError as error:
        from ms_fusion.target import INSTALL

        raise MissingError(
            f"MindSpore cannot be imported ({error})", remedy=f"Run: {INSTALL}"
        ) from error
    return mindspore


def _compile_module() -> Any:
    """The module in which MindSpore compiles Cells and functions; None if this version has none."""
    for name in ("mindspore.graph.api", "mindspore.common.api"):
        # its parent package may be missing too
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(name)
    return None


def compilers() -> tuple[Any, ...]:
    """MindSpore's classes whose method ``compile`` compiles its first argument, a Cell or function.

    ``compile`` runs once for new types and shapes; the Python code before it runs at each call of a
    net.
    """
    owner = importlib.import_module("mindspore._c_expression")
    names = ("GraphExecutor_", "JitExecutor_")
    return tuple(getattr(owner, name) for name in names if hasattr(owner, name))


def pynative_executor() -> Any:
    """MindSpore's class whose method ``grad`` computes gradients in PyNative mode; None if this
    version has none.
    """
    return getattr(_compile_module(), "_PyNativeExecutor", None)


def jit_executor() -> Any:
    """MindSpore's class that calls functions compiled by ``ms.jit``; None if there is none."""
    module = _compile_module()
    names = ("_JitExecutor", "_MindsporeFunctionExecutor")
    return next((getattr(module, name) for name in names if hasattr(module, name)), None)


def compiled_functions() -> frozenset[str]:
    """Names of the live compilations of ``ms.jit``."""
    return frozenset(getattr(_compile_module(), "ms_compile_cache", ()))


def is_compiled(net: Any) -> bool:
    """Whether MindSpore has compiled this Cell or function for any inputs."""
    return bool(getattr(net, "compile_cache", None) or graphs_of(net))


def graphs_of(net: Any) -> frozenset[str]:
    """Names of the ``ms.jit`` compilations of a function, or of the `construct` of a Cell."""
    function = inspect.unwrap(getattr(net, "construct", net))
    code = getattr(function, "__code__", None)
    if code is None:
        return frozenset()
    start = f"{function.__module__}.{function.__name__}.{code.co_filename}.{code.co_firstlineno}."
    own = f".{id(net)}." if hasattr(net, "construct") else ""
    return frozenset(one for one in compiled_functions() if one.startswith(start) and own in one)


def forget(cell: Any, functions: Iterable[str] = ()) -> None:
    """Frees the compilations of a Cell and of the named functions."""
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
    """Sets MindSpore's mode (``mindspore.GRAPH_MODE`` or ``PYNATIVE_MODE``)."""
    mindspore = mindspore_module()
    if mindspore.get_context("mode") != mode:
        mindspore.set_context(mode=mode)


def context(name: str) -> Any:
    """A setting of MindSpore's context; None if this version lacks it."""
    with contextlib.suppress(ValueError, KeyError):
        return mindspore_module().get_context(name)
    return None


def variable(name: str) -> str | None:
    """An environment variable as C code in this process reads it, MindSpore included."""
    found = _getenv()(name.encode())
    return None if found is None else found.decode(errors="replace")


@functools.cache
def _getenv() -> Callable[[bytes], bytes | None]:
    getenv = ctypes.CDLL(None).getenv
    getenv.restype, getenv.argtypes = ctypes.c_char_p, [ctypes.c_char_p]
    return getenv


def set_variable(name: str, value: str | None) -> None:
    """Sets an environment variable, or deletes it for None."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


@contextlib.contextmanager
def override_variable(name: str, value: str) -> Iterator[None]:
    """Sets the environment variable in the block and restores it at the end."""
    saved = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        set_variable(name, saved)


def kernel_directory() -> Path:
    """MindSpore's directory for the fused kernels of this process; created on first use.

    A user's `MS_COMPILER_CACHE_PATH` takes precedence; else a private directory that is removed at
    exit. MindSpore reads the variable at the first fused compilation only, so the first result
    stays (see `pin_kernel_directory`).
    """
    global _place
    if _place is None:
        _place = _choose_directory()
    return _place


def known_kernel_directory() -> str:
    """The kernel directory, or the one of the user's variable; empty if neither is set yet."""
    return str(_place or variable(KERNELS_VARIABLE) or "")


def pin_kernel_directory() -> contextlib.AbstractContextManager[None]:
    """Pins MindSpore's kernel directory to ours in the block, even if the variable has changed
    since.
    """
    return override_variable(KERNELS_VARIABLE, str(kernel_directory()))


def _choose_directory() -> Path:
    chosen = variable(KERNELS_VARIABLE)
    # inherited from a parent process with ms_fusion, which removes the directory when it ends
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
    if not environment.is_utf8_path(place):
        raise InputError(
            "the directory for MindSpore's kernels cannot be used",
            place=KERNELS_VARIABLE,
            expected="a name that is UTF-8 text in this locale",
            got=environment.printable_path(place),
            remedy=f"Choose another, or delete the variable {KERNELS_VARIABLE}.",
        )
    return place.resolve()


_place: Path | None = None
_is_prepared = False
_has_earlier_kernels = False


def prepare() -> None:
    """Prepares the first fused compilation: private kernel directory, guarded compile server.

    Raises:
        MissingError: MindSpore is not installed, or the package `decorator`, without which its
            generator crashes.
        InputError: the user's own kernel directory cannot be used.
    """
    global _is_prepared, _has_earlier_kernels
    with compile_lock:
        place = kernel_directory()
        if _is_prepared:
            return
        mindspore_module()
        if importlib.util.find_spec("decorator") is None:
            raise MissingError(
                "MindSpore's kernel generator needs the package `decorator`, and dies without it",
                remedy="Run: pip install decorator",
            )
        from mindspore._c_expression import GraphExecutor_

        scripts = Path(__file__).resolve().parents[2] / "compile_server"
        GraphExecutor_.get_instance().set_kernel_build_server_dir(f"{scripts}{os.sep}")
        _has_earlier_kernels = _has_kernels_loaded()
        if not _has_earlier_kernels and not private_directory.is_made_here(place):
            from ms_fusion.mindspore.state import user_kernel_directory

            user_kernel_directory.remove_foreign_kernels(place / KERNELS)
        _is_prepared = True


def _has_kernels_loaded() -> bool:
    """Whether this process has loaded kernels that MindSpore built before ms_fusion was active."""
    try:
        return f"/{KERNELS}/" in Path("/proc/self/maps").read_text("utf-8", errors="replace")
    except OSError:
        return False


def has_earlier_kernels() -> bool:
    """Whether MindSpore's own generator was used in this process before ms_fusion; our entry cannot
    call its kernels.
    """
    return _has_earlier_kernels


@functools.cache
def host_kernels() -> None:
    """Installs the host that prepares kernels with library calls in this process.

    Raises:
        MissingError, CompileError: there is no C compiler, or it fails.
    """
    from ms_fusion.kernel_server.host import Host

    Host(kernel_directory() / KERNELS).install()


def why_no_kernels() -> str:
    """Why no kernel can be written to MindSpore's kernel directory; empty if it can."""
    place = kernel_directory()
    try:
        if not os.access(place, os.W_OK | os.X_OK):
            return f"{place} cannot be written"
        free = shutil.disk_usage(place).free
    except OSError as error:
        return str(error)
    return f"the disk of {place} is full" if free < LEAST_FREE_BYTES else ""


class _FixedDepth(threading.local):
    depth = 0


_fixed_depth = _FixedDepth()
_outer_values: list[str | None] = []
"""Previous values of the flags variable, outermost first."""
_last_flags = ""


def has_fixed_flags() -> bool:
    """Whether this thread is inside `environment_flags`, which overrides the flags of patched
    Cells.
    """
    return _fixed_depth.depth > 0


def users_flags() -> str | None:
    """The flags variable as it is outside of our compilations."""
    return _outer_values[0] if _outer_values else variable(FLAGS_VARIABLE)


@contextlib.contextmanager
def override_flags(text: str) -> Iterator[None]:
    """Sets MindSpore's flags for compilations in the block; child processes started elsewhere do
    not inherit them.
    """
    global _last_flags
    _outer_values.append(os.environ.get(FLAGS_VARIABLE))
    os.environ[FLAGS_VARIABLE] = _last_flags = text
    try:
        yield
    finally:
        set_variable(FLAGS_VARIABLE, _outer_values.pop())


def _leave_flags() -> None:
    """Restores the last flags at exit: MindSpore compares its passes with the variable and crashes
    if that has fewer.
    """
    if _last_flags:
        os.environ[FLAGS_VARIABLE] = _last_flags


@contextlib.contextmanager
def environment_flags(text: str) -> Iterator[None]:
    """Sets exactly this flag string for compilations in the block, above every scope.

    Raises:
        UnsafeError: the flags name our generator after MindSpore's own was used.
        MissingError, CompileError: as `host_kernels`.
    """
    prepare()
    if has_fusion(text) and generator_of(text) == "ms_fusion":
        if _has_earlier_kernels:
            raise UnsafeError(EARLIER_KERNELS, remedy="Enable ours before anything is compiled.")
        host_kernels()
    _fixed_depth.depth += 1
    try:
        with override_flags(text):
            yield
    finally:
        _fixed_depth.depth -= 1


@contextlib.contextmanager
def save_graphs(directory: Path, level: int = 2) -> Iterator[None]:
    """Makes MindSpore dump its graphs to `directory` in the block; restores the settings.

    Args:
        directory: existing directory.
        level: 1 to 3, as for `save_graphs`.
    """
    mindspore = mindspore_module()
    if variable(PASSES_VARIABLE) is None:
        os.environ[PASSES_VARIABLE] = DUMPED_PASSES
    # the user's variables take precedence over the context
    users = {name: os.environ.pop(name, None) for name in SAVING_VARIABLES}
    saved_level = mindspore.get_context("save_graphs")
    saved_place = mindspore.get_context("save_graphs_path")
    with silence_mindspore():
        mindspore.set_context(save_graphs=level, save_graphs_path=str(directory))
    try:
        yield
    finally:
        with silence_mindspore():
            mindspore.set_context(save_graphs=saved_level, save_graphs_path=saved_place or ".")
        for name, value in users.items():
            set_variable(name, value)


def redirect_failed_graphs(directory: Path) -> contextlib.AbstractContextManager[None]:
    """Redirects graphs that fail to compile from the working directory."""
    return override_variable(FAILURES_VARIABLE, str(directory))


def dump_front_end_graph(cell: Any, inputs: Iterable[Any], directory: Path) -> None:
    """Compiles a Cell of ours as far as MindSpore's front end; writes the graph to `directory`.

    Other threads wait at compilations; their calls run.
    """
    cell.phase = FRONT_END_PHASE
    with (
        compile_lock,
        silence_mindspore(),
        environment_flags("--opt_level=0"),
        save_graphs(directory, level=1),
        redirect_failed_graphs(directory),
    ):
        try:
            cell.compile(*inputs)
        finally:
            forget(cell)


def dump_directory() -> Path | None:
    """The directory to which MindSpore dumps graphs of this process; None if it dumps none."""
    level = variable(SAVING_VARIABLES[0]) or context("save_graphs")
    if str(level or 0) in ("0", "False"):
        return None
    place = Path(variable(SAVING_VARIABLES[1]) or context("save_graphs_path") or ".")
    own = place / f"rank_{variable('RANK_ID') or 0}"
    return own if own.is_dir() else place


@contextlib.contextmanager
def silence_mindspore() -> Iterator[None]:
    """Suppresses MindSpore's Python log below errors: it warns of settings that the user did not
    write.
    """
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
