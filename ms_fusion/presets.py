"""enable(), disable(), fusion(), patch(), in_force(): the only file that touches MindSpore's context and its variables.

MindSpore lets the environment variable win over a Cell's JitConfig and that over the context, and reads the variable
again at each compilation. So everything here goes through the variable: the process and a block set it, a patched Cell
sets it while it is compiled. The narrower scope wins: Cell, block, process, the user's own variable. An already compiled
Cell is never compiled again by MindSpore because flags changed.
"""

from __future__ import annotations

import atexit
import contextlib
import ctypes
import importlib.util
import logging
import os
import threading
import warnings
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any, TypeVar

from ms_fusion import net_checks, private_directory
from ms_fusion.flag_lint import Finding, lint
from ms_fusion.flags import GraphKernelFlags
from ms_fusion.preset_table import PRESETS, resolve
from tbe_impl.environment import is_off
from tbe_impl.errors import InputError, MissingError, UnsafeError

FLAGS_VARIABLE = "MS_DEV_GRAPH_KERNEL_FLAGS"
KERNELS_VARIABLE = "MS_COMPILER_CACHE_PATH"
PASSES_VARIABLE = "MS_DEV_DUMP_IR_PASSES"
CELL_FLAGS = "_ms_fusion_flags"
CELL_CHECKED = "_ms_fusion_checked"

compile_lock = threading.RLock()
"""Held around every compilation: MindSpore's graph mode is not thread-safe."""

log = logging.getLogger("ms_fusion")
Net = TypeVar("Net")


class FusionWarning(UserWarning):
    """A preset that does nothing, or not what it says, as things stand."""


@dataclass(frozen=True)
class InForce:
    """What is in force, read back.

    Attributes:
        preset: name of the preset, empty for flags of the user's own.
        flags: the flag string that the next compilation in this process will use, as MindSpore will read it.
        scope: ``process``, ``block``, ``Cell``, ``user`` (the user's own setting) or ``none``.
        route: ``environment``, ``JitConfig``, ``context`` or ``none``: what MindSpore takes the flags from.
        device, version: of MindSpore.
        mode: ``graph`` or ``pynative``.
        fused: whether what runs next is fused: in PyNative mode only a wrapped step (or a ``@ms.jit`` function) is.
        warnings: what does not do what one might expect.
        remedy: the next thing to do when `fused` is False, else empty.
        kernel_directory: where MindSpore keeps the kernels that it builds.
        step: the wrapped step function, or the function as it was when nothing was to be done.
    """

    preset: str
    flags: str
    scope: str
    route: str
    device: str
    version: str
    mode: str
    fused: bool
    warnings: tuple[str, ...] = ()
    remedy: str = ""
    kernel_directory: str = ""
    step: Callable[..., Any] | None = field(default=None, compare=False)

    def __str__(self) -> str:
        state = "fusion on" if self.fused else "fusion off"
        name = f"preset {self.preset}" if self.preset else "no preset"
        lines = [
            f"{state}: {name}, {self.device}, MindSpore {self.version}, {self.mode} mode, scope {self.scope}, by {self.route}",
            f"flags: {self.flags or '(none)'}",
        ]
        lines += [f"warning: {text}" for text in self.warnings]
        if self.remedy:
            lines.append(f"to do: {self.remedy}")
        return "\n".join(lines)


@dataclass(frozen=True)
class _Setting:
    preset: str
    flags: str


@dataclass
class _State:
    """What this process set, and what was there before."""

    process: _Setting | None = None
    blocks: list[_Setting] = field(default_factory=list)
    user_value: str | None = None
    holding: bool = False
    prepared: bool = False
    jit_level: str | None = None
    said_off: bool = False
    passes: str | None = None


_state = _State()


