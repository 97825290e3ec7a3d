"""Implements enable(), disable(), fusion(), patch(), check() and in_force(): scopes of a preset.

In MindSpore the environment variable takes precedence over a Cell's JitConfig, and that over the
context; the variable is read at each compilation. So all scopes use the variable. It has the flags
of process, block or patched Cell during a compilation, and the user's own value otherwise: child
processes do not inherit a generator that they lack. The narrower scope takes precedence: Cell,
block, process, the user's own variable. A compiled net is compiled again at its next call if other
flags are in force then (see `ms_fusion.mindspore.calls.graph_keys`).

One file of more than 500 lines: the scopes share one state, which no other module may change.
"""

from __future__ import annotations

import contextlib
import functools
import logging
import warnings
from collections.abc import Callable, Iterator, MutableMapping, Sequence
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING, Any, TypeVar
from weakref import WeakKeyDictionary

from ms_fusion.mindspore.calls import fast_call_path, graph_keys
from ms_fusion.mindspore.flags import own_generator_flags
from ms_fusion.mindspore.flags.generator_limits import generator_of
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
from ms_fusion.mindspore.flags.preset_table import check_preset, resolve
from ms_fusion.mindspore.presets import generator_choice, generator_proof, pynative, user_flags
from ms_fusion.mindspore.state import call_lock, mindspore_state
from ms_fusion.mindspore.state.cell_attributes import CELL_FLAGS
from ms_fusion.mindspore.state.mindspore_state import (
    FLAGS_VARIABLE,
    compile_lock,
    context,
    device_target,
    dump_front_end_graph,
    has_fixed_flags,
    is_graph_mode,
    known_kernel_directory,
    mindspore_module,
    silence_mindspore,
    users_flags,
    version,
)
from ms_fusion.mindspore.state.preset_record import (
    NO_LEVEL,
    NO_LEVEL_REMEDY,
    PYNATIVE_MESSAGE,
    PYNATIVE_REMEDY,
    FusionWarning,
    InForce,
    has_fusion,
)
from ms_fusion.target import check_tensors
from tbe_impl.environment import is_off, is_off_with_warning
from tbe_impl.errors import InputError, UnsafeError

if TYPE_CHECKING:
    from ms_fusion.graph import Graph
    from ms_fusion.mindspore.flags.lint import Finding

log = logging.getLogger("ms_fusion")
Net = TypeVar("Net")


@dataclass(frozen=True)
class Setting:
    """A preset, resolved to flags.

    Attributes:
        preset, flags: the preset's name, and MindSpore's flag string.
        asked: the generator that the user selected.
        compiled: of a Cell: `construct` was compiled for this setting, in PyNative mode.
    """

    preset: str
    flags: str
    asked: str | None = None
    compiled: bool = False


@dataclass
class _State:
    """The settings of this process, and the state before the first of them."""

    process: Setting | None = None
    blocks: list[Setting] = field(default_factory=list)
    users_flags: str | None = None
    """The user's variable before our first setting; one that the user sets later wins."""
    flags_in_scope: tuple[str, bool] = ("", False)
    """Flags of the innermost block, else of the process; and whether they come from a block."""
    jit_level: str | None = None
    lock: bool = False
    """Whether calls of compiled nets are serialised."""
    in_pynative: MutableMapping[Any, str] = field(default_factory=WeakKeyDictionary)
    """Cell patched in PyNative mode → flags; gradients use the flags of the last patched Cell."""

    @property
    def top(self) -> Setting | None:
        """The setting of the innermost block, else of the process."""
        return self.blocks[-1] if self.blocks else self.process


_state = _State()


