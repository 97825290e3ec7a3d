"""The launch cost of the CPU is measured once and cached on disk."""

from __future__ import annotations

from pathlib import Path

import pytest

from ms_fusion import devices
from tbe_impl import environment
from tbe_impl.runtime.store import user_store
from tbe_impl.runtime.store_kinds import LAUNCH_COSTS


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    """An empty kernel cache."""
    monkeypatch.setenv(environment.CACHE_DIR.name, str(tmp_path))


def test_the_constant_stands_for_a_cost_not_measured_yet() -> None:
    found = devices.measure_cpu.__wrapped__()
    assert found.launch_us == devices.CPU_LAUNCH_US
    assert found.source.endswith("launch: MindSpore 2.10")
    user_store().write(LAUNCH_COSTS, devices._launch_key(), b'{"us": "fast"}')  # a damaged record
    assert devices.measure_cpu.__wrapped__().launch_us == devices.CPU_LAUNCH_US


ROOFS = {
    "ascend910a": (1024.0, 262_144.0, 2048.0),
    "ascend910b": (1382.4, 353_894.4, 5529.6),
    "ascend310p": (204.0, 70_778.9, 553.0),
    "gpu": (1555.0, 19_500.0, 19_500.0),
}
"""Device → bandwidth in GB/s, peaks of the matrix unit and of the vector unit in GFLOP/s."""


def test_the_devices_have_the_published_rates() -> None:
    assert {name: tuple(item.roofs.values()) for name, item in devices.DEVICES.items()} == ROOFS
    assert all(item.launch_us > 1 for item in devices.DEVICES.values())


def _try(_: int) -> float | None:
    measured = devices.measure_launch_us()
    return measured if devices._cached_launch() is not None else None


@pytest.mark.mindspore
def test_a_measured_cost_is_cached_and_named(monkeypatch: pytest.MonkeyPatch) -> None:
    mindspore = pytest.importorskip("mindspore")
    mindspore.set_context(mode=mindspore.GRAPH_MODE)
    measured = next(filter(None, map(_try, range(3))))  # other load may spoil a measurement
    assert 0.05 < measured < 100
    monkeypatch.setattr(mindspore, "jit", None)  # a second measurement would fail
    assert devices.measure_launch_us() == measured
    found = devices.measure_cpu.__wrapped__()
    assert found.launch_us == measured
    assert found.source.endswith(f"launch: measured here, MindSpore {mindspore.__version__}")
