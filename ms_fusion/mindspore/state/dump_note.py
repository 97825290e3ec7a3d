"""Writes preset and flags to a JSON file (the note) in the directory of MindSpore's graph dumps.

`ms_fusion.read` reads this file together with the dumped graphs.
"""

from __future__ import annotations

import contextlib
import logging
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from ms_fusion.mindspore.flags.generator_limits import generator_of
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
from ms_fusion.mindspore.state import mindspore_state
from ms_fusion.mindspore.state.preset_record import has_fusion
from tbe_impl.errors import FusionError, pluralize
from tbe_impl.runtime.atomic_file import write_atomically

FILE = "ms_fusion.json"
BYTES_MAX = 1 << 20
READ_ERRORS = (OSError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError, FusionError)
MAX_COMPILATIONS = 64
"""Maximum number of compilations in a note, which contains the latest compilations."""

Text = Annotated[str, msgspec.Meta(max_length=200)]
_log = logging.getLogger("ms_fusion")


class Compilation(msgspec.Struct, frozen=True, kw_only=True):
    """The fusion settings of one compilation.

    Attributes:
        net: name of the compiled net.
        preset: name of the preset; empty if the user set the flags.
        flags: MindSpore's flag string.
        generator: generator of the kernels.
    """

    net: Text
    preset: Text
    flags: Annotated[str, msgspec.Meta(max_length=1 << 14)]
    generator: Text


class DumpNote(msgspec.Struct, frozen=True, kw_only=True):
    """The content of the JSON file that a process writes beside its graph dumps.

    Attributes:
        device: MindSpore's device target.
        mindspore: MindSpore's version.
        compilations: the settings of each compilation, in order.
    """

    device: Literal["CPU", "GPU", "Ascend"]
    mindspore: Text
    compilations: Annotated[
        tuple[Compilation, ...], msgspec.Meta(min_length=1, max_length=MAX_COMPILATIONS)
    ]

    @property
    def chosen_compilation(self) -> Compilation:
        """The latest compilation with fusion; without any, the latest of all compilations."""
        fused = [one for one in self.compilations if has_fusion(one.flags)]
        return (fused or [*self.compilations])[-1]

    @property
    def remarks(self) -> list[str]:
        """Returns remarks for the ledger (the fusion record) that is built from these dumps."""
        found = [
            f"Preset and flags are those of {self.chosen_compilation.net}, left in {FILE} beside "
            "the dumps."
        ]
        others = len({one.flags for one in self.compilations}) - 1
        if others:
            found.append(
                f"{pluralize(others, 'more set')} of flags {'was' if others == 1 else 'were'} "
                "compiled under; reasons do not go by them."
            )
        return found


_compilations: dict[Path, tuple[Compilation, ...]] = {}


def write_note(net: str, preset: str, flags: str) -> None:
    """Adds the settings of a compilation to the JSON file beside MindSpore's graph dumps.

    The function does nothing if MindSpore does not dump graphs.
    """
    place = mindspore_state.dump_directory()
    if place is None:
        return
    generator = generator_of(flags) if has_fusion(flags) else ""
    made = Compilation(net=net[:200], preset=preset, flags=flags, generator=generator)
    known = (*(one for one in _compilations.get(place, ()) if one != made), made)
    _compilations[place] = known[-MAX_COMPILATIONS:]
    device: Any = mindspore_state.device_target()
    note = DumpNote(
        device=device,
        mindspore=mindspore_state.version(),
        compilations=_compilations[place],
    )
    try:
        content = msgspec.json.format(msgspec.json.encode(note), indent=1)
        write_atomically(place / FILE, content, mode=0o644)
    except OSError as error:
        _log.info("%s cannot be written: %s", place / FILE, error)


def find_note(*places: Path) -> DumpNote | None:
    """Returns the first valid note in the given directories, in order, or None if there is none."""
    for place in places:
        with contextlib.suppress(*READ_ERRORS):
            with (place / FILE).open("rb") as file:
                note = msgspec.json.decode(file.read(BYTES_MAX), type=DumpNote)
            GraphKernelFlags.parse(note.chosen_compilation.flags)
            return note
    return None