def enable(
    preset: str = "auto",
    *,
    step: Callable[..., Any] | None = None,
    flags: GraphKernelFlags | str | None = None,
    generator: str | None = None,
    lock: bool = False,
) -> InForce:
    """Enables fusion for this process; returns the settings in force.

    A compiled net is compiled again at its next call.

    Args:
        preset: a name in `ms_fusion.mindspore.flags.preset_table.PRESETS`.
        step: a function or Cell that does one step. The record's `step` is the same, compiled and
            so fused, also in PyNative mode: ``train_step = mf.enable(step=train_step).step``.
        flags: explicit flags, merged into those of the preset: names are added to the lists and
            leave the opposite ones.
        generator: generator of the kernels: ``ms_fusion`` or ``mindspore``. By default ours on CPU,
            after a proof of some seconds, once per machine; if the proof fails, MindSpore's own,
            with a warning.
        lock: serialise calls of compiled nets by several threads. MindSpore is not thread-safe,
            fused or not: without a lock results are wrong, or the process ends.

    Raises:
        InputError: the preset or generator does not exist, or MindSpore does not know a flag.
        UnsafeError: flags that are known to kill the process.
        MissingError: MindSpore, or a package that its generator needs, is not installed.
    """
    if is_off_with_warning():
        return _off_record(preset, step)
    setting, found = _resolve_setting(preset, flags, generator)
    wrapped = pynative.compile_step(step) if step is not None else None
    if lock:
        call_lock.install(lambda: _state.lock)
    with compile_lock:
        _save_user_flags()
        _state.process = setting
        _state.lock = lock
        _apply_scope_change()
    now = in_force()
    remarks = [*(str(item) for item in found if item.severity != "note"), *now.warnings]
    if wrapped is not None:
        now = replace(now, remedy="", step=wrapped)
    _watch(now)
    now = replace(now, warnings=tuple(dict.fromkeys(remarks)))
    for text in now.warnings:
        warnings.warn(text, FusionWarning, stacklevel=2)
    return now


def disable() -> InForce:
    """Disables the process-wide preset; restores the user's variable from before `enable`."""
    if not is_off_with_warning():
        with compile_lock:
            _state.process = None
            _state.lock = False
            _apply_scope_change()
    return in_force()


@contextlib.contextmanager
def fusion(
    preset: str = "auto",
    *,
    flags: GraphKernelFlags | str | None = None,
    generator: str | None = None,
) -> Iterator[InForce]:
    """Compiles nets that are called in this block under `preset`; restores the state at its end.

    A net that was compiled before then has two graphs, and uses the first again outside of the
    block. A net that is first compiled in the block keeps that graph.

    Blocks nest; the innermost takes precedence. A block applies to the whole process, not to one
    thread. Without a generator of its own it uses that of the enclosing scope.

    Raises:
        as `enable`.
    """
    if is_off_with_warning():
        yield _off_record(preset, None)
        return
    setting, found = _resolve_setting(preset, flags, generator)
    with compile_lock:
        _save_user_flags()
        _state.blocks.append(setting)
        _apply_scope_change()
    try:
        now = in_force()
        for text in (*(str(item) for item in found if item.severity != "note"), *now.warnings):
            warnings.warn(text, FusionWarning, stacklevel=3)
        _watch(now)
        yield now
    finally:
        with compile_lock:
            _remove_block(setting)
            _apply_scope_change()


def patch(
    net: Net,
    preset: str = "auto",
    *,
    flags: GraphKernelFlags | str | None = None,
    generator: str | None = None,
) -> Net:
    """Compiles this Cell under `preset`, with precedence over block and process; returns it.

    This affects only a Cell that is compiled itself: inside another Cell, or in a ``@ms.jit``
    function, the outer one's flags apply. In PyNative mode the Cell's `construct` is compiled, as
    by ``@ms.jit``, and so is its gradient; the code around it stays as it is. A copy of the Cell
    keeps the preset. Previous compilations are dropped, so the next call compiles again.

    Raises:
        InputError: `net` is no Cell; else as `enable`.
    """
    if is_off_with_warning():
        return net
    setting, found = _resolve_setting(preset, flags, generator)
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
    unpatch(net)
    if mindspore.get_context("mode") == mindspore.PYNATIVE_MODE:
        setting = replace(setting, compiled="construct" not in vars(net))
        pynative.compile_step(net)
        _state.in_pynative[net] = setting.flags
    with compile_lock:
        vars(net)[CELL_FLAGS] = setting
    return net


