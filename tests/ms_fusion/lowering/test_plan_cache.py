"""Plans are computed once, and cached plans are validated."""

from __future__ import annotations

from pathlib import Path
from types import ModuleType

import pytest

from ms_fusion import cost, devices
from ms_fusion.cost import work
from ms_fusion.lowering import nest_partition, plan_cache, plan_choice
from tbe_impl.kernel import Kernel
from tbe_impl.runtime.store import Store
from tests.cases import cases
from tests.ms_fusion.lowering.test_nest_partition import sums_both_ways, translated


def kernel_of(steps: int) -> Kernel:
    described = sums_both_ways(steps)
    return plan_choice.default_kernel(translated(described), described.graph.inputs)


@pytest.fixture(autouse=True)
def own_cache(monkeypatch: pytest.MonkeyPatch, tmp_path: Path) -> None:
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path))


def test_a_plan_is_made_once_for_a_graph() -> None:
    made: list[int] = []

    def make() -> plan_cache.StoredValues:
        made.append(1)
        return (1, 3)

    # another lowering of the same description, as in another process
    assert [plan_cache.load_or_make_plan(kernel_of(2), make) for _ in range(2)] == [(1, 3), (1, 3)]
    assert len(made) == 1
    plan_cache.load_or_make_plan(kernel_of(3), make)
    assert len(made) == 2


@cases("note", [b"", b"[1, 3", b"[-1]", b'["1"]', b"\xff", b"[" * 5000])
def test_a_plan_that_cannot_be_read_is_made_anew(
    note: bytes, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(Store, "read", lambda store, kind, key: note)
    assert plan_cache.load_or_make_plan(kernel_of(2), lambda: (2,)) == (2,)


def test_other_files_make_other_plans(monkeypatch: pytest.MonkeyPatch) -> None:
    plan_cache.load_or_make_plan(kernel_of(2), lambda: (1,))
    monkeypatch.setattr(plan_cache, "_plan_source_digest", lambda: "others")
    assert plan_cache.load_or_make_plan(kernel_of(2), lambda: (2,)) == (2,)


@cases("module", [nest_partition, plan_choice, cost, work, devices], ids=lambda one: one.__name__)
def test_the_files_that_decide_are_there(module: ModuleType) -> None:
    assert module.__file__ in map(str, plan_cache.PLAN_SOURCES)
    assert all(file.is_file() for file in plan_cache.PLAN_SOURCES)
