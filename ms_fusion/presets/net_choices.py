"""Tuning records of whole nets: operators kept out of clusters, or no fusion."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from types import CodeType
from typing import Annotated, Any, Literal

import msgspec

from ms_fusion.flags import GraphKernelFlags
from ms_fusion.generator_limits import generator_of
from ms_fusion.presets.cell_attributes import CALLED_NET
from tbe_impl import environment, tuning_store
from tbe_impl.runtime.cache import make_key
from tbe_impl.tuning_store import Store

MOST_KERNELS = 512
"""Keys of kernels that a record holds: it is read again only if it is small."""
FORGET = "`mf.tune(net, forget=True)` forgets it."

Key = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
_said: set[str] = set()


class NetChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """What is done with a net.

    Attributes:
        kept_out: operators that are not clustered.
        fused: False where it is quickest unfused.
        why: a sentence with what was measured.
        losses: a sentence for each way that was tried and is slower than unfused.
    """

    kept_out: tuple[str, ...] = ()
    fused: bool = True
    why: str = ""
    losses: tuple[str, ...] = ()

    def over(self, flags: str) -> str:
        """Flags of our generator with this choice; other flags stay as they are."""
        if generator_of(flags) != "ms_fusion" or (self.fused and not self.kept_out):
            return flags
        known = GraphKernelFlags.parse(flags)
        if not self.fused:
            return GraphKernelFlags(opt_level=0).render()
        asked = tuple(name for name in known.enable_cluster_ops or () if name not in self.kept_out)
        out = tuple(dict.fromkeys((*(known.disable_cluster_ops or ()), *self.kept_out)))
        return replace(known, enable_cluster_ops=asked, disable_cluster_ops=out).render()

    def notes(self, flags: str) -> tuple[str, ...]:
        """What the ledger of a net under these flags says of it."""
        if generator_of(flags) != "ms_fusion":
            return ()
        decided = () if self.over(flags) == flags else (self.why,)
        return tuple(f"Tuning: {text}" for text in (*decided, *self.losses))


class TunedNetRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A net's record on disk.

    Attributes:
        schema, key: of the record: of the net with these inputs.
        net: key of the net, whatever its inputs.
        name: of the net.
        inputs: shapes and dtypes, as text.
        choice: what is done with it.
        kernels: keys of the records of kernels that were measured for it.
    """

    schema: Literal[1]
    key: Key
    net: Key
    name: Annotated[str, msgspec.Meta(max_length=200)]
    inputs: Annotated[str, msgspec.Meta(max_length=2000)]
    choice: NetChoice
    kernels: tuple[Key, ...] = ()

    def line(self) -> str:
        """What it does, for a list of records."""
        measured = f" {len(self.kernels)} of its kernels were measured." if self.kernels else ""
        return f"{self.name} ({self.inputs}): {self.choice.why or 'all is fused.'}{measured}"


def store() -> Store[TunedNetRecord]:
    """The user's, of nets."""
    return Store(tuning_store.store().root / "nets", TunedNetRecord)


def remember(
    net: Any, inputs: Sequence[Any], choice: NetChoice, *, kernels: Sequence[str] = ()
) -> None:
    """Keeps the choice for nets of this code, parameters and inputs.

    Args:
        net, inputs: what was tuned.
        choice: what is done with it.
        kernels: keys of the records of its kernels; those of earlier times stay.
    """
    key = _key(net, inputs)
    earlier = store().load(key)
    known = dict.fromkeys((*kernels, *(earlier.kernels if earlier else ())))
    store().save(
        TunedNetRecord(
            schema=1,
            key=key,
            net=_key(net),
            name=_name(net)[:200],
            inputs=", ".join(map(_text_of, inputs))[:2000],
            choice=choice,
            kernels=tuple(known)[:MOST_KERNELS],
        )
    )


def recall(net: Any, inputs: Sequence[Any]) -> NetChoice | None:
    """What was kept for a net like this, None when it was not tuned."""
    place = store()
    found = None if place.is_empty() else place.load(_key(net, inputs))
    return found.choice if found else None


def forget(net: Any, inputs: Sequence[Any] = ()) -> int:
    """Removes the records of nets like this and of their kernels; their number.

    Args:
        net: what was tuned.
        inputs: what it was called with; all inputs when there are none.
    """
    place, key = store(), _key(net)
    wanted = _key(net, inputs) if inputs else ""
    gone = [one for one in place.records() if one.net == key and wanted in ("", one.key)]
    kernels = {kernel for one in gone for kernel in one.kernels}
    return place.remove(one.key for one in gone) + tuning_store.store().remove(kernels)


def applied(flags: str, net: Any, inputs: Sequence[Any]) -> str:
    """`flags` as tuning would have them for this net; what that changes is said once."""
    if generator_of(flags) != "ms_fusion":
        return flags
    found = recall(net, inputs)
    if found is None or found.over(flags) == flags:
        return flags
    text = f"{_name(net)}: by what tuning found, {found.why} {FORGET}"
    if text not in _said:
        from ms_fusion.presets.compile_messages import say

        _said.add(text)
        say(text)
    return found.over(flags)


def _key(net: Any, inputs: Sequence[Any] | None = None) -> str:
    """Over its parts and their code, its parameters and the inputs; the machine is part of every key."""
    net = getattr(net, CALLED_NET, net)
    kind = net if hasattr(net, "__qualname__") else type(net)
    cells = tuple(net.cells_and_names()) if hasattr(net, "cells_and_names") else ()
    parameters = net.get_parameters() if hasattr(net, "get_parameters") else ()
    parts = [
        f"{kind.__module__}.{kind.__qualname__}",
        *map(_code_of, dict.fromkeys((kind, *(type(cell) for _, cell in cells)))),
        *(f"{name} {type(cell).__name__}" for name, cell in cells),
        *(f"{one.name} {one.shape} {one.dtype}" for one in parameters),
    ]
    given = None if inputs is None else [*map(_text_of, inputs)]
    return make_key(net=parts, inputs=given, threads=environment.threads())


def _name(net: Any) -> str:
    net = getattr(net, CALLED_NET, net)
    return str(getattr(net, "__name__", type(net).__name__))


def _text_of(given: Any) -> str:
    """Shape and dtype of an input, or what it is."""
    shape = getattr(given, "shape", None)
    if shape is None:
        return type(given).__name__
    return f"{'x'.join(map(str, shape)) or 'scalar'}:{str(getattr(given, 'dtype', '')).lower()}"


def _code_of(kind: Any) -> str:
    """What a class of Cells or a function computes: many a script has a class of the same name."""
    code = getattr(inspect.unwrap(getattr(kind, "construct", kind)), "__code__", None)
    return _text(code) if code else ""


def _text(code: CodeType) -> str:
    """Without places in memory and files, and in an order that is the same in each process."""
    constants = (
        _text(one)
        if isinstance(one, CodeType)
        else " ".join(sorted(map(repr, one)))
        if isinstance(one, frozenset)
        else repr(one)
        for one in code.co_consts
    )
    return " ".join((code.co_code.hex(), *code.co_names, *constants))
