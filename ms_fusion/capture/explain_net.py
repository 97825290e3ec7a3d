"""Explains a net: compiles it without and with fusion in a private directory, returns the ledger.

`explain` takes a live Cell or function and captures it in a child process if the net can be
serialized, else in this process. `explain_target` takes ``FILE.py:Net`` and captures it in a child
process. `read` takes a directory of dumps from any machine and needs no MindSpore.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

import msgspec

from ms_fusion import cost, operators
from ms_fusion.accuracy import certificate
from ms_fusion.accuracy.tensor_dump import read_tensor_dump
from ms_fusion.capture.arguments import check_arguments, check_flags
from ms_fusion.capture.assemble import add_accuracy, assemble, match_by_scope
from ms_fusion.capture.capture_child import RECEIVED_FOLDER, CaptureRequest, run_child
from ms_fusion.capture.capture_run import CaptureOrder, Measurements, run_capture, title_of
from ms_fusion.capture.group_check import check_group
from ms_fusion.capture.net_serialization import NotSerializableError, pack
from ms_fusion.capture.operator_join import OperatorJoin, join
from ms_fusion.kernel_server import build_records
from ms_fusion.ledger import Ledger, SeenShape
from ms_fusion.mindspore import presets
from ms_fusion.mindspore.flags.generator_limits import generator_of
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
from ms_fusion.mindspore.presets import generator_proof, net_choices
from ms_fusion.mindspore.specialize import SpecializedNet
from ms_fusion.mindspore.state import dump_note, private_directory
from ms_fusion.mindspore.state.mindspore_state import KERNELS
from ms_fusion.mindspore.state.preset_record import NO_LEVEL, NO_LEVEL_REMEDY
from ms_fusion.readers.dumps import Dumps, read_dumps
from ms_fusion.target import check_tensors, require_mindspore
from tbe_impl.environment import temporary_directory
from tbe_impl.errors import InputError

OWN_GENERATOR_WORKER = "ms_fusion.kernel_server.kernel_worker"
"""The worker module that runs kernels of our generator."""

Progress = Callable[[str], None]


def explain(
    net: Callable[..., Any],
    *inputs: Any,
    preset: str | None = None,
    flags: str | None = None,
    only_flags: str | None = None,
    generator: str | None = None,
    measure: bool = True,
    accuracy: bool = True,
    isolate: bool = True,
    progress: Progress | None = None,
) -> Ledger:
    """Compiles and runs `net` without and with fusion; reports fused kernels and unfused edges.

    The net's weights, the random state and MindSpore's context are restored.

    Args:
        net: a Cell, a ``@ms.jit`` function, a plain function that ``ms.jit`` can compile (a
            training step too), or the result of `specialize`: the ledger then lists the shapes that
            it has met.
        inputs: arguments of the call (Tensors).
        preset: name of a preset; see ``ms-fusion presets``. By default the preset in force
            (`enable`, `fusion`, `patch`, the user's own variable) if it enables fusion, else
            ``auto``.
        flags: explicit graph kernel flags, merged into those of the preset as by `enable`.
        only_flags: explicit graph kernel flags instead of a preset's; they also select the
            generator.
        generator: generator of the preset's kernels, as for `enable`; by default the one in force,
            else ours on CPU.
        measure: also time whole calls and profile each operator (a second or two).
        accuracy: also compare each fused kernel with float64.
        isolate: capture in a child process, so that a crash of MindSpore becomes an exception. A
            net that cannot be serialized (it holds a lock, for example) is captured in this
            process, with a note in the ledger.
        progress: called with a short message before each long step.

    Returns:
        The `Ledger`.

    Raises:
        InputError: `net` cannot be called with `inputs`, an input is no Tensor, or the preset is
            unknown.
        UnsafeError: the flags are known to kill the process on this net.
        CaptureError: MindSpore could not compile or run the net.
    """
    if isinstance(net, type) or not callable(net):
        raise InputError(
            "this is not a net",
            expected="a Cell or a function",
            got=f"the class {net.__name__}" if isinstance(net, type) else type(net).__name__,
            remedy="Pass the net itself, made with its arguments: Net(…).",
        )
    require_mindspore()
    check_tensors(inputs)
    say = progress or (lambda text: None)
    title, remarks = title_of(net), list[str]()
    seen: tuple[SeenShape, ...] = ()
    if isinstance(net, SpecializedNet):
        title, seen, net = title_of(net.net), net.seen, net.single_shape_net()
    check_flags(flags, only_flags)
    asked = (preset, flags, only_flags)
    known = net_choices.recall(net, inputs) if asked == (None, None, None) else None
    preset, flags, only_flags = _resolve_flags(net, *asked, generator)
    if known is not None and only_flags is not None:
        remarks += known.notes(only_flags)
        only_flags = known.apply_to(only_flags)
    order = CaptureOrder(
        title=title,
        preset=preset,
        flags=flags,
        only_flags=only_flags,
        generator=generator or presets.user_generator(),
        measure=measure,
        accuracy=accuracy,
    )
    remarks += map(str, presets.findings_of_call(net, inputs))
    with capture_net(net, inputs, order, isolate=isolate, progress=say) as (directory, said):
        ledger = build_ledger(directory, accuracy=accuracy, progress=say)
    remarks += said
    return replace(ledger, notes=(*remarks, *ledger.notes), shapes=seen)


@contextmanager
def capture_net(
    net: Callable[..., Any],
    inputs: Sequence[Any],
    order: CaptureOrder,
    *,
    isolate: bool = True,
    progress: Progress,
) -> Iterator[tuple[Path, list[str]]]:
    """Yields the directory that `run_capture` filled and remarks; prefers a child process.

    Raises:
        as `explain`.
    """
    remarks = []
    with _private_directory() as directory:
        progress(_compile_message("", order))
        try:
            content = pack(net, inputs) if isolate else None
        except NotSerializableError as reason:
            content = None
            remarks.append(
                "Looked at in this process, on sampled inputs of each kernel: "
                f"a child process cannot have the net ({reason})."
            )
        if content is None:
            run_capture(net, inputs, directory, order)
        else:
            (directory / "net.parcel").write_bytes(content)
            run_child(
                CaptureRequest(order=order, directory=str(directory), search_path=_search_path())
            )
        yield directory, remarks


def _compile_message(what: str, order: CaptureOrder) -> str:
    """A progress message for the compilation."""
    trying = (
        order.only_flags is None and order.generator != "mindspore" and generator_proof.is_due()
    )
    first = "; before that our generator is tried on this machine, once" if trying else ""
    return f"compiling{what} without and with fusion{first}"


def _resolve_flags(
    net: Any, preset: str | None, flags: str | None, only_flags: str | None, generator: str | None
) -> tuple[str, str | None, str | None]:
    """Name of the preset, flags to merge into it, and flags instead of it.

    Explicit arguments take precedence over the preset in force.
    """
    if preset is not None or only_flags is not None:
        return ("" if only_flags is not None else preset or ""), flags, only_flags
    now = presets.in_force(net)
    explicit = GraphKernelFlags.coerce(flags)
    if generator is not None or explicit.kernel_generator is not None:
        return now.preset or "auto", flags, None
    if not presets.has_fusion(now.flags):
        return "auto", flags, None
    if flags is None:
        return now.preset, None, now.flags
    return now.preset, None, GraphKernelFlags.parse(now.flags).merge(explicit).render()


def explain_target(
    target: str,
    input_specs: Sequence[str],
    *,
    preset: str = "auto",
    flags: str | None = None,
    only_flags: str | None = None,
    generator: str | None = None,
    measure: bool = True,
    accuracy: bool = True,
    progress: Progress | None = None,
) -> Ledger:
    """`explain` for ``FILE.py:NAME`` in a child process: a crash of MindSpore becomes an exception.

    Args:
        target: ``FILE.py:NAME``; the name of a Cell class, a Cell, or a function.
        input_specs: one text for each input, such as ``64x128:float32``.

    Raises:
        InputError: `target` names no net, an input text or flags are malformed, or the preset does
            not exist.
    """
    check_arguments(target, input_specs, preset=preset, flags=flags, only_flags=only_flags)
    say = progress or (lambda text: None)
    order = CaptureOrder(
        title=target.rpartition(":")[2],
        preset=preset if only_flags is None else "",
        flags=flags,
        only_flags=only_flags,
        generator=generator,
        measure=measure,
        accuracy=accuracy,
    )
    with _private_directory() as directory:
        say(_compile_message(f" {target}", order))
        run_child(
            CaptureRequest(
                order=order, directory=str(directory), target=target, inputs=tuple(input_specs)
            )
        )
        return build_ledger(directory, accuracy=accuracy, progress=say)


def _search_path() -> tuple[str, ...]:
    return tuple(str(Path(entry).absolute()) for entry in sys.path)


def read(
    directory: str | os.PathLike[str], *, flags: str | None = None, device: str | None = None
) -> Ledger:
    """The ledger of a directory of MindSpore dumps, from any machine; needs no MindSpore.

    Args:
        directory: dumps that MindSpore wrote with ``MS_DEV_SAVE_GRAPHS=2`` (level 1 gives less).
        flags: the graph kernel flags of that run; the reasons depend on them. By default those of
            the note that a process with ``ms_fusion`` wrote beside its dumps, with the preset.
        device: ``CPU``, ``GPU`` or ``Ascend``; by default from that note, else guessed.

    Raises:
        InputError: the directory does not exist or contains no dumps.
        ParseError: a dump is damaged.
    """
    path = Path(directory)
    dumps = read_dumps(path)
    joined = join(dumps)
    left = dump_note.find_note(dumps.directory, path, dumps.directory.parent)
    target = device or (left.device if left else _guess_device(joined))
    notes = [f"Read from {path.name}: nothing was run here, so there are no times and no receipts."]
    count = len(set(joined.programs.values()))
    if count > 1:
        notes.append(
            f"The dumps hold {count} programs that were compiled one after the other, "
            "here counted together."
        )
    preset = ""
    if flags is None and left is not None:
        preset, flags = left.chosen_compilation.preset, left.chosen_compilation.flags
        notes += left.remarks
    elif flags is None:
        fused = dumps.clustered or any(node.is_fused_kernel for node in joined.after)
        flags = "--opt_level=2" if fused else "--opt_level=0"
        notes.append(
            "The flags of that run are not in the dumps: reasons assume --opt_level=2."
            if fused
            else "Nothing in the dumps went through graph kernel fusion: "
            "reasons assume that it was off, --opt_level=0."
        )
    environment: dict[str, object] = {"device": target, "dumps": len(dumps.built)}
    if left is not None:
        environment["mindspore"] = left.mindspore
    return assemble(
        joined,
        title=path.name,
        device=cost.device(target),
        device_target=target,
        flags=flags,
        preset=preset,
        generator=generator_of(flags),
        environment=environment,
        notes=notes,
    )


def _guess_device(joined: OperatorJoin) -> str:
    """Guesses the device: only CPU and GPU dumps name the kernel's file (``info_name``)."""
    kernels = [node for node in joined.after if node.is_fused_kernel]
    return "CPU" if not kernels or any(node.attr("info_name") for node in kernels) else "Ascend"


def build_ledger(
    directory: Path, *, accuracy: bool = True, progress: Progress | None = None
) -> Ledger:
    """Builds the ledger from a directory that `run_capture` filled."""
    seen = msgspec.json.decode((directory / "capture.json").read_bytes(), type=Measurements)
    fused, unfused = _dumps_of(directory / "fused"), _dumps_of(directory / "unfused")
    joined = join(fused)
    random = any(node.op in operators.RANDOM_OPS for node in joined.before)
    generator = generator_of(seen.flags)
    device = cost.device(seen.device)
    ledger = assemble(
        joined,
        title=seen.title,
        device=device,
        device_target=seen.device,
        flags=seen.flags,
        preset=seen.preset,
        generator=generator,
        kept_out=seen.kept_out,
        builds=build_records.read(Path(seen.kernel_directory) / KERNELS),
        times_before=_times_by_original(joined, unfused, seen.operators_unfused),
        times_after=seen.operators_fused,
        step_before_us=seen.step_unfused_us,
        step_after_us=seen.step_fused_us,
        step_before_spread_us=seen.step_unfused_spread_us,
        step_after_spread_us=seen.step_fused_spread_us,
        environment={
            "device": seen.device,
            "mindspore": seen.version,
            "compile_unfused_s": round(seen.compile_unfused_s, 3),
            "compile_fused_s": round(seen.compile_fused_s, 3),
            **device.roofs,
        },
        output_max_abs=None if random else seen.output_max_abs,
        output_max_ulp=None if random else seen.output_max_ulp,
        output_max_rel=None if random else seen.output_max_rel,
        notes=(
            *seen.notes,
            *(f"The generator was asked for a kernel in vain: {reason}" for reason in seen.refused),
            *_notes_of(joined),
            *map(str, presets.findings_of_graph(joined.before, seen.flags, seen.device)),
        ),
    )
    if not presets.has_fusion(seen.flags) and "--opt_level=0" not in seen.flags.split():
        ledger = replace(ledger, warnings=(f"{NO_LEVEL} {NO_LEVEL_REMEDY}",))
    if not accuracy or not ledger.kernels:
        return ledger
    if progress:
        progress("comparing each fused kernel with float64")
    found = certificate.certify(
        ledger.kernels,
        kernel_directory=Path(seen.kernel_directory),
        flags=seen.flags,
        captured=_ReceivedTensors(directory / RECEIVED_FOLDER)
        if (directory / RECEIVED_FOLDER).is_dir()
        else None,
        timeout_s=120.0,
        compiled_worker=OWN_GENERATOR_WORKER if generator == "ms_fusion" else certificate.WORKER,
    )
    return add_accuracy(ledger, found)


def _dumps_of(directory: Path) -> Dumps:
    """The dumps of one run; empty if MindSpore simplified the net to no operator and built no
    graph.
    """
    built = next(directory.rglob("graph_build_*.ir"), None)
    return Dumps(directory) if built is None else read_dumps(directory)


def _notes_of(joined: OperatorJoin) -> Iterator[str]:
    random = sorted({node.op for node in joined.before} & operators.RANDOM_OPS)
    if random:
        yield (
            f"{', '.join(random)}: other random numbers in each run, "
            "so outputs with and without fusion are not compared."
        )
    if not len(joined.before):
        yield "MindSpore simplified the net to no operator at all: nothing to run, nothing to fuse."


def _times_by_original(
    joined: OperatorJoin, unfused: Dumps, measured: dict[str, tuple[float, float, float]]
) -> dict[str, tuple[float, float, float]]:
    places = match_by_scope(joined.before, join(unfused).after)
    return {name: measured[other] for name, other in places.items() if other in measured}


class _ReceivedTensors(Mapping[str, Sequence[Any]]):
    """Full name of a kernel → the tensors that it received, read from disk one kernel at a time."""

    def __init__(self, directory: Path):
        self.tensors = read_tensor_dump(directory)

    def __getitem__(self, name: str) -> Sequence[Any]:
        return self.tensors[name].inputs

    def __iter__(self) -> Iterator[str]:
        return iter(self.tensors)

    def __len__(self) -> int:
        return len(self.tensors)


def assert_fused(
    net: Callable[..., Any],
    inputs: Sequence[Any],
    groups: Sequence[Sequence[str]],
    *,
    preset: str | None = None,
    flags: str | None = None,
    only_flags: str | None = None,
    generator: str | None = None,
) -> Ledger:
    """Raises unless each group of operators is in one fused kernel, in any order.

    Args:
        net: as for `explain`.
        inputs: a tuple of the arguments of the call.
        groups: operator types, such as ``[("Mul", "Add"), ("MatMul", "BiasAdd")]``; a repeated type
            requires as many operators.
        preset, flags, only_flags, generator: as for `explain`.

    Returns:
        The ledger, without times.

    Raises:
        FusionNotFound: names the nearest kernel and the reason. It is an `AssertionError`.
    """
    if isinstance(groups, str) or any(isinstance(group, str) for group in groups):
        raise InputError(
            "each group is a tuple of operators",
            place="groups",
            expected='such as [("Mul", "Add")]',
            got=repr(groups),
            remedy="Put the operators of one kernel into a tuple, and the tuples into a list",
        )
    ledger = explain(
        net,
        *_as_tuple(inputs),
        preset=preset,
        flags=flags,
        only_flags=only_flags,
        generator=generator,
        measure=False,
        accuracy=False,
    )
    for group in groups:
        check_group(ledger, group)
    return ledger


def _as_tuple(inputs: Any) -> tuple[Any, ...]:
    return tuple(inputs) if isinstance(inputs, (tuple, list)) else (inputs,)


@contextmanager
def _private_directory() -> Iterator[Path]:
    """A private directory, removed at the end; the next process removes that of a killed one.

    Not in the cache directory, whose name may contain a dot: MindSpore refuses to dump tensors
    there.
    """
    place = private_directory.make(temporary_directory() / f"ms_fusion-{os.getuid()}")
    try:
        yield place
    finally:
        private_directory.remove(place)
