"""Writes preset and flags beside MindSpore's graph dumps, for `read`."""

from __future__ import annotations

import contextlib
import logging
import os
import tempfile
from pathlib import Path
from typing import Annotated, Any, Literal

import msgspec

from ms_fusion.flags import GraphKernelFlags
from ms_fusion.generator_limits import generator_of
from ms_fusion.presets import mindspore_state
from ms_fusion.presets.preset_record import fuses
from tbe_impl.errors import FusionError

FILE = "ms_fusion.json"
BYTES_MAX = 1 << 20
UNREADABLE = (OSError, msgspec.MsgspecError, RecursionError, UnicodeDecodeError, FusionError)
MOST = 64
"""Compilations that a note holds, the last ones."""

Text = Annotated[str, msgspec.Meta(max_length=200)]
_log = logging.getLogger("ms_fusion")


class Compilation(msgspec.Struct, frozen=True, kw_only=True):
    """What one net was compiled under.

    Attributes:
        net: what the user calls it.
        preset: name of the preset; empty for flags of the user's own.
        flags: what MindSpore was told.
        generator: who built the kernels.
    """

    net: Text
    preset: Text
    flags: Annotated[str, msgspec.Meta(max_length=1 << 14)]
    generator: Text


class DumpNote(msgspec.Struct, frozen=True, kw_only=True):
    """What a process left beside its dumps.

    Attributes:
        device, mindspore: where it ran, MindSpore's version.
        compilations: in order.
    """

    device: Literal["CPU", "GPU", "Ascend"]
    mindspore: Text
    compilations: Annotated[tuple[Compilation, ...], msgspec.Meta(min_length=1, max_length=MOST)]

    @property
    def chosen(self) -> Compilation:
        """The last that fuses anything, else the last."""
        fused = [one for one in self.compilations if fuses(one.flags)]
        return (fused or [*self.compilations])[-1]

    @property
    def remarks(self) -> list[str]:
        """What the ledger of these dumps says of it."""
        found = [
            f"Preset and flags are those of {self.chosen.net}, left in {FILE} beside the dumps."
        ]
        others = len({one.flags for one in self.compilations}) - 1
        if others:
            found.append(
                f"{others} more sets of flags were compiled under; reasons do not go by them."
            )
        return found


_left: dict[Path, tuple[Compilation, ...]] = {}


def leave(net: str, preset: str, flags: str) -> None:
    """Writes down what a net was just compiled under, if MindSpore was told to dump its graphs."""
    place = mindspore_state.dump_directory()
    if place is None:
        return
    generator = generator_of(flags) if fuses(flags) else ""
    made = Compilation(net=net[:200], preset=preset, flags=flags, generator=generator)
    known = (*(one for one in _left.get(place, ()) if one != made), made)
    _left[place] = known[-MOST:]
    device: Any = mindspore_state.device_target()
    note = DumpNote(
        device=device,
        mindspore=mindspore_state.version(),
        compilations=_left[place],
    )
    try:
        handle, draft = tempfile.mkstemp(prefix=f".{FILE}-", dir=place)
        with os.fdopen(handle, "wb") as file:
            file.write(msgspec.json.format(msgspec.json.encode(note), indent=1))
        Path(draft).chmod(0o644)
        Path(draft).replace(place / FILE)
    except OSError as error:
        _log.info("%s cannot be written: %s", place / FILE, error)


def found(*places: Path) -> DumpNote | None:
    """The note in the first of these directories that has one that can be read."""
    for place in places:
        with contextlib.suppress(*UNREADABLE):
            with (place / FILE).open("rb") as file:
                note = msgspec.json.decode(file.read(BYTES_MAX), type=DumpNote)
            GraphKernelFlags.parse(note.chosen.flags)
            return note
    return None