def enable(
    preset: str = "auto",
    *,
    step: Callable[..., Any] | None = None,
    flags: GraphKernelFlags | str | None = None,
    generator: str | None = None,
) -> InForce:
    """Turn fusion on for this process, and say what is in force.

    Args:
        preset: a name in `ms_fusion.preset_table.PRESETS`.
        step: a function or Cell that does one step; the record's `step` is the same, compiled and so fused, also in
            PyNative mode: ``train_step = mf.enable(step=train_step).step``.
        flags: explicit flags, put over those of the preset.
        generator: ``AKG`` or ``AKG_V2``: who builds the kernels.

    Raises:
        InputError: no such preset, or flags that MindSpore does not know.
        UnsafeError: flags that are known to kill the process.
        MissingError: MindSpore, or what its generator needs, is not installed.
    """
    if _off():
        return _nothing(preset, step)
    setting, found = _setting(preset, flags, generator)
    prepare()
    with compile_lock:
        _state.process = setting
        _apply()
        _device_switch(on=not _is_zero(setting.flags))
    wrapped = _compiled(step) if step is not None else None
    now = in_force()
    remarks = [*(str(item) for item in found if item.severity != "note"), *now.warnings]
    if wrapped is not None:
        # what a wrapped step is for is no warning any more
        remarks = [text for text in remarks if not text.startswith("PyNative mode")]
        now = replace(now, fused=not _is_zero(now.flags), remedy="", step=wrapped)
    now = replace(now, warnings=tuple(dict.fromkeys(remarks)))
    for text in now.warnings:
        warnings.warn(text, FusionWarning, stacklevel=2)
    return now


def disable() -> InForce:
    """Turn the process-wide preset off; the user's own variable is as it was before `enable`."""
    if not _off():
        with compile_lock:
            _state.process = None
            _apply()
            _device_switch(on=False)
    return in_force()


@contextlib.contextmanager
def fusion(
    preset: str = "auto",
    *,
    flags: GraphKernelFlags | str | None = None,
    generator: str | None = None,
) -> Iterator[InForce]:
    """What is compiled inside this block is compiled under `preset`; everything is restored at its end.

    Blocks nest; the innermost wins. A block holds for the whole process, not for one thread.

    Raises:
        as `enable`.
    """
    if _off():
        yield _nothing(preset, None)
        return
    setting, found = _setting(preset, flags, generator)
    prepare()
    with compile_lock:
        _state.blocks.append(setting)
        _apply()
    try:
        now = in_force()
        for text in (*(str(item) for item in found if item.severity != "note"), *now.warnings):
            warnings.warn(text, FusionWarning, stacklevel=3)
        yield now
    finally:
        with compile_lock:
            _forget(setting)
            _apply()


def patch(
    net: Net,
    preset: str = "auto",
    *,
    flags: GraphKernelFlags | str | None = None,
    generator: str | None = None,
) -> Net:
    """Compile this Cell under `preset`, whatever block or process say; returns the same Cell.

    The Cell's operators and dtypes are checked before its first compilation. Only a Cell that is compiled itself (called
    in graph mode) is concerned: inside another Cell, or in a ``@ms.jit`` function, the outer one's flags hold. A copy of
    the Cell keeps the preset. What was compiled before is dropped, so that the next call compiles anew.

    Raises:
        InputError: `net` is no Cell; else as `enable`. The first call raises UnsafeError for a net that MindSpore's
            generator is known to die on.
    """
    if _off():
        return net
    setting, found = _setting(preset, flags, generator)
    prepare()
    import mindspore

    if not isinstance(net, mindspore.nn.Cell):
        raise InputError(
            "only a Cell can be patched",
            expected="mindspore.nn.Cell",
            got=type(net).__name__,
            remedy="For a function: `train_step = mf.enable(step=train_step).step`.",
        )
    for item in found:
        if item.severity != "note":
            warnings.warn(str(item), FusionWarning, stacklevel=2)
    if mindspore.get_context("mode") == mindspore.PYNATIVE_MODE:
        warnings.warn(_pynative_text(), FusionWarning, stacklevel=2)
    with compile_lock:
        vars(net)[CELL_FLAGS] = (setting.preset, setting.flags)
        vars(net)[CELL_CHECKED] = False
        if getattr(net, "compile_cache", None):
            net.compile_cache.clear()
            net._compiled = False
    return net


def unpatch(net: Net) -> Net:
    """Take back `patch`; the next call compiles anew."""
    vars(net).pop(CELL_FLAGS, None)
    vars(net).pop(CELL_CHECKED, None)
    if getattr(net, "compile_cache", None):
        net.compile_cache.clear()  # type: ignore[attr-defined]
    return net


