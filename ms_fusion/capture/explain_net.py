"""Explains a net: captures it in a private directory, then builds the ledger of the capture.

`explain` takes a Cell or a function. If the net can be serialized, `explain` captures the net in a
child process. Otherwise, `explain` captures the net in this process. `explain_target` takes
``FILE.py:NAME`` and captures the net in a child process.
"""

from __future__ import annotations

import os
import sys
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import replace
from pathlib import Path
from typing import Any

from ms_fusion.capture.arguments import check_arguments, check_flags
from ms_fusion.capture.capture_child import CaptureRequest, run_child
from ms_fusion.capture.capture_run import CaptureOrder, run_capture, title_of
from ms_fusion.capture.ledger_building import build_ledger
from ms_fusion.capture.net_serialization import NotSerializableError, pack
from ms_fusion.ledger import Ledger, SeenShape
from ms_fusion.mindspore import presets
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
from ms_fusion.mindspore.presets import generator_proof, net_choices
from ms_fusion.mindspore.specialize import SpecializedNet
from ms_fusion.mindspore.state import private_directory
from ms_fusion.target import check_tensors, require_mindspore
from tbe_impl.environment import temporary_directory
from tbe_impl.errors import InputError

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
        net: a Cell, a function that ``ms.jit`` can compile (for example a training step), or the
            result of `specialize`. For the result of `specialize`, the ledger also lists the input
            shapes of the net's calls.
        inputs: arguments of the call (Tensors).
        preset: name of a preset, which is a set of fusion flags; see ``ms-fusion presets``. The
            default is the preset in force (set by `enable`, `fusion`, `patch` or the user's
            environment variable) if it enables fusion, else ``auto``.
        flags: explicit graph kernel flags, which are merged into the preset's flags as by `enable`.
        only_flags: explicit graph kernel flags, which replace a preset's flags and also select the
            generator.
        generator: generator of the kernels, as for `enable`. The default is the generator in force.
            If no preset is in force, the default is that of `enable`.
        measure: whether to time whole calls and to profile each operator. The measurement takes one
            or two seconds.
        accuracy: whether to compare the results of each fused kernel with float64 results of NumPy.
        isolate: whether to capture in a child process, so that a crash of MindSpore becomes an
            exception. A net that cannot be serialized is captured in this process, and the ledger
            then contains a note. For example, a net with a lock as an attribute cannot be
            serialized.
        progress: function that is called with a short message before each long step.

    Returns:
        The `Ledger`.

    Raises:
        InputError: `net` cannot be called with `inputs`, an input is not a Tensor, or the preset is
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
    """Captures a net; yields (directory with the files of `run_capture`, remarks for the user).

    The capture runs in a child process if `isolate` is True and the net can be serialized. The
    directory is removed when the caller's ``with`` block ends. The errors are those of `explain`.
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
    """Returns the progress message of the compilation, with `what` after the word "compiling"."""
    trying = (
        order.only_flags is None and order.generator != "mindspore" and generator_proof.is_due()
    )
    first = "; before that our generator is tried on this machine, once" if trying else ""
    return f"compiling{what} without and with fusion{first}"


def _resolve_flags(
    net: Any, preset: str | None, flags: str | None, only_flags: str | None, generator: str | None
) -> tuple[str, str | None, str | None]:
    """Returns (preset name, flags to merge into the preset, flags to replace the preset).

    The arguments take precedence over the preset (the set of fusion flags) that is in force now.
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
    """Explains the net ``FILE.py:NAME`` in a child process; returns its ledger.

    A crash of MindSpore becomes an exception.

    Args:
        target: ``FILE.py:NAME``; NAME is a Cell class, a Cell, or a function in the file.
        input_specs: one string for each input, such as ``64x128:float32``.
        preset: name of a preset; see ``ms-fusion presets``.
        flags, only_flags, generator, measure, accuracy, progress: as for `explain`.

    Raises:
        InputError: `target` does not name a net, the preset does not exist, or an input
            specification or a flag is malformed.
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


@contextmanager
def _private_directory() -> Iterator[Path]:
    """Yields a private directory; removes it when the caller's ``with`` block ends.

    If this process is killed, a later process removes the directory. MindSpore does not dump
    tensors to a path with a dot, and the path of the cache directory may contain a dot. So the
    private directory is not in the cache directory.
    """
    place = private_directory.make(temporary_directory() / f"ms_fusion-{os.getuid()}")
    try:
        yield place
    finally:
        private_directory.remove(place)
