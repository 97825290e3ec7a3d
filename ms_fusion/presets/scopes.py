"""enable(), disable(), fusion(), patch(), check(), in_force(): a preset takes effect, and says so.

MindSpore lets the environment variable win over a Cell's JitConfig and that over the context, and reads the variable
again at each compilation. So everything here goes through the variable, which holds the flags of process, block or patched Cell
while something is compiled, and the user's own value else: a child process inherits no generator that it has not. The narrower
scope wins: Cell, block, process, the user's own variable. A net that was compiled before is compiled
once more at its next call, when other flags hold then (see `ms_fusion.presets.graph_keys`).

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

from ms_fusion.flags import GraphKernelFlags
from ms_fusion.generator_limits import generator_of
from ms_fusion.presets import (
    call_lock,
    fast_call_path,
    generator_proof,
    generators,
    graph_keys,
    mindspore_state,
    own_generator_flags,
    pynative,
    user_flags,
)
from ms_fusion.presets.cell_attributes import CELL_FLAGS
from ms_fusion.presets.mindspore_state import (
    FLAGS_VARIABLE,
    compile_lock,
    context,
    device_target,
    flags_are_fixed,
    is_graph_mode,
    mindspore_module,
    quiet,
    read_by_front_end,
    users_flags,
    version,
    where_kernels_are,
)
from ms_fusion.presets.preset_record import (
    NO_LEVEL,
    NO_LEVEL_REMEDY,
    PYNATIVE,
    PYNATIVE_REMEDY,
    FusionWarning,
    InForce,
    fuses,
)
from ms_fusion.presets.table import check_preset, resolve
from ms_fusion.target import check_tensors
from tbe_impl.environment import is_off, is_off_and_said
from tbe_impl.errors import InputError, UnsafeError

if TYPE_CHECKING:
    from ms_fusion.flag_lint import Finding
    from ms_fusion.graph import Graph

log = logging.getLogger("ms_fusion")
Net = TypeVar("Net")


@dataclass(frozen=True)
class Setting:
    """A preset as flags.

    Attributes:
        preset, flags: its name, and what MindSpore is told.
        asked: the generator that the user named.
        compiled: for a Cell's: its `construct` was compiled for it, in PyNative mode.
    """

    preset: str
    flags: str
    asked: str | None = None
    compiled: bool = False


@dataclass
class _State:
    """What this process set, and what was there before."""

    process: Setting | None = None
    blocks: list[Setting] = field(default_factory=list)
    users_flags: str | None = None
    """The user's own variable when the first setting came; what is put there later wins."""
    held: tuple[str, bool] = ("", False)
    """The flags of the innermost block or of the process, empty for none, and whether of a block."""
    jit_level: str | None = None
    lock: bool = False
    """Whether calls of compiled nets wait for each other."""
    in_pynative: MutableMapping[Any, str] = field(default_factory=WeakKeyDictionary)
    """Flags of the Cells that were patched in PyNative mode; gradients are compiled under the last ones."""

    @property
    def top(self) -> Setting | None:
        """Of the innermost block, else of the process."""
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
    """Turn fusion on for this process, and say what is in force.

    A net that was compiled before is compiled once more at its next call.

    Args:
        preset: a name in `ms_fusion.presets.table.PRESETS`.
        step: a function or Cell that does one step; the record's `step` is the same, compiled and so fused, also in
            PyNative mode: ``train_step = mf.enable(step=train_step).step``.
        flags: explicit flags, merged into those of the preset: names join the lists and leave the opposite ones.
        generator: who builds the kernels: ``ms_fusion`` or ``mindspore``. By default, on CPU, ours, which proves itself first,
            once on a machine in some seconds; where it cannot be used MindSpore's own does, and a warning says why.
        lock: calls of compiled nets by several threads wait for each other. MindSpore is not
            thread-safe, fused or not: without a lock results are wrong, or the process ends.

    Raises:
        InputError: no such preset or generator, or flags that MindSpore does not know.
        UnsafeError: flags that are known to kill the process.
        MissingError: MindSpore, or what its generator needs, is not installed.
    """
    if is_off_and_said():
        return _nothing(preset, step)
    setting, found = _setting(preset, flags, generator)
    wrapped = pynative.compiled(step) if step is not None else None
    if lock:
        call_lock.install(lambda: _state.lock)
    with compile_lock:
        _first()
        _state.process = setting
        _state.lock = lock
        _changed()
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
    """Turn the process-wide preset off; the user's own variable is as it was before `enable`."""
    if not is_off_and_said():
        with compile_lock:
            _state.process = None
            _state.lock = False
            _changed()
    return in_force()