def unpatch(net: Net) -> Net:
    """Reverts `patch`; the next call compiles again."""
    setting = vars(net).pop(CELL_FLAGS, None)
    if setting is not None and setting.compiled:
        vars(net).pop("construct", None)
    _state.in_pynative.pop(net, None)
    compile_anew(net)
    return net


def compile_anew(net: Any) -> None:
    """Drops all compilations of this Cell or function; the next call compiles."""
    with compile_lock:
        mindspore_state.forget(net, mindspore_state.graphs_of(net))
        graph_keys.forget(net)
    if getattr(net, "_phase_cache", None):  # phases of text generation
        net._phase_cache.clear()


def in_force(net: Any = None) -> InForce:
    """The settings of the next compilation in this process (of `net`, if given), as MindSpore reads
    them.
    """
    device = device_target()
    preset, text, scope, route, remarks = _read_back(net, device)
    fused, remedy = has_fusion(text), ""
    if not fused and scope == "none":
        remedy = "Call `ms_fusion.enable()`."
    elif not fused and "--opt_level=0" not in text.split():
        remarks.append(NO_LEVEL)
        remedy = NO_LEVEL_REMEDY
    graph_mode = is_graph_mode()
    if fused and not graph_mode and (net is None or not pynative.is_jitted(net)):
        remedy = PYNATIVE_REMEDY
        if net is not None:
            fused = False
            remarks.append(PYNATIVE_MESSAGE)
    builds = device == "CPU" and has_fusion(text)
    return InForce(
        preset=preset,
        flags=text,
        scope=scope,
        route=route,
        device=device,
        version=version(),
        mode="graph" if graph_mode else "pynative",
        fused=fused,
        warnings=tuple(remarks),
        remedy=remedy,
        generator=generator_of(text) if builds else "",
        kernel_directory=known_kernel_directory(),
    )


def _read_back(net: Any, device: str) -> tuple[str, str, str, str, list[str]]:
    """(preset, flags, scope, route, remarks) in MindSpore's order: variable, JitConfig, context;
    patched Cells first.
    """
    cell = vars(net).get(CELL_FLAGS) if hasattr(net, "__dict__") else None
    if cell is not None and not is_off():
        return cell.preset, cell.flags, "Cell", "environment", []
    value, top = users_flags(), _state.top
    if top is not None and not _is_overruled():
        scope = "block" if _state.blocks else "process"
        return top.preset, top.flags, scope, "environment", user_flags.find_context_errors(device)
    if value is not None:
        remarks = user_flags.find_flag_errors(value, device)
        if top is not None:
            remarks.append(
                f"{FLAGS_VARIABLE} was set to {value!r} after enable(), "
                f"and wins over preset {top.preset}. "
                "Delete the variable and call enable() again."
            )
        return "", value, "user", "environment", remarks
    return "", *user_flags.read_without_variable(net, device)


def check(net: Any, *inputs: Any) -> tuple[Finding, ...]:
    """What prevents the fusion of `net` on `inputs` under the flags in force, or makes it unsafe.

    Runs only MindSpore's front end on the net and checks the operators of its graph. Without flags
    in force it assumes the preset ``auto``.

    Args:
        net: a Cell, or a function that ``ms.jit`` can compile.
        inputs: arguments of the call.

    Raises:
        InputError: MindSpore cannot compile `net` on `inputs`.
    """
    from ms_fusion.mindspore.presets import net_checks

    check_tensors(inputs)
    now = in_force(net)
    text = now.flags if now.route != "none" else flags_of("auto")[0]
    graph = net_checks.front_end_graph(net, inputs, dump_front_end_graph)
    return findings_of_call(net, inputs) + findings_of_graph(graph, text, now.device)


