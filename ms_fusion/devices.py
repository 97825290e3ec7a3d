"""Describes devices for the cost model.

The description of a device contains its bandwidth, its peak rates, its launch cost, the size of its
on-chip memory, and the origin of these figures.
"""

from __future__ import annotations

import itertools
import os
from collections.abc import Callable, Mapping
from dataclasses import dataclass, fields
from functools import cache
from pathlib import Path
from types import MappingProxyType
from typing import Any

from ms_fusion.ops.op_info import ROOT_STEPS


@dataclass(frozen=True)
class Device:
    """One device of the roofline model.

    Attributes:
        name: key in `DEVICES`.
        bandwidth_bytes_per_s: bandwidth of main memory, reads and writes together.
        flops_per_s: peak rate of the unit for matrix products.
        launch_us: time that one additional kernel adds to a call of a compiled graph, µs.
        on_chip_bytes: size in bytes of one core's memory for tiles of a fused kernel.
        source: origin of the figures.
        vector_flops_per_s: peak rate of the unit for all other arithmetic, or None if one unit
            computes matrix products and all other arithmetic.
        rates: pairs (size in bytes, rate in bytes per second), from the nearest cache outwards. If
            a kernel passes a result of at most this size to the next kernel, both kernels transfer
            data at this rate. For results that are larger than all sizes, the rate is
            `bandwidth_bytes_per_s`.
        cores: number of cores that execute a large kernel together; `vector_flops_per_s` is the
            rate of one core.
        lacks: ONNX operators, such as ``Conv``, that the device does not support, and that
            ms_fusion can replace by simpler operators.
    """

    name: str
    bandwidth_bytes_per_s: float
    flops_per_s: float
    launch_us: float
    on_chip_bytes: int
    source: str
    vector_flops_per_s: float | None = None
    rates: tuple[tuple[int, float], ...] = ()
    cores: int = 1
    lacks: tuple[str, ...] = ()

    def rate_of_bytes(self, held: int) -> float:
        """Returns the rate, in bytes per second, at which consecutive kernels move data.

        `held` is the number of bytes that each of the consecutive kernels moves.
        """
        return next((rate for most, rate in self.rates if held <= most), self.bandwidth_bytes_per_s)

    def rate(self, *, matrix: bool) -> float:
        """Returns the FLOP per second of the unit for matrix products or for other arithmetic.

        If `matrix` is False and the device has a separate vector unit, the result is the rate of
        one core's vector unit. Otherwise the result is the rate of the unit for matrix products.
        """
        return (
            self.flops_per_s
            if matrix or self.vector_flops_per_s is None
            else self.vector_flops_per_s
        )

    def peak(self, *, matrix: bool) -> float:
        """Returns the peak FLOP per second of all cores, for the unit that `rate` selects."""
        shared = not matrix and self.vector_flops_per_s is not None
        return self.rate(matrix=matrix) * (self.cores if shared else 1)

    @property
    def roofs(self) -> dict[str, float]:
        """A dict from a name in reports to the bandwidth in GB/s, or to a peak rate in GFLOP/s."""
        return {
            "bandwidth_gb_per_s": round(self.bandwidth_bytes_per_s / 1e9, 1),
            "matrix_gflop_per_s": round(self.peak(matrix=True) / 1e9, 1),
            "vector_gflop_per_s": round(self.peak(matrix=False) / 1e9, 1),
        }


SIZES = (3 << 19, 2 << 20, 4 << 20, 8 << 20, 16 << 20)
"""Working-set sizes for which a rate is measured, bytes."""
ARRAYS, GAP = 8, 1600
"""Number of arrays in the rate measurement, and gap between them in elements.

The measurement sums several arrays in turn, because a kernel of a net rarely overwrites the result
of a kernel that ran shortly before. The gap avoids cache conflicts between arrays at equal page
offsets.
"""
ROOTS = 1 << 14
"""Number of square roots per measurement, and number of vector steps of one root.

The operands fit in the nearest cache. `ms_fusion.cost.vector_steps` defines a vector step.
"""
MIN_TRIAL_S = 0.03
"""Minimum total time of the measurement of one figure, s."""
CPU_LAUNCH_US = 1.2
"""Cost of one more operator in a compiled graph of MindSpore 2.10 on CPU, µs.

This figure is used on machines on which `measure_launch_us` has not run yet.
"""
LAUNCHES, LAUNCH_TRIALS = 32, 100
"""Number of additional operators in the launch measurement, and number of timed calls per graph."""

