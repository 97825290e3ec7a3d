"""What tuning found for a whole net: operators that are better kept out of its clusters, or that it is quickest unfused."""

from __future__ import annotations

import inspect
from collections.abc import Sequence
from dataclasses import replace
from types import CodeType
from typing import Any

import msgspec

from ms_fusion.flags import GraphKernelFlags
from ms_fusion.generator_limits import generator_of
from ms_fusion.presets.marks import CALLED_NET
from tbe_impl import environment
from tbe_impl.backends.cpu import compiler
from tbe_impl.cache import make_key


class NetChoice(msgspec.Struct, frozen=True, forbid_unknown_fields=True, kw_only=True):
    """A net's record, kept beside the kernels.

    Attributes:
        kept_out: operators that are not clustered.
        fused: False where nothing that was tried is quicker than unfused.
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


def remember(net: Any, inputs: Sequence[Any], choice: NetChoice) -> None:
    """Keeps the choice for nets of this code, parameters and inputs."""
    compiler.user_cache().remember(_key(net, inputs), msgspec.json.encode(choice))


def recall(net: Any, inputs: Sequence[Any]) -> NetChoice | None:
    """What was kept for a net like this, None when it was not tuned."""
    known = compiler.user_cache().recall(_key(net, inputs))
    if known is None:
        return None
    try:
        return msgspec.json.decode(known, type=NetChoice)
    except msgspec.DecodeError:
        return None


def applied(flags: str, net: Any, inputs: Sequence[Any]) -> str:
    """`flags` as tuning would have them for this net."""
    if generator_of(flags) != "ms_fusion":
        return flags
    found = recall(net, inputs)
    return flags if found is None else found.over(flags)


def _key(net: Any, inputs: Sequence[Any]) -> str:
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
        *(f"{getattr(one, 'shape', type(one).__name__)} {getattr(one, 'dtype', '')}" for one in inputs),
    ]  # fmt: skip
    return make_key(net=parts, threads=environment.threads())


def _code_of(kind: Any) -> str:
    """What a class of Cells or a function computes: many a script has a class of the same name."""
    code = getattr(inspect.unwrap(getattr(kind, "construct", kind)), "__code__", None)
    return _text(code) if code else ""


def _text(code: CodeType) -> str:
    """Without places in memory and files, and in an order that is the same in each process."""
    constants = (
        _text(one) if isinstance(one, CodeType)
        else " ".join(sorted(map(repr, one))) if isinstance(one, frozenset)
        else repr(one)
        for one in code.co_consts
    )  # fmt: skip
    return " ".join((code.co_code.hex(), *code.co_names, *constants))
