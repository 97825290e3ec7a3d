"""Random networks through MindSpore: fused by our generator against unfused and float64.

``python -m tests.ms_fusion.kernel_server.network_runs FIRST LAST`` runs the seeds from FIRST up to,
not including, LAST.
"""

from __future__ import annotations

import contextlib
import importlib.util
import logging
import sys
import tempfile
import warnings
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import numpy as np

from ms_fusion.kernel_server import build_records
from ms_fusion.mindspore import presets
from ms_fusion.ops.call import is_float, numpy_dtype
from tests.ms_fusion.kernel_server.random_networks import Network, draw

EPSILON = {"bfloat16": 2.0**-7, "float16": 2.0**-10, "float32": 2.0**-23, "float64": 2.0**-52}
FIRST = 100.0
"""Roundings that always pass."""
WORSE = 6.0
"""Largest error ratio to the unfused network: both are a few roundings, by chance."""

UNFUSED = "--opt_level=0"
NARROW = ("ops.fmax(", "ops.fmin(")
"""MindSpore computes their gradients in float32, even where everything else is float64."""


@dataclass(frozen=True)
class Run:
    """Result of one network.

    Attributes:
        wrong: failure of the fused network; empty if none.
        skipped: why MindSpore itself cannot run it; empty when it can.
        gain: error of the unfused network divided by that of the fused one, the worst of both over
            all results.
    """

    network: Network
    wrong: str = ""
    skipped: str = ""
    gain: float = 1.0


def results(
    network: Network,
    place: Path,
    flags: str,
    *,
    exact: bool,
    off: float = 0.0,
    compiled: bool = True,
) -> list[Any]:
    """Outputs, then gradients, of inputs perturbed by up to `off` of their magnitude; equal ones
    stay equal.

    Args:
        compiled: as one graph, or else by operator in the current mode.
    """
    import mindspore

    name = f"net_{network.seed}_{network.dtype}_{'exact' if exact else len(flags)}"
    module = loaded(place / f"{name}.py", network.text(exact=exact))
    given = tensors(network, "float64" if exact else network.dtype, off)
    # MindSpore does not pass a scalar beside a bfloat16 tensor; a preset compiles that without
    # fusion
    by_preset = flags != UNFUSED and network.dtype == "bfloat16"
    scope = (
        presets.fusion(flags=flags, generator="ms_fusion")
        if by_preset
        else presets.environment_flags(flags)
    )
    with warnings.catch_warnings(), scope:
        warnings.simplefilter("ignore")
        step = mindspore.jit(module.step) if compiled else module.step
        (_, *outputs), gradients = step(*given)
    gradients = gradients if isinstance(gradients, tuple) else (gradients,)
    return [one.asnumpy() for one in (*outputs, *gradients)]


def loaded(file: Path, text: str) -> Any:
    """A module of that source text."""
    file.write_text(text, "utf-8")
    spec = importlib.util.spec_from_file_location(file.stem, file)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    # MindSpore looks it up by name
    sys.modules[file.stem] = module
    spec.loader.exec_module(module)
    return module


def tensors(network: Network, dtype: str, off: float = 0.0) -> list[Any]:
    """Its inputs, floats in `dtype`, each perturbed by up to `off` of its magnitude."""
    import mindspore

    return [
        mindspore.Tensor(
            (one + one * np.sign(np.sin(1000 * np.abs(one))) * off).astype(numpy_dtype(dtype))
            if one.dtype == np.float64
            else one
        )
        for one in network.inputs.values()
    ]


@contextlib.contextmanager
def told() -> Iterator[list[str]]:
    """Warnings inside right but slow kernels."""
    told: list[str] = []
    handler = logging.Handler()
    handler.emit = lambda record: told.append(record.getMessage())  # type: ignore[method-assign]
    place = presets.kernel_directory() / "akg_kernel_meta"
    seen = set(build_records.read(place))
    log = logging.getLogger("ms_fusion")
    log.addHandler(handler)
    try:
        yield told
    finally:
        log.removeHandler(handler)
        made = build_records.read(place)
        told += [f"{name}: {one.why}" for name, one in made.items() if one.why and name not in seen]


def run(network: Network, place: Path, flags: str) -> Run:
    """Runs one network; `flags` are those of our generator."""
    try:
        plain = unfused_and_exact(network, place)
    except Exception as error:  # noqa: BLE001 - MindSpore itself does not take this network
        return Run(network, skipped=" ".join(str(error).split())[:200])
    return beside(*plain, network, place, flags)


def unfused_and_exact(network: Network, place: Path) -> tuple[list[Any], list[Any]]:
    """The results of MindSpore's own operators, in the network's dtype and in float64."""
    return (
        results(network, place, UNFUSED, exact=False),
        results(network, place, UNFUSED, exact=True),
    )


