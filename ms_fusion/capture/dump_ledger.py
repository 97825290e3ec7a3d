"""Builds a ledger (a fusion record) from MindSpore's dumps; MindSpore need not be installed."""

from __future__ import annotations

import os
from pathlib import Path

from ms_fusion import cost
from ms_fusion.capture.assemble import assemble
from ms_fusion.capture.operator_join import OperatorJoin, join
from ms_fusion.ledger import Ledger
from ms_fusion.mindspore.flags.generator_limits import generator_of
from ms_fusion.mindspore.state import dump_note
from ms_fusion.readers.dumps import read_dumps


def read(
    directory: str | os.PathLike[str], *, flags: str | None = None, device: str | None = None
) -> Ledger:
    """Returns the ledger for a directory of MindSpore's dumps; does not import MindSpore.

    The dumps may be from any machine. A process that uses ``ms_fusion`` writes a note (a JSON file)
    beside its dumps. The note names the preset, the flags and the device.

    Args:
        directory: directory of the dumps that MindSpore wrote with ``MS_DEV_SAVE_GRAPHS=2``. Dumps
            of level 1 can also be read, but they contain fewer graphs.
        flags: the graph kernel flags of the dumped run. The reasons for unfused edges depend on
            them. By default, the flags and the preset are read from the note.
        device: ``CPU``, ``GPU`` or ``Ascend``. By default, the device is read from the note, or
            guessed if there is no note.

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
    """Guesses the device of dumps: ``CPU`` or ``Ascend``.

    In dumps from CPU and GPU, fused kernels have the attribute ``info_name``. In dumps from Ascend,
    fused kernels lack this attribute. CPU and GPU cannot be distinguished, so the result is ``CPU``
    for both. The result is also ``CPU`` for dumps without fused kernels.
    """
    kernels = [node for node in joined.after if node.is_fused_kernel]
    return "CPU" if not kernels or any(node.attr("info_name") for node in kernels) else "Ascend"
