"""Implements enable(), disable(), fusion(), patch(), check() and in_force().

These functions apply a preset, a named set of MindSpore's fusion flags, in a scope: the process, a
``with fusion():`` block or a Cell to which `patch` was applied. MindSpore reads flags from an
environment variable, from a Cell's JitConfig and from the context, in this order of precedence.
MindSpore reads the variable at each compilation. So all scopes set their flags through the
variable. During a compilation the variable contains the flags of the scope. At all other times the
variable contains the user's own value. So child processes do not inherit flags for a generator that
they lack.

The narrower scope takes precedence: first the patched Cell, then the innermost block, then the
process, then the user's own value of the variable. If other flags are in force at the next call of
a compiled net, the net is compiled again (see `ms_fusion.mindspore.calls.graph_keys`).

This module exceeds 500 lines because the scopes share one state, which no other module may change.
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
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags, effective_flags
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
from tbe_impl.environment import is_off, is_off_with_warning
from tbe_impl.errors import InputError, UnsafeError

if TYPE_CHECKING:
    from ms_fusion.graph import Graph
    from ms_fusion.mindspore.flags.lint import Finding

log = logging.getLogger("ms_fusion")
Net = TypeVar("Net")


@dataclass(frozen=True)
class Setting:
    """A preset and the flags that it sets on this device.

    Attributes:
        preset: name of the preset.
        flags: MindSpore's flag string.
        asked: the kernel generator that the user selected, or None if the user selected none.
        compiled: whether `patch` compiled the method `construct` of the Cell in PyNative mode.
            `compiled` is always False in a setting that `patch` did not create.
    """

    preset: str
    flags: str
    asked: str | None = None
    compiled: bool = False


@dataclass
class _State:
    """The presets in force in this process, and the user's settings that the presets replace."""

    process: Setting | None = None
    blocks: list[Setting] = field(default_factory=list)
    users_flags: str | None = None
    """Value of MindSpore's environment variable for flags before we first set the variable.

    A value that the user sets later takes precedence over our settings.
    """
    flags_in_scope: tuple[str, bool] = ("", False)
    """(flags of the innermost block, True), or (flags of the process, False) outside of blocks."""
    jit_level: str | None = None
    """The user's ``jit_level`` on Ascend if `_switch_device` has replaced this level, or None."""
    lock: bool = False
    """Whether calls of compiled nets are serialised."""
    in_pynative: MutableMapping[Any, str] = field(default_factory=WeakKeyDictionary)
    """Maps each Cell that was patched in PyNative mode to its flags.

    Gradients use the flags of the Cell that was patched last.
    """

    @property
    def top(self) -> Setting | None:
        """The setting of the innermost ``with fusion():`` block, or otherwise of the process.

        The value is None if neither a block nor the process has a setting.
        """
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
    """Enables fusion for this process and returns the settings in force.

    A compiled net is compiled again at its next call.

    Args:
        preset: a name in `ms_fusion.mindspore.flags.preset_table.PRESETS`.
        step: a function or Cell that does one training step. The attribute `step` of the returned
            record is the compiled function or Cell, which is fused even in PyNative mode:
            ``train_step = mf.enable(step=train_step).step``.
        flags: explicit flags, which are merged into the flags of the preset. For example, a name in
            ``enable_cluster_ops`` is added to the preset's ``enable_cluster_ops``, and removed from
            the preset's ``disable_cluster_ops``.
        generator: generator of the kernels, ``ms_fusion`` or ``mindspore``. The default on CPU is
            ``ms_fusion`` if the self-test of this generator succeeds. The self-test runs once per
            machine and takes some seconds. If it fails, the default is ``mindspore``, with a
            warning.
        lock: whether to serialise calls of compiled nets by several threads. MindSpore itself is
            not thread-safe, even without fusion. Without a lock, calls by several threads may give
            wrong results or end the process.

    Raises:
        InputError: the preset or generator does not exist, or MindSpore does not know a flag.
        UnsafeError: the flags are known to kill the process.
        MissingError: MindSpore is not installed, or a package that MindSpore's generator needs is
            not installed.
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
    """Disables the preset of the process, so that the user's own flags apply again.

    Returns the settings that are then in force.
    """
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
    """Returns a context manager that applies `preset`, and restores the previous preset at its end.

    A net that was compiled before the ``with`` block is compiled again in the block. The net then
    has two graphs. Outside of the block, calls of this net use the first graph again. A net that is
    first compiled in the block has one graph. Calls of this net outside of the block use this
    graph, too.

    Blocks may be nested; the innermost block takes precedence. A block applies to the whole
    process, not to one thread. If `generator` is None, a block uses the kernel generator that the
    user selected for the enclosing block or for the process.

    Raises:
        the errors of `enable`.
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
    """Makes MindSpore compile the Cell `net` with the flags of `preset` and returns `net`.

    The preset takes precedence over the presets of ``with fusion():`` blocks and of the process.

    The preset applies if MindSpore compiles `net` as the outermost Cell. If MindSpore compiles
    `net` as a part of another Cell or of a ``@ms.jit`` function, the flags of the outer Cell or
    function apply. In PyNative mode, the Cell's `construct` and the gradient of `construct` are
    compiled, as by ``@ms.jit``. The code that calls the Cell stays uncompiled. A copy of the Cell
    has the same preset. The function deletes earlier compilations of the Cell, so the next call of
    the Cell compiles it again.

    Raises:
        InputError: `net` is not a Cell.
        the other errors of `enable`.
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
    """Reverts `patch`: removes the preset from a Cell.

    The next call of the Cell compiles the Cell again.
    """
    setting = vars(net).pop(CELL_FLAGS, None)
    if setting is not None and setting.compiled:
        vars(net).pop("construct", None)
    _state.in_pynative.pop(net, None)
    compile_anew(net)
    return net


def compile_anew(net: Any) -> None:
    """Deletes all compiled graphs of a Cell or function; the next call compiles again."""
    with compile_lock:
        mindspore_state.forget(net, mindspore_state.graphs_of(net))
        graph_keys.forget(net)
    if getattr(net, "_phase_cache", None):  # phases of text generation
        net._phase_cache.clear()


def in_force(net: Any = None) -> InForce:
    """Returns the settings that MindSpore will use for the next compilation in this process.

    If `net` is given, the function returns the settings of the next compilation of `net`.
    """
    device = device_target()
    preset, text, scope, route, remarks = _read_back(net, device)
    fused, remedy = has_fusion(text), ""
    if not fused and scope == "none":
        remedy = "Call `ms_fusion.enable()`."
    elif not fused and not effective_flags(text).get("opt_level"):
        remarks.append(NO_LEVEL)
        remedy = NO_LEVEL_REMEDY
    graph_mode = is_graph_mode()
    if fused and not graph_mode and (net is None or not mindspore_state.is_jitted(net)):
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
    """Returns (preset, flags, scope, route, remarks) of the next compilation.

    The first four items are fields of `InForce`. The remarks are messages for the user. The flags
    of a patched Cell take precedence. For other nets, MindSpore's order of precedence applies:
    environment variable, JitConfig, context.
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
    """Returns findings about problems that prevent the fusion of `net` or make the fusion unsafe.

    MindSpore's front end compiles the net; later stages of the compiler do not run. Then the
    function checks the operators of the net's graph under the flags in force. If no flags are in
    force, it checks them under the preset ``auto``.

    Args:
        net: a Cell, or a function that ``ms.jit`` can compile.
        inputs: arguments of the call.

    Raises:
        InputError: MindSpore cannot compile `net` on `inputs`.
    """
    from ms_fusion.mindspore.presets import net_checks
    from ms_fusion.target import check_tensors

    check_tensors(inputs)
    now = in_force(net)
    text = now.flags if now.route != "none" else flags_of("auto")[0]
    graph = net_checks.front_end_graph(net, inputs, dump_front_end_graph)
    return findings_of_call(net, inputs) + findings_of_graph(graph, text, now.device)


