"""Reads and sets MindSpore's context, environment variables, kernel directory and compile server.

This module exceeds 500 lines because all these settings are recorded and restored together.
"""

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
"""Subdirectory of MindSpore's kernel directory for the kernels' descriptions and libraries."""
LEAST_FREE_BYTES = 16 << 20
"""Free disk space that is required for kernels, in bytes; it is enough for a large net.

MindSpore aborts the process if it cannot write its kernels.
"""
EARLIER_KERNELS = (
    "MindSpore's own generator has built kernels in this process before ms_fusion was there, and "
    "MindSpore keeps them by names that ours would have"
)
"""Error message: our generator cannot be used, since MindSpore's generator was used before."""
PASSES_VARIABLE = "MS_DEV_DUMP_IR_PASSES"
SAVING_VARIABLES = ("MS_DEV_SAVE_GRAPHS", "MS_DEV_SAVE_GRAPHS_PATH")
FRONT_END_PHASE = "export.front_end"
"""Value of a Cell's `phase` with which MindSpore compiles the Cell with its front end only."""
FAILURES_VARIABLE = "MS_OM_PATH"

compile_lock = threading.RLock()
"""Lock that is held during every compilation: MindSpore's graph mode is not thread-safe."""

DUMPED_PASSES = (
    "graph_build,graph_kernel_expander,graph_kernel_cluster,graph_kernel_splitter,graph_kernel_cse,"
    "spread_update_state,validate"
)
"""The passes after which MindSpore dumps the graph.

MindSpore reads this list only once per process, so this list contains the passes for all our uses
of the dumps.
"""


def mindspore_module() -> Any:
    """Imports and returns MindSpore, or raises `MissingError` if it is not installed.

    The error contains the command that installs MindSpore.
    """
    try:
        import mindspore
    except ImportError as error:
        from ms_fusion.target import INSTALL

        raise MissingError(
            f"MindSpore cannot be imported ({error})", remedy=f"Run: {INSTALL}"
        ) from error
    return mindspore


def _compile_module() -> Any:
    """Returns MindSpore's module that compiles Cells and functions, or None if it is not found."""
    for name in ("mindspore.graph.api", "mindspore.common.api"):
        # In some versions the parent package is missing, too.
        with contextlib.suppress(ModuleNotFoundError):
            return importlib.import_module(name)
    return None


def compilers() -> tuple[Any, ...]:
    """Returns MindSpore's classes whose method ``compile`` compiles a Cell or a function.

    The first argument of ``compile`` is the Cell or function. MindSpore calls ``compile`` only for
    new types and shapes.
    """
    owner = importlib.import_module("mindspore._c_expression")
    names = ("GraphExecutor_", "JitExecutor_")
    return tuple(getattr(owner, name) for name in names if hasattr(owner, name))


def pynative_executor() -> Any:
    """Returns MindSpore's class whose method ``grad`` computes gradients in PyNative mode.

    Returns None if this MindSpore version lacks the class.
    """
    return getattr(_compile_module(), "_PyNativeExecutor", None)


def jit_executor() -> Any:
    """Returns MindSpore's class that calls functions compiled by ``ms.jit``.

    Returns None if this MindSpore version lacks the class.
    """
    module = _compile_module()
    names = ("_JitExecutor", "_MindsporeFunctionExecutor")
    return next((getattr(module, name) for name in names if hasattr(module, name)), None)


def compiled_functions() -> frozenset[str]:
    """Returns the names under which MindSpore caches the graphs that ``ms.jit`` has compiled."""
    return frozenset(getattr(_compile_module(), "ms_compile_cache", ()))


def is_compiled(net: Any) -> bool:
    """Returns whether MindSpore has compiled this Cell or function for any inputs."""
    return bool(getattr(net, "compile_cache", None) or graphs_of(net))


def graphs_of(net: Any) -> frozenset[str]:
    """Returns the names under which MindSpore caches the ``ms.jit`` graphs of a net.

    The net is a function, or a Cell whose `construct` is compiled.
    """
    function = inspect.unwrap(getattr(net, "construct", net))
    code = getattr(function, "__code__", None)
    if code is None:
        return frozenset()
    start = f"{function.__module__}.{function.__name__}.{code.co_filename}.{code.co_firstlineno}."
    own = f".{id(net)}." if hasattr(net, "construct") else ""
    return frozenset(one for one in compiled_functions() if one.startswith(start) and own in one)