@contextlib.contextmanager
def fusion(
    preset: str = "auto",
    *,
    flags: GraphKernelFlags | str | None = None,
    generator: str | None = None,
) -> Iterator[InForce]:
    """What is called inside this block is compiled under `preset`; all is restored at its end.

    A net that was compiled before has two graphs then, and takes the first again outside of the
    block. One that is first compiled here keeps what is compiled here.

    Blocks nest; the innermost wins. A block holds for the whole process, not for one thread. Its generator is the one that
    was named around it, unless it names one.

    Raises:
        as `enable`.
    """
    if is_off_and_said():
        yield _nothing(preset, None)
        return
    setting, found = _setting(preset, flags, generator)
    with compile_lock:
        _first()
        _state.blocks.append(setting)
        _changed()
    try:
        now = in_force()
        for text in (*(str(item) for item in found if item.severity != "note"), *now.warnings):
            warnings.warn(text, FusionWarning, stacklevel=3)
        _watch(now)
        yield now
    finally:
        with compile_lock:
            _forget(setting)
            _changed()


def patch(
    net: Net,
    preset: str = "auto",
    *,
    flags: GraphKernelFlags | str | None = None,
    generator: str | None = None,
) -> Net:
    """Compile this Cell under `preset`, whatever block or process say; returns the same Cell.

    Only a Cell that is compiled itself is concerned: inside another Cell, or in a ``@ms.jit`` function, the outer one's flags
    hold. In PyNative mode it is made one: its `construct` is compiled, as by ``@ms.jit``, and so is its gradient, while what is
    around it stays as it is. A copy of the Cell keeps the preset. What was compiled before is dropped, so that the next call
    compiles anew.

    Raises:
        InputError: `net` is no Cell; else as `enable`.
    """
    if is_off_and_said():
        return net
    setting, found = _setting(preset, flags, generator)
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
        pynative.compiled(net)
        _state.in_pynative[net] = setting.flags
    with compile_lock:
        vars(net)[CELL_FLAGS] = setting
    return net


def unpatch(net: Net) -> Net:
    """Take back `patch`; the next call compiles anew."""
    setting = vars(net).pop(CELL_FLAGS, None)
    if setting is not None and setting.compiled:
        vars(net).pop("construct", None)
    _state.in_pynative.pop(net, None)
    compile_anew(net)
    return net


def compile_anew(net: Any) -> None:
    """The next call of this Cell or function compiles, whatever was compiled before."""
    with compile_lock:
        mindspore_state.forget(net, mindspore_state.graphs_of(net))
        graph_keys.forget(net)
    if getattr(net, "_phase_cache", None):  # what text generation goes by
        net._phase_cache.clear()


def in_force(net: Any = None) -> InForce:
    """What the next compilation in this process (of `net`, when given) will use, as MindSpore reads it."""
    device = device_target()
    preset, text, scope, route, remarks = _read_back(net, device)
    fused, remedy = fuses(text), ""
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
            remarks.append(PYNATIVE)
    builds = device == "CPU" and fuses(text)
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
        kernel_directory=where_kernels_are(),
    )


def _read_back(net: Any, device: str) -> tuple[str, str, str, str, list[str]]:
    """(preset, flags, scope, route, remarks) by MindSpore's own order: variable, JitConfig, context; a Cell of ours first."""
    cell = vars(net).get(CELL_FLAGS) if hasattr(net, "__dict__") else None
    if cell is not None and not is_off():
        return cell.preset, cell.flags, "Cell", "environment", []
    value, top = users_flags(), _state.top
    if top is not None and not _is_overruled():
        scope = "block" if _state.blocks else "process"
        return top.preset, top.flags, scope, "environment", user_flags.wrong_in_context(device)
    if value is not None:
        remarks = user_flags.wrong_in(value, device)
        if top is not None:
            remarks.append(
                f"{FLAGS_VARIABLE} was set to {value!r} after enable(), and wins over preset {top.preset}. "
                "Delete the variable and call enable() again."
            )
        return "", value, "user", "environment", remarks
    return "", *user_flags.without_variable(net, device)


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
    from ms_fusion.presets import net_checks

    check_tensors(inputs)
    now = in_force(net)
    text = now.flags if now.route != "none" else flags_of("auto")[0]
    graph = net_checks.front_end_graph(net, inputs, read_by_front_end)
    return findings_of_call(net, inputs) + findings_of_graph(graph, text, now.device)


def findings_of_call(net: Any, inputs: Sequence[Any]) -> tuple[Finding, ...]:
    """The findings of `check` that need no operators: mode, dynamic shapes, size."""
    from ms_fusion.presets import net_checks

    return tuple(net_checks.of_call(net, inputs, graph_mode=is_graph_mode()))


def findings_of_graph(graph: Graph, text: str, device: str) -> tuple[Finding, ...]:
    """The findings of `check` about operators and dtypes under the flags `text`."""
    from ms_fusion.presets import net_checks

    flags = None if lint_errors(text) else GraphKernelFlags.parse(text)
    return tuple(net_checks.of_graph(graph, flags, device))