_CANN = (
    "from CANN's published platform_config/{}.ini: bandwidth = cores x bytes per cycle x clock, "
    "FLOP/s = cores x 2 x 16^3 x clock, on-chip memory = ub_size"
)
_LAUNCH_ASSUMPTION = "; the launch cost is an assumption, measure it"

DEVICES: Mapping[str, Device] = MappingProxyType(
    {
        device.name: device
        for device in (
            Device(
                name="ascend910a",
                bandwidth_bytes_per_s=32 * 32 * 1.0e9,
                flops_per_s=32 * 2 * 16**3 * 1.0e9,
                vector_flops_per_s=32 * 64 * 1.0e9,
                launch_us=5.0,
                on_chip_bytes=262_144,
                source=_CANN.format("Ascend910A")
                + " (its HBM alone: 1.2 TB/s, Hot Chips 31)"
                + _LAUNCH_ASSUMPTION,
            ),
            Device(
                name="ascend910b",
                bandwidth_bytes_per_s=24 * 32 * 1.8e9,
                flops_per_s=24 * 2 * 16**3 * 1.8e9,
                vector_flops_per_s=48 * 64 * 1.8e9,
                launch_us=5.0,
                on_chip_bytes=196_608,
                source=_CANN.format("Ascend910B2C") + _LAUNCH_ASSUMPTION,
            ),
            Device(
                name="ascend310p",
                bandwidth_bytes_per_s=204.0e9,
                flops_per_s=8 * 2 * 16**3 * 1.08e9,
                vector_flops_per_s=8 * 64 * 1.08e9,
                launch_us=5.0,
                on_chip_bytes=262_144,
                source="Atlas 300I Duo, two processors: 408 GB/s, 280 TOPS int8 (140 TFLOPS "
                "float16)" + _LAUNCH_ASSUMPTION,
            ),
            Device(
                name="gpu",
                bandwidth_bytes_per_s=1.555e12,
                flops_per_s=19.5e12,
                launch_us=4.0,
                on_chip_bytes=196_608,
                source="NVIDIA A100 40 GB, Ampere white paper: 1555 GB/s, 19.5 TFLOPS "
                "float32, 192 KB per processor" + _LAUNCH_ASSUMPTION,
            ),
        )
    }
)
"""A dict from name to device, without the CPU, which `measure_cpu` measures."""


PLANNING_CPU = Device(
    name="cpu",
    bandwidth_bytes_per_s=7e10,
    flops_per_s=4e11,
    vector_flops_per_s=1.1e11,
    launch_us=3.0,
    on_chip_bytes=1 << 20,
    source="two cores with AVX-512: what was measured there of copies and of swish; "
    "nests that threads share cost their waking",
)
"""Device for which `ms_fusion.lowering` computes the cost of plans.

This device is the same on all machines. Only the ratios of its figures matter. Tuning, in contrast,
measures on the actual machine.
"""
FRESH_BYTES_PER_S = 8e9
"""Rate at which page faults map the large buffers between loop nests, bytes/s.

Each call of a kernel maps its large buffers anew. The allocator reuses small buffers, which
therefore cause no page faults.
"""

DESCRIPTION_SUFFIX = ".json"
"""File name suffix of a device description."""
_ALIASES = {"ascend": "ascend910b"}