def forget(cell: Any, functions: Iterable[str] = ()) -> None:
    """Frees the compiled graphs of a Cell, and the ``ms.jit`` graphs that `functions` names."""
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
    """Returns MindSpore's device target: ``CPU``, ``GPU`` or ``Ascend``."""
    return str(mindspore_module().get_context("device_target"))


def version() -> str:
    """Returns MindSpore's version."""
    return str(mindspore_module().__version__)


def is_graph_mode() -> bool:
    """Returns whether MindSpore is in graph mode; the default of MindSpore is PyNative mode."""
    mindspore = mindspore_module()
    return bool(mindspore.get_context("mode") == mindspore.GRAPH_MODE)


def is_jitted(net: Any) -> bool:
    """Returns whether MindSpore compiles the net even in PyNative mode.

    MindSpore always compiles a net with ``@ms.jit`` and a Cell to which `patch` was applied.
    """
    return hasattr(getattr(net, "construct", net), "__wrapped__")


def set_mode(mode: int) -> None:
    """Sets MindSpore's mode (``mindspore.GRAPH_MODE`` or ``PYNATIVE_MODE``)."""
    mindspore = mindspore_module()
    if mindspore.get_context("mode") != mode:
        mindspore.set_context(mode=mode)


def context(name: str) -> Any:
    """Returns the setting `name` of MindSpore's context, or None if no such setting exists."""
    with contextlib.suppress(ValueError, KeyError):
        return mindspore_module().get_context(name)
    return None


def variable(name: str) -> str | None:
    """Returns an environment variable as ``getenv`` in C reads it, or None if it is not set.

    Unlike `os.environ`, the result includes changes that C code has made in this process.
    """
    found = _getenv()(name.encode())
    return None if found is None else found.decode(errors="replace")


@functools.cache
def _getenv() -> Callable[[bytes], bytes | None]:
    getenv = ctypes.CDLL(None).getenv
    getenv.restype, getenv.argtypes = ctypes.c_char_p, [ctypes.c_char_p]
    return getenv


def set_variable(name: str, value: str | None) -> None:
    """Sets an environment variable; deletes it if `value` is None."""
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


@contextlib.contextmanager
def override_variable(name: str, value: str) -> Iterator[None]:
    """Returns a context manager that sets an environment variable and restores it at the end."""
    saved = os.environ.get(name)
    os.environ[name] = value
    try:
        yield
    finally:
        set_variable(name, saved)


def kernel_directory() -> Path:
    """Returns MindSpore's directory for the fused kernels of this process.

    The user can choose this directory by the environment variable `MS_COMPILER_CACHE_PATH`. If the
    variable is not set, the first call creates a private directory. This directory is removed at
    exit. MindSpore reads the variable only at the first compilation with fusion. So all calls
    return the result of the first call.
    """
    global _place
    if _place is None:
        _place = _choose_directory()
    return _place


def known_kernel_directory() -> str:
    """Returns the path of the kernel directory without creating the directory.

    Before the first call of `kernel_directory`, the result is the user's `MS_COMPILER_CACHE_PATH`,
    or an empty string if this variable is not set.
    """
    return str(_place or variable(KERNELS_VARIABLE) or "")


def pin_kernel_directory() -> contextlib.AbstractContextManager[None]:
    """Returns a context manager that sets `MS_COMPILER_CACHE_PATH` to the `kernel_directory`.

    The context manager is necessary because other code may have changed the environment variable.
    """
    return override_variable(KERNELS_VARIABLE, str(kernel_directory()))