def in_force(net: Any = None) -> InForce:
    """What the next compilation in this process (of `net`, when given) will use, as MindSpore reads it."""
    mindspore = _mindspore()
    device = device_target()
    cell = vars(net).get(CELL_FLAGS) if net is not None and hasattr(net, "__dict__") else None
    mode = "graph" if mindspore.get_context("mode") == mindspore.GRAPH_MODE else "pynative"
    remarks: list[str] = []
    value = variable(FLAGS_VARIABLE)
    preset = ""
    if cell is not None:
        (preset, text), scope, route = cell, "Cell", "environment"
    elif value is not None:
        text, route = value, "environment"
        top = _top()
        if top is not None and top.flags == value:
            preset, scope = top.preset, "block" if _state.blocks else "process"
        else:
            scope = "user"
            if top is not None:
                remarks.append(
                    f"{FLAGS_VARIABLE} was set to {value!r} after enable(): that wins. Delete it, then call enable() again."
                )
    else:
        text, scope, route = _without_variable(net, device, remarks)
    fused = not _is_zero(text)
    remedy = ""
    if not fused and scope != "none" and not _is_level_zero(text):
        remarks.append("the flags hold no `--opt_level`, so MindSpore fuses nothing.")
        remedy = "Add `--opt_level=2`."
    if scope == "user":
        remarks += [str(item) for item in lint(text, device=device) if item.severity == "error"]
    if fused and mode == "pynative":
        fused = False
        remarks.append(_pynative_text())
        remedy = _pynative_remedy()
    if not fused and not remedy and scope == "none":
        remedy = "Call `ms_fusion.enable()`."
    return InForce(
        preset=preset,
        flags=text,
        scope=scope,
        route=route,
        device=device,
        version=version(),
        mode=mode,
        fused=fused,
        warnings=tuple(remarks),
        remedy=remedy,
        kernel_directory=variable(KERNELS_VARIABLE) or "",
    )


def check(net: Any, *inputs: Any) -> tuple[Finding, ...]:
    """What stands in the way of fusing `net` on `inputs`, or makes it unsafe, under the flags in force.

    The net is not run and not compiled for good: MindSpore's front end reads it, and the operators it finds there are
    looked up. When nothing is in force yet, the preset ``auto`` is assumed.

    Args:
        net: a Cell, or a function that ``ms.jit`` can compile.
        inputs: what it is called with.

    Raises:
        InputError: MindSpore cannot compile `net` on `inputs`.
    """
    now = in_force(net)
    text = (
        now.flags
        if now.route != "none"
        else resolve("auto", device=now.device, version=now.version).render()
    )
    found = list(net_checks.of_call(net, inputs, graph_mode=now.mode == "graph"))
    graph = net_checks.front_end_graph(net, inputs, _front_end_only)
    found += net_checks.of_graph(
        graph, GraphKernelFlags.parse(text) if not lint_errors(text) else None, now.device
    )
    return tuple(found)


def lint_errors(text: str) -> tuple[Finding, ...]:
    """Errors of a flag string."""
    return tuple(item for item in lint(text) if item.severity == "error" and item.code != "fatal")


# --- for the other modules of the package ------------------------------------------------------------------------------


def device_target() -> str:
    """``CPU``, ``GPU`` or ``Ascend``."""
    return str(_mindspore().get_context("device_target"))


def version() -> str:
    """MindSpore's version."""
    return str(_mindspore().__version__)


def set_mode(mode: int) -> None:
    """Set MindSpore's mode (``mindspore.GRAPH_MODE`` or ``PYNATIVE_MODE``) without its warnings."""
    mindspore = _mindspore()
    if mindspore.get_context("mode") != mode:
        mindspore.set_context(mode=mode)


def kernel_directory() -> Path:
    """Where MindSpore keeps the fused kernels of this process; made and announced to MindSpore when it was not.

    The user's own `MS_COMPILER_CACHE_PATH` is used when it is set; else a private directory that goes at exit. MindSpore
    reads it at the first fused compilation only.
    """
    chosen = variable(KERNELS_VARIABLE)
    if chosen:
        place = Path(chosen)
        if not place.is_dir() or not os.access(place, os.W_OK | os.X_OK):
            raise InputError(
                "the directory for MindSpore's kernels cannot be used",
                place=KERNELS_VARIABLE,
                expected="an existing directory that can be written",
                got=chosen,
                remedy=f"Make it, or delete the variable {KERNELS_VARIABLE}.",
            )
        return place.resolve()
    place = private_directory.make("mindspore")
    os.environ[KERNELS_VARIABLE] = str(place)
    return place