def lint_errors(text: str) -> tuple[Finding, ...]:
    """Errors of a flag string."""
    from ms_fusion.flag_lint import lint

    return tuple(item for item in lint(text) if item.severity == "error" and item.code != "fatal")


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
) -> tuple[Setting, tuple[Finding, ...]]:
    """Flags of a preset, checked, after `prepare`; raises what `enable` raises."""
    check_preset(preset)  # before MindSpore is loaded
    explicit = flags if isinstance(flags, str) else GraphKernelFlags.of(flags).render()
    device = device_target()
    found: tuple[Finding, ...] = ()
    asked = generator or named_generator()
    prepare()
    chosen, remarks = generators.choose(preset, device, wanted=asked, flags=explicit)
    if isinstance(flags, str):
        from ms_fusion.flag_lint import lint

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
        refuse(GraphKernelFlags.of(flags), device, chosen)
    wanted = resolve(preset, device=device, version=version(), flags=explicit, generator=chosen)
    if explicit:
        refuse(wanted, device, chosen)
    if (
        device == "CPU"
        and chosen != generators.OURS
        and wanted.kernel_generator == generators.GENERATOR
    ):
        wanted = replace(wanted, kernel_generator=None)
    if chosen == generators.OURS:
        wanted = own_generator_flags.without_kept_out(
            wanted, library=not generator_proof.without_library(version())
        )
    return Setting(preset, wanted.render(), asked), found


def named_generator() -> str | None:
    """The generator that the user named for what holds here, None for none."""
    around = _state.top
    return around.asked if around else None


def flags_of(
    preset: str,
    *,
    flags: GraphKernelFlags | str | None = None,
    generator: str | None = None,
) -> tuple[str, tuple[Finding, ...]]:
    """The flags of a preset here and now, explicit ones merged in, and what is to be said of them; nothing is put in force.

    Raises:
        as `enable`.
    """
    setting, found = _setting(preset, flags, generator)
    return setting.flags, found


def refuse(flags: GraphKernelFlags, device: str = "CPU", generator: str | None = None) -> None:
    """Raises UnsafeError for flags that are known to kill the process on this device, with this generator."""
    if device != "CPU":
        return
    from ms_fusion.flag_lint import lint

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


def _forget(setting: Setting) -> None:
    for index in range(len(_state.blocks) - 1, -1, -1):
        if _state.blocks[index] is setting:
            del _state.blocks[index]
            return


def _first() -> None:
    if _state.top is None:
        _state.users_flags = users_flags()


def _is_overruled() -> bool:
    """Whether the user put something into the variable after ours came into force."""
    return users_flags() not in (None, _state.users_flags)


def _in_force() -> str:
    """The flags of block or process, or what the user put over them; empty where nothing is ours."""
    top = _state.top
    if top is None:
        return ""
    return (users_flags() or "") if _is_overruled() else top.flags


def _changed() -> None:
    """Process or block have other flags now."""
    _state.held = (_state.top.flags if _state.top else "", bool(_state.blocks))
    _switch_device()


def _switch_device(own: Setting | None = None) -> None:
    """On Ascend fusion needs ``jit_level=O1`` besides the flags (read in MindSpore's source; on CPU it does nothing).

    Args:
        own: what a patched Cell is about to be compiled for, over block and process.
    """
    if device_target() != "Ascend":
        return
    top = own or _state.top
    if top is not None and fuses(top.flags):
        if _state.jit_level is None:
            _state.jit_level = str((context("jit_config") or {}).get("jit_level", ""))
            _set_jit_level("O1")
    elif _state.jit_level is not None:
        _set_jit_level(_state.jit_level or "O0")
        _state.jit_level = None


def _watch(now: InForce) -> None:
    """In PyNative mode a net that nobody compiled is named when it is called."""
    if now.fused and now.remedy:
        pynative.name_uncompiled(lambda: fuses(_in_force()))


def _set_jit_level(level: str) -> None:
    with quiet():
        mindspore_module().set_context(jit_config={"jit_level": level})


def prepare() -> None:
    """From now on Cells and ``@ms.jit`` functions are compiled under our lock, a patched Cell under its own flags.

    What stands around a compilation (see `ms_fusion.presets.compile_context`) does so from then on only, also for flags that come
    from elsewhere. Calls cost less of Python from then on (see `ms_fusion.presets.fast_call_path`).

    Raises:
        as `mindspore_state.prepare`.
    """
    mindspore_state.prepare()
    for owner in mindspore_state.compilers():
        if not hasattr(owner.compile, "_ms_fusion_original"):
            owner.compile = _guarded(owner.compile)
            keys = getattr(owner, "generate_arguments_key", None)
            if keys is not None:
                owner.generate_arguments_key = graph_keys.with_flags(keys, _state)
    pynative.gradients_under(_flags_of_gradients)
    fast_call_path.install(_state)


def _flags_of_gradients() -> str:
    """Under which gradients are compiled in PyNative mode; empty where MindSpore's own hold."""
    if is_off() or flags_are_fixed():
        return ""
    return next(reversed(list(_state.in_pynative.values())), "") or _in_force()


def _guarded(original: Callable[..., Any]) -> Callable[..., Any]:
    @functools.wraps(original)
    def compile(self: Any, net: Any, inputs: Any, *args: Any, **kwargs: Any) -> Any:
        from ms_fusion.presets import compile_context

        with compile_lock:
            own = vars(net).get(CELL_FLAGS) if hasattr(net, "__dict__") else None
            flags = own.flags if own else _in_force()
            setting = own or (None if _is_overruled() else _state.top)
            _switch_device(own)
            try:
                return compile_context.compiled(
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