@cache
def measure_cpu() -> Device:
    """Measures this machine's CPU in well under 1 s; the result is cached for this process.

    The measurements are: the fastest of three ways to copy 32 MiB, sums of arrays within the
    caches, square roots, and a float32 product of 512 × 512 matrices. The launch cost is the cached
    result of `measure_launch_us`, or `CPU_LAUNCH_US` if there is none. The bandwidth counts the
    bytes of reads and writes together. The rate of vector arithmetic is the rate of one thread. A
    square root is assumed to take `ROOT_STEPS` vector steps (see `ms_fusion.cost.vector_steps`).
    Each measurement is repeated, and the shortest time is used. Therefore other load on the machine
    has little effect.
    """
    import timeit

    import numpy as np

    from tbe_impl import environment

    def best_seconds(action: Callable[[], object], repeats: int) -> float:
        action()
        times: list[float] = []
        while len(times) < repeats or sum(times) < MIN_TRIAL_S:
            times.append(timeit.timeit(action, number=1))
        return max(min(times), 1e-9)

    store = np.ones(ARRAYS * (SIZES[-1] // 8 + GAP), np.float32)
    source, target = np.split(store, 2)
    matrix = np.ones((512, 512), np.float32)
    product = np.empty_like(matrix)
    copies = (
        lambda: np.copyto(target, source),
        lambda: np.add(source, 1.0, out=target),
        lambda: np.concatenate((source,), out=target),
    )
    copy_s = min(best_seconds(copy, 4) for copy in copies)

    def rate(held: int, arrays: int) -> float:
        starts = range(0, arrays * (held // 8 + GAP), held // 8 + GAP)
        parts = [store[start : start + held // 8] for start in starts]
        turns = itertools.cycle(itertools.pairwise([*parts, parts[0]]))

        def add() -> None:
            part, other = next(turns)
            np.add(part, 1.0, out=other)

        return held / best_seconds(add, 20)

    few = source[:ROOTS]
    roots = np.empty_like(few)
    root_s = best_seconds(lambda: np.sqrt(few, out=roots), 20)
    product_s = best_seconds(lambda: np.dot(matrix, matrix, out=product), 8)
    near, launch = _cache_bytes(), _cached_launch()
    sizes = (near, *(size for size in SIZES if size > near))
    measured = [rate(min(near // 2, SIZES[-1]), 2), *(rate(size, ARRAYS) for size in sizes[1:])]
    return Device(
        name="cpu",
        bandwidth_bytes_per_s=2 * source.nbytes / copy_s,
        flops_per_s=2 * 512**3 / product_s,
        vector_flops_per_s=ROOT_STEPS * ROOTS / root_s,
        launch_us=CPU_LAUNCH_US if launch is None else launch.us,
        on_chip_bytes=near,
        rates=tuple((size, max(measured[place:])) for place, size in enumerate(sizes)),
        source="measured here with NumPy: best of three copies of 32 MiB, sums within the "
        "nearest cache and round eight arrays of 0.75 to 8 MiB, 16,384 roots, 512 x "
        "512 float32 product; launch: "
        + ("MindSpore 2.10" if launch is None else f"measured here, MindSpore {launch.version}"),
        cores=environment.threads(),
    )


@dataclass(frozen=True)
class _Launch:
    """A measured launch cost, and the version of MindSpore for which it was measured."""

    us: float
    version: str


def measure_launch_us() -> float:
    """Measures the time that one more operator adds to a compiled graph of MindSpore on CPU, µs.

    The function compiles two graphs, of 1 and of `LAUNCHES` + 1 operators on 16 elements, and calls
    the two graphs in turn. The result is the difference between the shortest call times of the two
    graphs, divided by `LAUNCHES`. The result is cached on disk for each processor and version of
    MindSpore. The caller must switch fusion off before the call.
    """
    import time

    import mindspore
    import numpy as np

    from tbe_impl.runtime.store import user_store
    from tbe_impl.runtime.store_kinds import LAUNCH_COSTS

    known = _cached_launch()
    if known is not None and known.version == mindspore.__version__:
        return known.us

    def graph_of(operators: int) -> Callable[[Any], Any]:
        def run(x: Any) -> Any:
            for _ in range(operators):
                x = mindspore.ops.neg(x)
            return x

        return mindspore.jit(run)

    few = mindspore.Tensor(np.ones(16, np.float32))
    graphs = graph_of(1), graph_of(LAUNCHES + 1)
    shortest_s = [float("inf"), float("inf")]
    for _ in range(LAUNCH_TRIALS):
        for place, graph in enumerate(graphs):
            start = time.perf_counter()
            graph(few).asnumpy()
            shortest_s[place] = min(shortest_s[place], time.perf_counter() - start)
    found = (shortest_s[1] - shortest_s[0]) / LAUNCHES * 1e6
    if found <= 0:  # other load on the machine
        return CPU_LAUNCH_US
    record = _Launch(found, mindspore.__version__)
    user_store().write_record(LAUNCH_COSTS, _launch_key(), record)
    return found


def _cached_launch() -> _Launch | None:
    import msgspec

    from tbe_impl.runtime.store import user_store
    from tbe_impl.runtime.store_kinds import LAUNCH_COSTS

    return user_store().read_record(LAUNCH_COSTS, _launch_key(), msgspec.json.Decoder(_Launch))


def _launch_key() -> str:
    from tbe_impl.runtime.store import make_key
    from tbe_impl.tuning_store import processor

    return make_key(measured="launch of a MindSpore graph", processor=processor())


def _cache_bytes() -> int:
    """Returns the size of one core's level-2 cache in bytes, or 1 MiB if the size is unknown."""
    try:
        return os.sysconf("SC_LEVEL2_CACHE_SIZE") or 1 << 20
    except (ValueError, OSError, AttributeError):
        return 1 << 20


def check_device(name: str) -> str:
    """Returns the canonical name of a device, without a measurement.

    Raises `InputError` for an unknown name.
    """
    from tbe_impl.errors import InputError

    if name.endswith(DESCRIPTION_SUFFIX):
        return read_device(Path(name)).name
    key = _ALIASES.get(name.lower(), name.lower())
    if key != "cpu" and key not in DEVICES:
        expected = " or ".join(
            ("cpu", *DEVICES, f"a file NAME{DESCRIPTION_SUFFIX} that describes one")
        )
        raise InputError("unknown device", expected=expected, got=repr(name))
    return key


def read_device(file: Path) -> Device:
    """Reads a device from a JSON file with the attributes of `Device`.

    If the JSON has no ``name``, the name is the file's name without suffix. If the JSON has no
    ``source``, the source is the file's path.

    Raises:
        InputError: the file cannot be read, or an attribute is missing, unknown or invalid.
    """
    import msgspec

    from tbe_impl.errors import InputError

    try:
        told = msgspec.json.decode(file.read_bytes(), type=dict[str, Any])
        found = msgspec.convert({"name": file.stem, "source": str(file)} | told, Device)
    except (OSError, msgspec.MsgspecError) as error:
        expected = "bandwidth_bytes_per_s, flops_per_s, launch_us and on_chip_bytes in JSON"
        raise InputError(
            "this is not the description of a device",
            place=str(file),
            expected=expected,
            got=str(error),
        ) from error
    known = [item.name for item in fields(Device)]
    wrong = [f"{name} is not an attribute of a device" for name in told if name not in known]
    rates = (found.bandwidth_bytes_per_s, found.flops_per_s, found.on_chip_bytes)
    wrong += ["a rate or size that is not above 0"] * (min(*rates, found.launch_us + 1) <= 0)
    wrong += [f"the name {found.name}, which is known"] * (found.name in ("cpu", *DEVICES))
    if wrong:
        raise InputError(
            "this is not the description of a device",
            place=str(file),
            expected=", ".join(known),
            got=wrong[0],
        )
    return found


def device(name: str) -> Device:
    """Returns a device by name.

    Args:
        name: a key of `DEVICES`, ``cpu`` (measured now), ``ascend`` (the 910B), or a file for
            `read_device`.

    Raises:
        InputError: the name is unknown, or the file does not describe a device.
    """
    if name.endswith(DESCRIPTION_SUFFIX):
        return read_device(Path(name))
    key = check_device(name)
    return measure_cpu() if key == "cpu" else DEVICES[key]