def prepare() -> None:
    """What has to be so before the first fused compilation: private kernel directory, guarded compile server, our hook."""
    if _state.prepared:
        kernel_directory()
        return
    mindspore = _mindspore()
    if importlib.util.find_spec("decorator") is None:
        raise MissingError(
            "MindSpore's kernel generator needs the package `decorator`, and dies without it",
            remedy="Run: pip install decorator",
        )
    kernel_directory()
    from mindspore._c_expression import GraphExecutor_

    scripts = Path(__file__).resolve().parent / "compile_server"
    GraphExecutor_.get_instance().set_kernel_build_server_dir(f"{scripts}{os.sep}")
    _hook(mindspore.nn.Cell)
    _state.prepared = True


@contextlib.contextmanager
def environment_flags(text: str) -> Iterator[None]:
    """Exactly this flag string for everything compiled inside, above every scope; restored at the end."""
    prepare()
    with compile_lock:
        saved, fixed = os.environ.get(FLAGS_VARIABLE), _fixed.depth
        _fixed.depth = fixed + 1
        os.environ[FLAGS_VARIABLE] = text
    try:
        yield
    finally:
        with compile_lock:
            _fixed.depth = fixed
            _set_variable(FLAGS_VARIABLE, saved)


DUMPED_PASSES = (
    "graph_build,graph_kernel_expander,graph_kernel_cluster,graph_kernel_splitter,graph_kernel_cse,"
    "spread_update_state,validate"
)
"""The states that dumps are made of; MindSpore reads this list once in a process, so there is one list for all uses."""


@contextlib.contextmanager
def save_graphs(directory: Path, level: int = 2, passes: str = DUMPED_PASSES) -> Iterator[None]:
    """MindSpore writes its graphs to `directory` while inside; the user's own settings are restored.

    Args:
        directory: existing directory.
        level: 1 to 3, as for `save_graphs`.
        passes: names of the passes whose graphs are written. MindSpore latches the first list of the process.
    """
    mindspore = _mindspore()
    if _state.passes is None and variable(PASSES_VARIABLE) is None:
        names = dict.fromkeys([*passes.split(","), *DUMPED_PASSES.split(",")])
        _state.passes = ",".join(names)
        os.environ[PASSES_VARIABLE] = _state.passes
    saved_level = mindspore.get_context("save_graphs")
    saved_place = mindspore.get_context("save_graphs_path")
    with _quiet(mindspore):
        mindspore.set_context(save_graphs=level, save_graphs_path=str(directory))
    try:
        yield
    finally:
        with _quiet(mindspore):
            mindspore.set_context(save_graphs=saved_level, save_graphs_path=saved_place or ".")


def variable(name: str) -> str | None:
    """An environment variable as C code in this process sees it, which is what MindSpore reads."""
    getenv = ctypes.CDLL(None).getenv
    getenv.restype, getenv.argtypes = ctypes.c_char_p, [ctypes.c_char_p]
    found = getenv(name.encode())
    return None if found is None else found.decode(errors="replace")


# --- inside ------------------------------------------------------------------------------------------------------------


class _Fixed(threading.local):
    depth = 0


_fixed = _Fixed()
"""Inside `environment_flags` a patched Cell does not bring its own flags."""


def _mindspore() -> Any:
    try:
        import mindspore
    except ImportError as error:
        raise MissingError(
            f"MindSpore cannot be imported ({error})", remedy="Run: pip install mindspore==2.10.0"
        ) from error
    return mindspore


def _off() -> bool:
    if not is_off():
        return False
    if not _state.said_off:
        _state.said_off = True
        log.warning("MS_FUSION=off: ms_fusion changes nothing in this process")
    return True


def _nothing(preset: str, step: Callable[..., Any] | None) -> InForce:
    now = in_force()
    return replace(
        now,
        preset=preset if now.preset else "",
        warnings=("MS_FUSION=off: nothing was enabled.",),
        remedy="Delete the variable MS_FUSION.",
        step=step,
    )


def _setting(
    preset: str, flags: GraphKernelFlags | str | None, generator: str | None
) -> tuple[_Setting, tuple[Finding, ...]]:
    """Flags of a preset, checked; raises what `enable` raises."""
    if preset not in PRESETS:
        resolve(preset)
    device = device_target()
    found: tuple[Finding, ...] = ()
    if isinstance(flags, str):
        found = tuple(
            item for item in lint(flags, device=device) if item.code not in ("off", "fatal")
        )
        wrong = [item for item in found if item.severity == "error"]
        if wrong:
            raise InputError(
                wrong[0].message.rstrip("."),
                place=f"flags, column {wrong[0].column}",
                remedy=wrong[0].remedy or None,
            )
    if generator is not None:
        explicit = (
            GraphKernelFlags.parse(flags) if isinstance(flags, str) else flags or GraphKernelFlags()
        )
        flags = explicit.merge(GraphKernelFlags(kernel_generator=generator))
    resolved = resolve(preset, device=device, version=version(), flags=flags)
    refuse(resolved, device)
    return _Setting(preset, resolved.render()), found