def findings_of_call(net: Any, inputs: Sequence[Any]) -> tuple[Finding, ...]:
    """The findings of `check` that need no operators: mode, dynamic shapes, size."""
    from ms_fusion.mindspore.presets import net_checks

    return tuple(net_checks.check_call(net, inputs, graph_mode=is_graph_mode()))


def findings_of_graph(graph: Graph, text: str, device: str) -> tuple[Finding, ...]:
    """The findings of `check` about operators and dtypes under the flags `text`."""
    from ms_fusion.mindspore.presets import net_checks

    flags = None if lint_errors(text) else GraphKernelFlags.parse(text)
    return tuple(net_checks.check_graph(graph, flags, device))


def lint_errors(text: str) -> tuple[Finding, ...]:
    """Errors of a flag string."""
    from ms_fusion.mindspore.flags.lint import lint

    return tuple(item for item in lint(text) if item.severity == "error" and item.code != "fatal")


def _off_record(preset: str, step: Callable[..., Any] | None) -> InForce:
    now = in_force()
    return replace(
        now,
        preset=preset if now.preset else "",
        warnings=("MS_FUSION=off: nothing was enabled.",),
        remedy="Delete the variable MS_FUSION.",
        step=step,
    )


def _resolve_setting(
    preset: str, flags: GraphKernelFlags | str | None, generator: str | None
) -> tuple[Setting, tuple[Finding, ...]]:
    """The checked setting of a preset, after `prepare`; raises as `enable`."""
    check_preset(preset)  # before MindSpore is loaded
    explicit = flags if isinstance(flags, str) else GraphKernelFlags.coerce(flags).render()
    device = device_target()
    found: tuple[Finding, ...] = ()
    asked = generator or user_generator()
    prepare()
    chosen, remarks = generator_choice.choose(preset, device, wanted=asked, flags=explicit)
    if isinstance(flags, str):
        from ms_fusion.mindspore.flags.lint import lint

        base = resolve(preset, device=device, version=version(), generator=chosen).render()
        found = tuple(
            item
            for item in lint(flags, device=device, generator=chosen, base=base)
            if item.code not in ("off", "fatal")
        )
        wrong = [item for item in found if item.severity == "error"]
        if wrong:
            raise InputError(
                wrong[0].message.rstrip("."),
                place=f"flags, column {wrong[0].column}",
                remedy=wrong[0].remedy or None,
            )
    found += remarks
    if flags is not None:
        refuse(GraphKernelFlags.coerce(flags), device, chosen)
    wanted = resolve(preset, device=device, version=version(), flags=explicit, generator=chosen)
    if explicit:
        refuse(wanted, device, chosen)
    if (
        device == "CPU"
        and chosen != generator_choice.MS_FUSION
        and wanted.kernel_generator == generator_choice.GENERATOR
    ):
        wanted = replace(wanted, kernel_generator=None)
    if chosen == generator_choice.MS_FUSION:
        wanted = own_generator_flags.drop_excluded_operators(
            wanted, library=not generator_proof.why_no_library(version())
        )
    return Setting(preset, wanted.render(), asked), found


def user_generator() -> str | None:
    """The generator that the user selected for the scope in force; None for none."""
    around = _state.top
    return around.asked if around else None


def flags_of(
    preset: str,
    *,
    flags: GraphKernelFlags | str | None = None,
    generator: str | None = None,
) -> tuple[str, tuple[Finding, ...]]:
    """The flags of a preset with explicit ones merged in, and findings; puts nothing in force.

    Raises:
        as `enable`.
    """
    setting, found = _resolve_setting(preset, flags, generator)
    return setting.flags, found


def refuse(flags: GraphKernelFlags, device: str = "CPU", generator: str | None = None) -> None:
    """Raises UnsafeError for flags that kill the process on this device with this generator."""
    if device != "CPU":
        return
    from ms_fusion.mindspore.flags.lint import lint

    text = flags.render()
    fatal = [
        item for item in lint(text, device=device, generator=generator) if item.code == "fatal"
    ]
    if fatal:
        raise UnsafeError(
            fatal[0].message.rstrip("."),
            place=f"flags, column {fatal[0].column}",
            remedy=fatal[0].remedy,
        )


