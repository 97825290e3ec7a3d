"""Stores and applies the results of tuning whole nets.

The result for a net lists the operators that must not be clustered, or states that the net is
fastest without fusion. The result is applied when the same net is compiled again.
"""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from dataclasses import replace
from types import CodeType
from typing import Annotated, Any

import msgspec

from ms_fusion.mindspore.flags.generator_limits import generator_of
from ms_fusion.mindspore.flags.graph_kernel_flags import GraphKernelFlags
from ms_fusion.mindspore.state.cell_attributes import CALLED_NET
from tbe_impl import environment
from tbe_impl.runtime.store import make_key, user_store
from tbe_impl.runtime.store_kinds import CHOICES, TUNINGS

MOST_KERNELS = 512
"""Maximum number of kernel keys in a stored record; larger records could not be read back."""
FORGET_REMEDY = "`mf.tune(net, forget=True)` forgets it."

Key = Annotated[str, msgspec.Meta(pattern="^[0-9a-f]{64}$")]
_reported_texts: set[str] = set()


class NetChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The fastest way to compile a net, as found by tuning.

    Attributes:
        kept_out: operators excluded from clustering.
        fused: False if the net is fastest without fusion.
        why: a sentence with the measurement.
        losses: a sentence for each variant of the fused net that is slower than the unfused net.
    """

    kept_out: tuple[str, ...] = ()
    fused: bool = True
    why: str = ""
    losses: tuple[str, ...] = ()

    def apply_to(self, flags: str) -> str:
        """Returns `flags` with the changes that this choice requires.

        Flags for MindSpore's generator are returned unchanged.
        """
        if generator_of(flags) != "ms_fusion" or (self.fused and not self.kept_out):
            return flags
        known = GraphKernelFlags.parse(flags)
        if not self.fused:
            return GraphKernelFlags(opt_level=0).render()
        asked = tuple(name for name in known.enable_cluster_ops or () if name not in self.kept_out)
        out = tuple(dict.fromkeys((*(known.disable_cluster_ops or ()), *self.kept_out)))
        return replace(known, enable_cluster_ops=asked, disable_cluster_ops=out).render()

    def notes(self, flags: str) -> tuple[str, ...]:
        """Returns remarks about tuning for the ledger (the fusion record of a net).

        Args:
            flags: the flags for which the net is compiled.
        """
        if generator_of(flags) != "ms_fusion":
            return ()
        decided = () if self.apply_to(flags) == flags else (self.why,)
        return tuple(f"Tuning: {text}" for text in (*decided, *self.losses))


class TunedNetRecord(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """The tuning result of a net for certain inputs, as stored.

    Attributes:
        net: key of the net, without its inputs.
        name: name of the net.
        inputs: shapes and dtypes of the inputs, as a string.
        choice: the fastest way to compile the net.
        kernels: keys of the tuning records of the net's kernels.
    """

    net: Key
    name: Annotated[str, msgspec.Meta(max_length=200)]
    inputs: Annotated[str, msgspec.Meta(max_length=2000)]
    choice: NetChoice
    kernels: tuple[Key, ...] = ()

    def line(self) -> str:
        """Returns one line of text about this record, for a list of records."""
        measured = f" {len(self.kernels)} of its kernels were measured." if self.kernels else ""
        return f"{self.name} ({self.inputs}): {self.choice.why or 'all is fused.'}{measured}"


_DECODER = msgspec.json.Decoder(TunedNetRecord)


def records() -> Iterator[tuple[str, TunedNetRecord]]:
    """Yields a pair for each stored record: (key, record)."""
    return user_store().records(CHOICES, _DECODER)


def remember(
    net: Any, inputs: Sequence[Any], choice: NetChoice, *, kernels: Sequence[str] = ()
) -> None:
    """Stores `choice` for all nets with the same code, parameters and inputs.

    Args:
        net, inputs: the tuned net and its inputs.
        choice: the fastest way to compile the net.
        kernels: keys of the tuning records of the net's kernels. If the net already has a record,
            the new record also has the keys of the old record.
    """
    key = _key(net, inputs)
    earlier = user_store().read_record(CHOICES, key, _DECODER)
    known = dict.fromkeys((*kernels, *(earlier.kernels if earlier else ())))
    user_store().write_record(
        CHOICES,
        key,
        TunedNetRecord(
            net=_key(net),
            name=_name(net)[:200],
            inputs=", ".join(map(_text_of, inputs))[:2000],
            choice=choice,
            kernels=tuple(known)[:MOST_KERNELS],
        ),
    )


def recall(net: Any, inputs: Sequence[Any]) -> NetChoice | None:
    """Returns the choice that was stored for a net with the same code, parameters and inputs.

    Returns None if no choice was stored for such a net.
    """
    store = user_store()
    if not store.has_any(CHOICES):
        return None
    found = store.read_record(CHOICES, _key(net, inputs), _DECODER)
    return found.choice if found else None


def forget(net: Any, inputs: Sequence[Any] = ()) -> int:
    """Removes the records of a net and of its kernels; returns the number of removed records.

    Args:
        net: the tuned net, or a net with the same code and parameters.
        inputs: the inputs for which the net was tuned. If `inputs` is empty, the function removes
            the records for all inputs.
    """
    store, net_key = user_store(), _key(net)
    wanted = _key(net, inputs) if inputs else ""
    gone = {key: one for key, one in records() if one.net == net_key and wanted in ("", key)}
    kernels = {kernel for one in gone.values() for kernel in one.kernels}
    return store.remove(CHOICES, gone) + store.remove(TUNINGS, kernels)


def apply_choice(flags: str, net: Any, inputs: Sequence[Any]) -> str:
    """Returns `flags` with the changes that were fastest in the tuning of `net`.

    If the flags change, one message with the reason is shown to the user.
    """
    if generator_of(flags) != "ms_fusion":
        return flags
    found = recall(net, inputs)
    if found is None or found.apply_to(flags) == flags:
        return flags
    text = f"{_name(net)}: by what tuning found, {found.why} {FORGET_REMEDY}"
    if text not in _reported_texts:
        from ms_fusion.mindspore.presets.compile_messages import say

        _reported_texts.add(text)
        say(text)
    return found.apply_to(flags)


def _key(net: Any, inputs: Sequence[Any] | None = None) -> str:
    """Returns the key of a net: a digest of its classes, code, parameters and inputs.

    The key also depends on the machine. If `inputs` is None, the key does not depend on the inputs.
    """
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
    """Returns the shape and dtype of an input as a string, or its type if it has no shape."""
    shape = getattr(given, "shape", None)
    if shape is None:
        return type(given).__name__
    return f"{'x'.join(map(str, shape)) or 'scalar'}:{str(getattr(given, 'dtype', '')).lower()}"


def _code_of(kind: Any) -> str:
    """Returns the Python bytecode of a Cell class or function as a string, or "" without bytecode.

    The code is part of a net's key because different scripts have classes of the same name.
    """
    code = getattr(inspect.unwrap(getattr(kind, "construct", kind)), "__code__", None)
    return _text(code) if code else ""


def _text(code: CodeType) -> str:
    """Converts a code object (or a constant in it) to a string that is the same in every process.

    The string contains no addresses and no file names, and sets are sorted.
    """
    constants = (
        _text(one)
        if isinstance(one, CodeType)
        else " ".join(sorted(map(repr, one)))
        if isinstance(one, frozenset)
        else repr(one)
        for one in code.co_consts
    )
    return " ".join((code.co_code.hex(), *code.co_names, *constants))
