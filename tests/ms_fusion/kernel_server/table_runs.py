"""Operator tables through MindSpore: fused by our generator against unfused and NumPy.

``python -m tests.ms_fusion.kernel_server.table_runs [DTYPE[:FIRST:LAST] …]`` runs the tables of
some dtypes, or all.
"""

from __future__ import annotations

import sys
import tempfile
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any

import numpy as np

from ms_fusion.mindspore import presets
from ms_fusion.ops.call import is_float
from ms_fusion.readers.composite import parse_kernel
from tests.ms_fusion.kernel_server.any_vocabulary import DTYPES
from tests.ms_fusion.kernel_server.network_runs import (
    EPSILON,
    FIRST,
    UNFUSED,
    beside,
    distance,
    results,
    unfused_and_exact,
)
from tests.ms_fusion.kernel_server.random_networks import Network
from tests.ms_fusion.kernel_server.tables import networks


@dataclass
class Seen:
    """Result of a table.

    Attributes:
        right: number of equal expressions.
        wrong: failures, with the expression.
        refused: expressions that MindSpore does not run unfused.
    """

    right: int = 0
    wrong: list[str] = field(default_factory=list)
    refused: list[str] = field(default_factory=list)


def seen(table: Iterable[Network]) -> Seen:
    """Runs them in this process."""
    import mindspore

    from ms_fusion.mindspore.flags.own_generator_flags import flags_for_own_generator

    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    found, flags = Seen(), flags_for_own_generator(2).render()
    with tempfile.TemporaryDirectory() as name:
        place = Path(name)
        for network in table:
            for whole in _probed(network, place, found):
                for part, *plain in _runnable(whole, place, found):
                    wrong = _wrong(part, place, flags, *plain)
                    found.wrong += [f"{part.dtype} {part.seed}: {one}" for one in wrong]
                    found.right += len(part.body) if not wrong else 0
    return found


def handed_over() -> set[tuple[str, str]]:
    """Operators that MindSpore passed in this process, each with the dtype of its first input."""
    place = presets.kernel_directory() / "akg_kernel_meta"
    found = set()
    for path in place.glob("*.info"):
        graph = parse_kernel(path.read_text("utf-8"), file=path.name).graph
        found |= {(node.op, graph.inputs_of(node)[0].dtype) for node in graph.nodes if node.inputs}
    return found


def _probed(network: Network, place: Path, found: Seen) -> Iterator[Network]:
    """The lines that MindSpore accepts, with gradients if it has them; a refused line costs
    compilations.
    """
    import mindspore as ms

    with_gradients, without = [], []
    ms.set_context(mode=ms.PYNATIVE_MODE)
    for at, line in enumerate(network.body):
        one = _part(network, [at])
        if network.gradients and not _refusal(one, place):
            with_gradients.append(at)
        elif not (why := _refusal(replace(one, gradients=False), place)):
            without.append(at)
        else:
            found.refused.append(f"{line}: {why}")
    ms.set_context(mode=ms.GRAPH_MODE)
    yield _part(network, with_gradients)
    yield replace(_part(network, without), gradients=False)


def _refusal(network: Network, place: Path) -> str:
    """Why MindSpore does not run it by operator; empty if it does."""
    try:
        for exact in (False, True) if network.gradients else (False,):
            results(network, place, UNFUSED, exact=exact, compiled=False)
        return ""
    except Exception as error:  # noqa: BLE001 - whatever it is, it does not take it
        return " ".join(str(error).split())[:80]


def _part(network: Network, kept: Iterable[int]) -> Network:
    """Some of its lines, with new numbers."""
    kept = list(kept)
    lines = tuple(f"v{at} = {network.body[old].partition(' = ')[2]}" for at, old in enumerate(kept))
    outputs = tuple(f"v{at}" for at in range(len(kept)))
    return replace(
        network,
        body=lines,
        operators=len(lines),
        outputs=outputs,
        wanted=tuple(network.wanted[old] for old in kept),
    )


def _runnable(
    network: Network, place: Path, found: Seen
) -> Iterator[tuple[Network, list[Any], list[Any]]]:
    """The parts that MindSpore compiles and runs unfused, with results, and with float64 results
    for gradients.
    """
    if not network.body:
        return
    try:
        if network.gradients:
            plain = unfused_and_exact(network, place)
        else:
            plain = results(network, place, UNFUSED, exact=False), []
    except Exception as error:  # noqa: BLE001 - it does not take it
        count = len(network.body)
        if count > 1:
            for part in (range(count // 2), range(count // 2, count)):
                yield from _runnable(_part(network, part), place, found)
        elif network.gradients:
            yield from _runnable(replace(network, gradients=False), place, found)
        else:
            found.refused.append(f"{network.body[0]}: {' '.join(str(error).split())[:80]}")
        return
    yield network, *plain


def _wrong(
    network: Network, place: Path, flags: str, unfused: list[Any], exact: list[Any]
) -> list[str]:
    """Failures of a network that runs unfused, each with its line."""
    if network.gradients:
        told = beside(unfused, exact, network, place, flags).wrong
        lines = "; ".join(
            f"{at}: {line}" for at, line in enumerate(network.body) if f"result {at}:" in told
        )
        return [f"{told}: {lines}"] if told else []
    try:
        fused = results(network, place, flags, exact=False)
    except Exception as error:  # noqa: BLE001 - it runs unfused, so this is ours
        if len(network.body) == 1:
            return [f"{network.body[0]} does not run: {' '.join(str(error).split())[:300]}"]
        half = len(network.body) // 2
        both = (slice(half), slice(half, None))
        whole = range(len(network.body))
        return [
            one
            for at in both
            for one in _wrong(_part(network, whole[at]), place, flags, unfused[at], [])
        ]
    found = zip(network.body, fused, unfused, network.wanted, strict=True)
    return [f"{line}: {why}" for line, *three in found if (why := _unlike(*three))]


def _unlike(fused: Any, unfused: Any, wanted: Any) -> str:
    """How a result differs from both MindSpore's operators and NumPy; empty if it agrees with
    either.
    """
    if (fused.shape, fused.dtype) != (unfused.shape, unfused.dtype):
        return f"{fused.dtype}{fused.shape} for {unfused.dtype}{unfused.shape}"
    if not is_float(fused.dtype.name):
        same = np.array_equal(fused, unfused) or (
            wanted is not None and np.array_equal(fused, wanted)
        )
        return "" if same else f"{fused.reshape(-1)[:6]} for {unfused.reshape(-1)[:6]}"
    bound = FIRST * EPSILON[fused.dtype.name]
    off = [distance(fused, one) for one in (unfused, wanted) if one is not None]
    return (
        ""
        if min(off) <= bound or np.array_equal(fused, unfused, equal_nan=True)
        else f"{off} off: {fused.reshape(-1)[:6]} for {unfused.reshape(-1)[:6]}"
    )


def main(dtypes: Sequence[str]) -> None:
    """Prints the result of each table; ``float32:2:5`` selects the third to fifth networks."""
    for asked in dtypes:
        dtype, *part = asked.split(":")
        one = seen(islice(networks(dtype), *map(int, part)) if part else networks(dtype))
        print(
            f"{dtype}: {one.right} right, {len(one.wrong)} wrong, {len(one.refused)} that "
            f"MindSpore does not run, {len(handed_over())} handed over",
            *one.wrong,
            sep="\n  ",
            flush=True,
        )


if __name__ == "__main__":
    main(sys.argv[1:] or DTYPES)