def findings_of_call(net: Any, inputs: Sequence[Any]) -> tuple[Finding, ...]:
    """Returns the findings of `check` about mode, dynamic shapes and input sizes of a call."""
    from ms_fusion.mindspore.presets import net_checks

    return tuple(net_checks.check_call(net, inputs, graph_mode=is_graph_mode()))


def findings_of_graph(graph: Graph, text: str, device: str) -> tuple[Finding, ...]:
    """Returns the findings of `check` about operators and dtypes under the flag string `text`."""
    from ms_fusion.mindspore.presets import net_checks

    flags = None if lint_errors(text) else GraphKernelFlags.parse(text)
    return tuple(net_checks.check_graph(graph, flags, device))


def lint_errors(text: str) -> tuple[Finding, ...]:
    """Returns the lint errors of a flag string, except errors with the code ``fatal``."""
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
    """Calls `prepare`; returns (`Setting` of a preset, findings for the user).

    Raises:
        the errors of `enable`.
    """
    check_preset(preset)  # A wrong name raises before MindSpore is imported.
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
    """Returns the kernel generator that the user selected, or None if the user selected none.

    The generator selected for the innermost ``with fusion():`` block takes precedence over the
    generator selected for the process.
    """
    around = _state.top
    return around.asked if around else None


def flags_of(
    preset: str,
    *,
    flags: GraphKernelFlags | str | None = None,
    generator: str | None = None,
) -> tuple[str, tuple[Finding, ...]]:
    """Returns (flags of a preset merged with `flags`, findings for the user).

    Raises:
        the errors of `enable`.
    """
    setting, found = _resolve_setting(preset, flags, generator)
    return setting.flags, found