def refuse(flags: GraphKernelFlags, device: str = "CPU") -> None:
    """Raises UnsafeError for flags that are known to kill the process on this device."""
    if device != "CPU":
        return
    text = flags.render()
    fatal = [item for item in lint(text, device=device) if item.code == "fatal"]
    if fatal:
        raise UnsafeError(
            fatal[0].message.rstrip("."),
            place=f"flags, column {fatal[0].column}",
            remedy=fatal[0].remedy,
        )
    if flags.kernel_generator == "AKG_V2" and importlib.util.find_spec("akg_v2") is None:
        raise UnsafeError(
            "`--kernel_generator=AKG_V2` kills the process: MindSpore ships no module `akg_v2`",
            place="flags",
            remedy="Leave it out.",
        )


def _top() -> _Setting | None:
    return _state.blocks[-1] if _state.blocks else _state.process


def _forget(setting: _Setting) -> None:
    for index in range(len(_state.blocks) - 1, -1, -1):
        if _state.blocks[index] is setting:
            del _state.blocks[index]
            return


def _apply() -> None:
    """The variable holds the narrowest setting of ours, or the user's own value when there is none."""
    top = _top()
    if top is not None:
        if not _state.holding:
            _state.user_value, _state.holding = os.environ.get(FLAGS_VARIABLE), True
        os.environ[FLAGS_VARIABLE] = top.flags
    elif _state.holding:
        _set_variable(FLAGS_VARIABLE, _state.user_value)
        _state.holding = False


def _set_variable(name: str, value: str | None) -> None:
    if value is None:
        os.environ.pop(name, None)
    else:
        os.environ[name] = value


def _device_switch(*, on: bool) -> None:
    """On Ascend fusion needs ``jit_level=O1`` besides the flags (read in MindSpore's source; on CPU it does nothing)."""
    if device_target() != "Ascend":
        return
    mindspore = _mindspore()
    if on and _state.jit_level is None:
        _state.jit_level = str((mindspore.get_context("jit_config") or {}).get("jit_level", ""))
        with _quiet(mindspore):
            mindspore.set_context(jit_config={"jit_level": "O1"})
    elif not on and _state.jit_level is not None:
        with _quiet(mindspore):
            mindspore.set_context(jit_config={"jit_level": _state.jit_level or "O0"})
        _state.jit_level = None


def _without_variable(net: Any, device: str, remarks: list[str]) -> tuple[str, str, str]:
    """(flags, scope, route) when the variable is not set: the Cell's JitConfig, then the context."""
    mindspore = _mindspore()
    config = getattr(net, "_jit_config_dict", None) or {}
    text = str(config.get("graph_kernel_flags") or "")
    if text:
        return text, "user", "JitConfig"
    levels = [
        config.get("jit_level"),
        _context("jit_level"),
        (_context("jit_config") or {}).get("jit_level"),
    ]
    if device == "CPU" and "O1" in levels:
        remarks.append(
            'jit_level="O1" switches no fusion on on CPU, and MindSpore does not say so. Call ms_fusion.enable() instead.'
        )
    if bool(_context("enable_graph_kernel")):
        text = str(mindspore.get_context("graph_kernel_flags") or "")
        # switched on in the context, level 2 is MindSpore's own default
        return text if "--opt_level" in text else f"--opt_level=2 {text}".strip(), "user", "context"
    if device != "CPU" and "O1" in levels:
        return "--opt_level=2", "user", "context"
    return "", "none", "none"


def _context(name: str) -> Any:
    with contextlib.suppress(ValueError, KeyError):
        return _mindspore().get_context(name)
    return None


def _is_zero(text: str) -> bool:
    """Whether MindSpore fuses nothing under this flag string (a level out of range counts as 3)."""
    levels = [word.partition("=")[2] for word in text.split() if word.startswith("--opt_level=")]
    return (not levels and "--path=" not in text) or (bool(levels) and levels[0] == "0")


def _is_level_zero(text: str) -> bool:
    return "--opt_level=0" in text.split()