def _choose_directory() -> Path:
    chosen = variable(KERNELS_VARIABLE)
    # A value that is inherited from a parent process with ms_fusion is not used, since the parent
    # removes the directory when it ends.
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
    """Prepares compilations with fusion: sets the kernel directory and the compile server.

    Further calls have no effect. The compile server is the process that builds kernels. Our compile
    server replaces MindSpore's, and refuses kernels that MindSpore's generator must not build.

    Raises:
        MissingError: MindSpore or the package `decorator` is not installed. MindSpore's generator
            crashes without `decorator`.
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
    """Returns whether this process has loaded a library from a MindSpore kernel directory.

    `prepare` calls this function before our compile server is active. So MindSpore's own compile
    server has built each library that the function finds.
    """
    try:
        return f"/{KERNELS}/" in Path("/proc/self/maps").read_text("utf-8", errors="replace")
    except OSError:
        return False


def has_earlier_kernels() -> bool:
    """Returns whether MindSpore's own compile server built kernels before the first `prepare`.

    If a kernel of ours had the same name as an earlier kernel, MindSpore would use the earlier
    kernel, which lacks our entry function.
    """
    return _has_earlier_kernels


@functools.cache
def host_kernels() -> None:
    """Installs the `Host` of this process, which prepares kernels that call oneDNN.

    A `Host` serves the kernels in the kernel directory of this process.

    Raises:
        MissingError: there is no C compiler.
        CompileError: the C compiler fails.
    """
    from ms_fusion.kernel_server.host import Host

    Host(kernel_directory() / KERNELS).install()


def why_no_kernels() -> str:
    """Returns the reason why the kernel directory is not writable, or "" if it is writable."""
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
"""Values of the variable before each active `override_flags`, outermost first; None if unset."""
_last_flags = ""


def has_fixed_flags() -> bool:
    """Returns whether this thread is in a ``with environment_flags(…):`` block.

    The flags of such a block take precedence over the flags that `patch` has set on a Cell.
    """
    return _fixed_depth.depth > 0


def users_flags() -> str | None:
    """Returns the user's value of MindSpore's environment variable for flags, or None if unset.

    During a compilation the variable itself contains our flags. The result is the value that the
    variable had before.
    """
    return _outer_values[0] if _outer_values else variable(FLAGS_VARIABLE)


@contextlib.contextmanager
def override_flags(text: str) -> Iterator[None]:
    """Returns a context manager that sets, and then restores, MindSpore's variable for flags.

    The variable is restored so that child processes which are started later do not inherit our
    flags.
    """
    global _last_flags
    _outer_values.append(os.environ.get(FLAGS_VARIABLE))
    os.environ[FLAGS_VARIABLE] = _last_flags = text
    try:
        yield
    finally:
        set_variable(FLAGS_VARIABLE, _outer_values.pop())


def _leave_flags() -> None:
    """At exit, sets MindSpore's environment variable to the flags of the last compilation.

    At exit, MindSpore reads the variable again. MindSpore compares the passes in the variable at
    exit with the passes in the variable at the compilations. If there are fewer passes at exit,
    MindSpore crashes.
    """
    if _last_flags:
        os.environ[FLAGS_VARIABLE] = _last_flags


@contextlib.contextmanager
def environment_flags(text: str) -> Iterator[None]:
    """Returns a context manager that makes compilations use the flags `text` instead of presets.

    Raises:
        UnsafeError: the flags select our generator, but MindSpore's generator has already built
            kernels in this process.
        MissingError, CompileError: errors of `host_kernels`.
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
    """Returns a context manager that makes MindSpore dump graphs to `directory`.

    Args:
        directory: an existing directory.
        level: 1 to 3, as for the setting `save_graphs` of MindSpore's context.
    """
    mindspore = mindspore_module()
    if variable(PASSES_VARIABLE) is None:
        os.environ[PASSES_VARIABLE] = DUMPED_PASSES
    # The variables are removed, since they take precedence over the context.
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
    """Returns a context manager that sets the directory for graphs that fail to compile.

    By default MindSpore writes such graphs to the working directory.
    """
    return override_variable(FAILURES_VARIABLE, str(directory))


def dump_front_end_graph(cell: Any, inputs: Iterable[Any], directory: Path) -> None:
    """Compiles a Cell with MindSpore's front end, without later stages; writes its graph to a file.

    Until this function returns, compilations in other threads wait. Calls of compiled nets do not
    wait.

    Args:
        cell: a Cell for this purpose only, since the function changes its attribute `phase`.
        inputs: arguments of the call.
        directory: an existing directory, in which MindSpore writes the file.
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
    """Returns the directory for MindSpore's graph dumps, or None if MindSpore dumps no graphs."""
    level = variable(SAVING_VARIABLES[0]) or context("save_graphs")
    if str(level or 0) in ("0", "False"):
        return None
    place = Path(variable(SAVING_VARIABLES[1]) or context("save_graphs_path") or ".")
    own = place / f"rank_{variable('RANK_ID') or 0}"
    return own if own.is_dir() else place


@contextlib.contextmanager
def silence_mindspore() -> Iterator[None]:
    """Returns a context manager that suppresses Python warnings and MindSpore's log below ERROR.

    Otherwise MindSpore would warn the user of settings that ms_fusion has set.
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
