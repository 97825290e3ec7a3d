"""Networks that hold every operator of the vocabulary once: by itself, before a sum, beside what is broadcast.

``python -m tests.ms_fusion.kernel_server.tables [DTYPE …]`` runs those of some dtypes through MindSpore, or all.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Callable, Iterator, Sequence
from pathlib import Path
from typing import Any

import numpy as np

from tests.ms_fusion.kernel_server.network_runs import run
from tests.ms_fusion.kernel_server.random_networks import COMPARED, ROUNDED, Network
from tests.ms_fusion.kernel_server.vocabulary import (
    BINARY,
    MORE_BINARY,
    MORE_UNARY,
    NAMES,
    UNARY,
)

FLOATS = ("float16", "float32", "float64")
WHOLE = ("int8", "uint8", "int16", "int32", "int64")
SHAPE, ROW, COLUMN = (6, 9), (9,), (6, 1)
RANGES = {"wide": (-4, 4), "positive": (0.4, 4), "inside": (-0.8, 0.8), "above": (1.3, 4), "few": (0.4, 2.5)}  # fmt: skip
PART = 24
"""Operators of one network: a kernel of all of them takes the compiler long."""


class _Table:
    """Lines, what they mean, and the inputs that they need."""

    def __init__(self) -> None:
        self.lines: list[str] = []
        self.inputs: dict[str, Any] = {}
        self.wanted: list[Any] = []

    def add(self, ours: str, wanted: str, names: Sequence[str]) -> None:
        with np.errstate(all="ignore"):
            made = np.asarray(eval(wanted.format(*names), dict(NAMES), dict(self.inputs)))  # noqa: S307 - our own text
        self.lines.append(f"v{len(self.lines)} = {ours.format(*names)}")
        self.wanted.append(made)

    def network(self, number: int, dtype: str) -> Network:
        outputs = tuple(f"v{number}" for number in range(len(self.lines)))
        return Network(number, dtype, len(self.lines), tuple(self.lines), self.inputs, outputs, tuple(self.wanted))  # fmt: skip


FORMS: tuple[tuple[str, str], ...] = (
    ("{}", "{}"),
    ("ops.sum(({}) * 0.5, dim=-1)", "np.sum(({}) * 0.5, -1)"),
    ("({}) * row + column", "({}) * row + column"),
)
"""By itself, before a sum, beside what is broadcast."""


def of_floats(dtype: str) -> Iterator[Network]:
    """Every operator of floats in each form."""
    every = [(one, 1) for one in (*UNARY, *MORE_UNARY)] + [(one, 2) for one in (*BINARY, *MORE_BINARY)]  # fmt: skip
    for form in range(len(FORMS)):
        for first in range(0, len(every), PART):
            table = _Table()
            _float_inputs(table)
            for (ours, wanted, allowed), count in every[first : first + PART]:
                names = _inputs_for(table, allowed, count, broadcast=form == 2)
                result = np.asarray(eval(wanted.format(*names), dict(NAMES), dict(table.inputs)))  # noqa: S307 - our own text  # fmt: skip
                around = FORMS[form] if result.shape == SHAPE else FORMS[0]
                table.add(around[0].format(ours), around[1].format(wanted), names)
            yield table.network(100 * form + first // PART, dtype)


def _float_inputs(table: _Table) -> None:
    random = np.random.default_rng(3)
    for name, (low, high) in RANGES.items():
        for number in range(2):
            table.inputs[f"{name}{number}"] = _eighths(random.uniform(low, high, SHAPE))
        table.inputs[f"{name}_row"] = _eighths(random.uniform(low, high, ROW))
    table.inputs["row"], table.inputs["column"] = (_eighths(random.uniform(0.5, 2, one)) for one in (ROW, COLUMN))  # fmt: skip


def _eighths(x: Any) -> Any:
    """Exact in every float, and no whole number."""
    return np.floor(x * 8) / 8 + 1 / 16


def _inputs_for(table: _Table, allowed: Callable[..., bool], count: int, *, broadcast: bool) -> tuple[str, ...]:  # fmt: skip
    """Inputs that an operator is defined for; with `broadcast` the second is a row, if that may be."""
    for second in ("_row", "1") if broadcast else ("1",):
        for first in RANGES:
            for other in RANGES:
                names = (f"{first}0", f"{other}{second}")[:count]
                if allowed(*(table.inputs[name] for name in names)):
                    return names
    raise AssertionError("no input fits")


def of_whole(dtype: str) -> Iterator[Network]:
    """Operators of whole numbers and of truth values, exactly."""
    table = _Table()
    random = np.random.default_rng(5)
    low = 0 if dtype.startswith("u") else -9
    table.inputs |= {"x": _eighths(random.uniform(-4, 4, SHAPE)), "a": random.integers(low, 10, SHAPE).astype(dtype)}  # fmt: skip
    table.inputs |= {"b": random.integers(low, 10, SHAPE).astype(dtype), "r": random.integers(1, 5, ROW).astype(dtype)}  # fmt: skip
    table.add("x * 2.0", "x * 2.0", ())
    for word in ("add", "sub", "mul", "maximum", "minimum"):
        name = {"sub": "subtract", "mul": "multiply"}.get(word, word)
        for pair in (("a", "b"), ("a", "r")):
            table.add(f"ops.{word}({{0}}, {{1}})", f"np.{name}({{0}}, {{1}})", pair)
    table.add("ops.floor_div({0}, {1})", "{0} // {1}", ("a", "r"))
    table.add("ops.floor_mod({0}, {1})", "{0} % {1}", ("a", "r"))
    table.add("ops.square({0})", "{0} * {0}", ("a",))
    table.add("ops.amax({0} + {1}, -1)", "np.max({0} + {1}, -1)", ("a", "r"))
    if low:
        table.add("ops.neg({0})", "-{0}", ("a",))
        table.add("ops.abs({0})", "np.abs({0})", ("a",))
    for word in COMPARED:
        table.add(f"ops.{word}({{0}}, {{1}})", f"np.{word}({{0}}, {{1}})", ("a", "r"))
    for word in ("logical_and", "logical_or", "logical_xor"):
        table.add(f"ops.{word}({{0}} > 2, {{1}} > 2)", f"np.{word}({{0}} > 2, {{1}} > 2)", ("a", "r"))  # fmt: skip
    table.add("ops.logical_not({0} > 2)", "np.logical_not({0} > 2)", ("a",))
    table.add("ops.any({0} > 7, -1)", "np.any({0} > 7, -1)", ("a",))
    table.add("ops.all({0} < 9, -1)", "np.all({0} < 9, -1)", ("a",))
    table.add("ops.select({0} > {1}, {0}, {0} + {0})", "np.where({0} > {1}, {0}, {0} + {0})", ("a", "r"))  # fmt: skip
    table.add("ops.tile({0}, (2, 1))", "np.tile({0}, (2, 1))", ("a",))
    table.add("ops.transpose({0}, (1, 0))", "{0}.T", ("a",))
    table.add("{0}[1:, ::2] + {0}[1:, ::2]", "{0}[1:, ::2] + {0}[1:, ::2]", ("a",))
    for ours, wanted in ROUNDED:
        table.add(f"ops.cast({ours}, ms.{dtype})", f"({wanted}).astype('{dtype}')", ("x",) if low else ("x * x",))  # fmt: skip
    for target in ("float32", "float16", "int64", "bool"):
        table.add(f"ops.cast({{0}} * 2, ms.{target}) ", f"({{0}} * 2).astype('{target}')", ("r",))
    yield table.network(0, "float32")


def networks(dtype: str) -> Iterator[Network]:
    """The table of a dtype."""
    return of_floats(dtype) if dtype in FLOATS else of_whole(dtype)


def wrong(table: Sequence[Network]) -> list[str]:
    """What is wrong with them, fused by our generator in this process."""
    import mindspore

    from ms_fusion.presets.served import served

    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    found = []
    with tempfile.TemporaryDirectory() as place:
        for network in table:
            done = run(network, Path(place), served(2).render())
            if done.wrong or done.skipped:
                lines = "; ".join(f"{at}: {line}" for at, line in enumerate(network.body) if f"result {at}:" in done.wrong)  # fmt: skip
                found.append(f"{network.dtype} {network.seed}: {done.wrong or 'skipped: ' + done.skipped}: {lines}")  # fmt: skip
    return found


if __name__ == "__main__":
    for kind in sys.argv[1:] or (*FLOATS, *WHOLE):
        print(kind, " | ".join(wrong(list(networks(kind)))) or "right", sep="\n  ", flush=True)