def _pynative_text() -> str:
    return f"PyNative mode, in which MindSpore fuses nothing. {_pynative_remedy()}"


def _pynative_remedy() -> str:
    return (
        "Write `@ms.jit` on the step function, or `step = mf.enable(step=step).step`, "
        "or `ms.set_context(mode=ms.GRAPH_MODE)` at the start."
    )


def _compiled(step: Callable[..., Any]) -> Callable[..., Any]:
    """`step` as MindSpore compiles it; a function that is compiled already stays as it is."""
    mindspore = _mindspore()
    if isinstance(step, mindspore.nn.Cell):
        if mindspore.get_context("mode") == mindspore.PYNATIVE_MODE:
            step.construct = mindspore.jit(step.construct)
        return step
    if not callable(step):
        raise InputError(
            "a step is a function or a Cell", expected="something callable", got=type(step).__name__
        )
    if (
        hasattr(step, "__wrapped__")
        and "staging_specialize" in getattr(step, "__code__", _compiled.__code__).co_name
    ):
        return step
    return mindspore.jit(step)


def _hook(cell_class: Any) -> None:
    """Every Cell is compiled under our lock, a patched one under its own flags and after it was checked."""
    original = cell_class.compile
    if hasattr(original, "_ms_fusion_original"):
        return

    def compile(self: Any, *args: Any, **kwargs: Any) -> Any:
        with compile_lock, _cell_flags(self, args):
            return original(self, *args, **kwargs)

    compile.__doc__ = original.__doc__
    compile._ms_fusion_original = original  # type: ignore[attr-defined]
    cell_class.compile = compile


@contextlib.contextmanager
def _cell_flags(cell: Any, inputs: tuple[Any, ...]) -> Iterator[None]:
    own = vars(cell).get(CELL_FLAGS)
    if own is None or _fixed.depth or is_off():
        if (
            not _is_zero(variable(FLAGS_VARIABLE) or "")
            and _state.holding
            and device_target() == "CPU"
        ):
            _refuse_bfloat16(cell, inputs)
        yield
        return
    _preset, text = own
    if not vars(cell).get(CELL_CHECKED):
        vars(cell)[CELL_CHECKED] = True
        _check_first(cell, inputs, text)
    saved = os.environ.get(FLAGS_VARIABLE)
    os.environ[FLAGS_VARIABLE] = text
    try:
        yield
    finally:
        _set_variable(FLAGS_VARIABLE, saved)


def _check_first(cell: Any, inputs: tuple[Any, ...], text: str) -> None:
    """Refuse what would kill the process, warn of what would be wrong; said once for each Cell."""
    graph = net_checks.front_end_graph(cell, inputs, _front_end_only)
    for item in net_checks.of_graph(graph, GraphKernelFlags.parse(text), device_target()):
        if item.code == "fatal":
            raise UnsafeError(
                item.message.rstrip("."), place=item.place or None, remedy=item.remedy or None
            )
        if item.severity != "note":
            warnings.warn(str(item), FusionWarning, stacklevel=6)


def _refuse_bfloat16(cell: Any, inputs: tuple[Any, ...]) -> None:
    tensors = [*inputs, *cell.get_parameters()]
    if any(str(getattr(item, "dtype", "")).lower() == "bfloat16" for item in tensors):
        raise UnsafeError(
            "MindSpore's own CPU generator cannot build bfloat16 kernels, and sums of them end in an exception",
            place=type(cell).__name__,
            remedy="Call `mf.disable()`, or use float32 or float16 on CPU.",
        )


@contextlib.contextmanager
def _front_end_only(directory: Path) -> Iterator[None]:
    """Compilation stops behind the front end, and nothing runs; its last graph is written to `directory`."""
    saved = os.environ.get("MS_DEV_PRECOMPILE_ONLY")
    with compile_lock, environment_flags("--opt_level=0"), save_graphs(directory, level=1):
        os.environ["MS_DEV_PRECOMPILE_ONLY"] = "1"
        try:
            yield
        finally:
            _set_variable("MS_DEV_PRECOMPILE_ONLY", saved)


@contextlib.contextmanager
def _quiet(mindspore: Any) -> Iterator[None]:
    """MindSpore warns in its log that these settings will be removed; the user did not write them."""
    logger = logging.getLogger("MindSpore")
    level = logger.level
    logger.setLevel(logging.ERROR)
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            yield
    finally:
        logger.setLevel(level)


@atexit.register
def _at_exit() -> None:
    private_directory.remove_all()