def _remove_block(setting: Setting) -> None:
    for index in range(len(_state.blocks) - 1, -1, -1):
        if _state.blocks[index] is setting:
            del _state.blocks[index]
            return


def _save_user_flags() -> None:
    if _state.top is None:
        _state.users_flags = users_flags()


def _is_overruled() -> bool:
    """Whether the user changed the variable after our setting came into force."""
    return users_flags() not in (None, _state.users_flags)


def _flags_in_force() -> str:
    """The flags of block or process, or the user's overriding ones; empty if none are ours."""
    top = _state.top
    if top is None:
        return ""
    return (users_flags() or "") if _is_overruled() else top.flags


def _apply_scope_change() -> None:
    """Updates the state after a change of process or block flags."""
    _state.flags_in_scope = (_state.top.flags if _state.top else "", bool(_state.blocks))
    _switch_device()


def _switch_device(own: Setting | None = None) -> None:
    """Sets ``jit_level=O1`` on Ascend, which fusion requires (from MindSpore's source).

    Args:
        own: setting of the patched Cell to be compiled; takes precedence over block and process.
    """
    if device_target() != "Ascend":
        return
    top = own or _state.top
    if top is not None and has_fusion(top.flags):
        if _state.jit_level is None:
            _state.jit_level = str((context("jit_config") or {}).get("jit_level", ""))
            _set_jit_level("O1")
    elif _state.jit_level is not None:
        _set_jit_level(_state.jit_level or "O0")
        _state.jit_level = None


def _watch(now: InForce) -> None:
    """Starts a warning for uncompiled nets in PyNative mode."""
    if now.fused and now.remedy:
        pynative.warn_of_uncompiled(lambda: has_fusion(_flags_in_force()))


def _set_jit_level(level: str) -> None:
    with silence_mindspore():
        mindspore_module().set_context(jit_config={"jit_level": level})


def prepare() -> None:
    """Wraps the compilation of Cells and ``@ms.jit`` functions with our lock and flags.

    The compile context (see `ms_fusion.mindspore.presets.compile_context`) applies from then on,
    also for flags from other sources. The fast call path (see
    `ms_fusion.mindspore.calls.fast_call_path`) is installed as well.

    Raises:
        as `mindspore_state.prepare`.
    """
    mindspore_state.prepare()
    for owner in mindspore_state.compilers():
        if not hasattr(owner.compile, "_ms_fusion_original"):
            owner.compile = _wrap_compile(owner.compile)
            keys = getattr(owner, "generate_arguments_key", None)
            if keys is not None:
                owner.generate_arguments_key = graph_keys.wrap_arguments_key(keys, _state)
    pynative.compile_gradients_under(_flags_of_gradients)
    fast_call_path.install(_state)


def _flags_of_gradients() -> str:
    """The flags for gradients in PyNative mode; empty to keep MindSpore's own."""
    if is_off() or has_fixed_flags():
        return ""
    return next(reversed(list(_state.in_pynative.values())), "") or _flags_in_force()


def _wrap_compile(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compile(self: Any, net: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        from ms_fusion.mindspore.presets import compile_context

        with compile_lock:
            own = vars(net).get(CELL_FLAGS) if hasattr(net, "__dict__") else None
            flags = own.flags if own else _flags_in_force()
            setting = own or (None if _is_overruled() else _state.top)
            _switch_device(own)
            try:
                return compile_context.compile_under_flags(
                    lambda: original(self, net, inputs, *args, **kwargs),
                    net,
                    tuple(inputs),
                    flags,
                    setting.preset if setting else "",
                )
            finally:
                _switch_device()

    compile._ms_fusion_original = original  # type: ignore[attr-defined]
    return compile