def beside(unfused: list[Any], exact: list[Any], network: Network, place: Path, flags: str) -> Run:
    """The fused network against the unfused one and float64."""
    slopes = (
        "float32"
        if network.dtype == "float64"
        and any(word in line for word in NARROW for line in network.body)
        else network.dtype
    )
    outputs = len(network.wanted)
    dtypes = [network.dtype] * outputs + [slopes] * (len(exact) - outputs)
    return compared(
        network,
        unfused,
        exact,
        dtypes,
        lambda: results(network, place, flags, exact=False),
        lambda: results(network, place, UNFUSED, exact=True, off=4 * EPSILON[network.dtype]),
    )


def compared(
    network: Network,
    unfused: list[Any],
    exact: list[Any],
    dtypes: Sequence[str],
    fuse: Callable[[], list[Any]],
    move: Callable[[], list[Any]],
) -> Run:
    """Failures of the fused network.

    Args:
        unfused, exact: results of MindSpore's own operators, and the same in float64; the network's
            outputs come first.
        dtypes: dtype that limits the accuracy of each result.
        fuse: runs it fused.
        move: runs it unfused in float64, with inputs perturbed by one rounding.
    """
    try:
        with told() as said:
            fused = fuse()
    except Exception as error:  # noqa: BLE001 - it runs unfused, so this is ours
        return Run(network, wrong=f"it does not run: {' '.join(str(error).split())[:500]}")
    if said:
        return Run(network, wrong="; ".join(said))
    wanted = [*network.wanted, *exact[len(network.wanted) :]]
    found = [judged(*five) for five in zip(fused, unfused, exact, wanted, dtypes, strict=True)]
    if any(why for why, _ in found):
        # an ill-conditioned result may differ by as much as one input rounding changes it
        noise = [
            distance(*two) if is_float(two[0].dtype.name) else 0.0
            for two in zip(move(), exact, strict=True)
        ]
        found = [
            judged(*six) for six in zip(fused, unfused, exact, wanted, dtypes, noise, strict=True)
        ]
    wrong = [f"result {number}: {why}" for number, (why, _) in enumerate(found) if why]
    return Run(network, "; ".join(wrong), gain=min(gain for _, gain in found))


def judged(
    fused: Any, unfused: Any, exact: Any, wanted: Any, dtype: str, noise: float = 0.0
) -> tuple[str, float]:
    """The failure of a result, and its error ratio to the unfused one.

    Args:
        wanted: NumPy's output, or the float64 gradient of MindSpore's operators.
        exact: MindSpore's unfused float64 result.
        noise: change of a result for inputs perturbed by one rounding.
    """
    # MindSpore returns float32 for a float32 computation when it is one of several results
    wider = fused.dtype == np.float32 and is_float(unfused.dtype.name)
    if fused.shape != unfused.shape or (fused.dtype != unfused.dtype and not wider):
        return f"{fused.dtype}{fused.shape} for {unfused.dtype}{unfused.shape}", 1.0
    if not is_float(fused.dtype.name):
        same = np.array_equal(fused, wanted) or np.array_equal(fused, unfused)
        return "" if same else f"{int((fused != wanted).sum())} of {fused.size} differ", 1.0
    if not np.allclose(exact, wanted, rtol=1e-9, atol=1e-9):
        return "MindSpore's operators mean something else than their formulas in NumPy", 1.0
    ours, theirs = distance(fused, wanted), distance(unfused, wanted)
    if not np.isfinite(ours):
        return ("" if not np.isfinite(theirs) else "not a number"), 1.0
    if np.max(np.abs(fused.astype(np.float64) - wanted), initial=0.0) <= EPSILON[dtype]:
        return "", 1.0  # cancellation leaves a rounding of values near 1
    bound = max(FIRST * EPSILON[dtype], WORSE * theirs, WORSE * noise)
    floor = EPSILON[dtype]
    return (
        ""
        if ours <= bound
        else f"{ours:.2g} from float64, unfused {theirs:.2g}, inputs a rounding off {noise:.2g}"
    ), (theirs + floor) / (ours + floor)


def distance(got: Any, wanted: Any) -> float:
    """Error of all elements together, relative to their magnitude."""
    wanted = wanted.astype(np.float64)
    size = np.sqrt(np.sum(np.square(wanted))) or 1.0
    with np.errstate(all="ignore"):
        return float(np.sqrt(np.sum(np.square(got.astype(np.float64) - wanted))) / size)


def main(first: int, last: int) -> None:
    """Runs the networks of these seeds in this process, and prints failures."""
    import mindspore

    from ms_fusion.mindspore.flags.own_generator_flags import flags_for_own_generator

    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    flags, found = flags_for_own_generator(2).render(), []
    with tempfile.TemporaryDirectory() as place:
        for seed in range(first, last):
            found.append(run(draw(seed), Path(place), flags))
            if found[-1].wrong or found[-1].skipped:
                print(
                    seed,
                    found[-1].network.dtype,
                    found[-1].wrong or f"skipped: {found[-1].skipped}",
                    flush=True,
                )
    print(
        f"{len(found)} networks, {sum(bool(one.wrong) for one in found)} wrong, "
        f"{sum(bool(one.skipped) for one in found)} skipped"
    )


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]))