def refuse(flags: GraphKernelFlags, device: str = "CPU", generator: str | None = None) -> None:
    """Raises `UnsafeError` for flags that kill the process on this device with this generator."""
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
    """Returns whether the user changed MindSpore's environment variable after a preset was set."""
    return users_flags() not in (None, _state.users_flags)


def _flags_in_force() -> str:
    """Returns the flags of the innermost ``with fusion():`` block, or else of the process.

    The result is empty if no preset is in force. The result is the value of MindSpore's environment
    variable for flags if the user changed this variable after `enable`.
    """
    top = _state.top
    if top is None:
        return ""
    return (users_flags() or "") if _is_overruled() else top.flags


def _apply_scope_change() -> None:
    """Updates `flags_in_scope` and MindSpore's ``jit_level`` after a change of the preset."""
    _state.flags_in_scope = (_state.top.flags if _state.top else "", bool(_state.blocks))
    _switch_device()


def _switch_device(own: Setting | None = None) -> None:
    """On Ascend, sets ``jit_level`` to O1 if fusion is enabled, else restores the user's level.

    The flags in force determine whether fusion is enabled. According to MindSpore's source code,
    fusion on Ascend requires level O1.

    Args:
        own: setting of the patched Cell that is to be compiled. This setting takes precedence over
            the settings of ``with fusion():`` blocks and of the process.
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
    """Calls `pynative.warn_of_uncompiled` if PyNative mode prevents the fusion that is enabled."""
    if now.fused and now.remedy:
        pynative.warn_of_uncompiled(lambda: has_fusion(_flags_in_force()))


def _set_jit_level(level: str) -> None:
    with silence_mindspore():
        mindspore_module().set_context(jit_config={"jit_level": level})


def prepare() -> None:
    """Makes MindSpore compile Cells and ``@ms.jit`` functions under our lock and with our flags.

    After this call, `ms_fusion.mindspore.presets.compile_context` wraps each compilation, even a
    compilation under flags that the user has set. The function also installs the fast call path
    (`ms_fusion.mindspore.calls.fast_call_path`).

    Raises:
        the errors of `mindspore_state.prepare`.
    """
    mindspore_state.prepare()
    for owner in mindspore_state.compilers():
        if not hasattr(owner.compile, "_ms_fusion_original"):
            owner.compile = _wrap_compile(owner.compile)
            keys = getattr(owner, "generate_arguments_key", None)
            if keys is not None:
                owner.generate_arguments_key = graph_keys.wrap_arguments_key(keys, _state)
    pynative.compile_gradients_under(_flags_of_gradients)
    pynative.end_failed_recordings()
    fast_call_path.install(_state)


def _flags_of_gradients() -> str:
    """Returns the flags for gradients in PyNative mode.

    The result is the flags of the Cell to which `patch` was last applied in PyNative mode. Without
    such a Cell, the result is that of `_flags_in_force`. If the user's own flags apply, the result
    is an empty string.
    """
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
