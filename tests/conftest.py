"""Fixtures and options of all tests, and the skip reasons."""

from __future__ import annotations

import dataclasses
import gc
import importlib.util
import os
import shutil
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest
from hypothesis import HealthCheck, settings

pytest_plugins = ("tests.cases", "tests.room_lines")
ROOT = Path(__file__).resolve().parent.parent
collect_ignore = ["data", "programs"]
"""Scripts that generated data have more requirements; tests run programs without importing them."""

# MindSpore's log lines and the user's own switches must not affect tests.
os.environ.setdefault("GLOG_v", "3")
for _name in ("MS_FUSION", "MS_FUSION_CACHE_DIR", "MS_DEV_GRAPH_KERNEL_FLAGS"):
    os.environ.pop(_name, None)

# a busy machine is slow, which must not fail a test
settings.register_profile("full", deadline=None, suppress_health_check=[HealthCheck.too_slow])
settings.register_profile("quick", settings.get_profile("full"), max_examples=25)

SHARED_CACHE = "MS_FUSION_TEST_CACHE"
"""Name of the kernel cache of child processes: one build per kernel, one generator trial."""

LONGEST = "test_notebooks.py"
"""`make test-all` starts with it: at the end it would occupy one worker for minutes while the
others idle.
"""

PROGRAMS = ("tests/benchmarks", "tests/case_studies")
"""Rooms of programs beside the product. `make test` runs them only if ROOM names them."""

BROWSERS = ("chromium", "chromium-browser", "google-chrome")


def pytest_configure(config: pytest.Config) -> None:
    """Test outputs go to ``build/tests``: kernels for the next run, and MindSpore's graphs.

    MindSpore writes a graph that fails to compile to the working directory unless a path
    is set.
    """
    place = Path(os.environ.setdefault("XDG_CACHE_HOME", str(ROOT / "build" / "tests")))
    os.environ.setdefault(SHARED_CACHE, str(place / "ms_fusion"))
    os.environ.setdefault("MS_OM_PATH", str(place))
    place.mkdir(parents=True, exist_ok=True)
    settings.load_profile("full" if config.getoption("--full") else "quick")


@pytest.fixture(scope="session", autouse=True)
def frozen_records() -> Iterator[None]:
    """In tests an assignment to a field of a record is an error, as for the type checker."""
    from tbe_impl.records import Record

    def assign_once(record: Record, name: str, value: object) -> None:
        if name in vars(record):
            raise dataclasses.FrozenInstanceError(f"{name} of {type(record).__name__}")
        object.__setattr__(record, name, value)

    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(Record, "__setattr__", assign_once)
        yield


@pytest.fixture(scope="session")
def repository() -> Path:
    """The root of the checkout."""
    return ROOT


@pytest.fixture(scope="session")
def full(request: pytest.FixtureRequest) -> bool:
    """Whether all tests run, or only those of `make test`."""
    return bool(request.config.getoption("--full"))


@pytest.fixture(autouse=True)
def mode_restored(full: bool) -> Iterator[None]:
    """Restores MindSpore's mode after each test.

    In ``make test`` PyNative is synchronous: otherwise waiting threads take most of the
    processor time.
    """
    mindspore = sys.modules.get("mindspore")
    if hasattr(mindspore, "set_context") and not full:
        mindspore.set_context(pynative_synchronize=True)
    before = mindspore.get_context("mode") if hasattr(mindspore, "get_context") else 1
    yield
    mindspore = sys.modules.get("mindspore")
    if hasattr(mindspore, "get_context") and mindspore.get_context("mode") != before:
        mindspore.set_context(mode=before)


def _absent(item: pytest.Item) -> str | None:
    """The reason why this test cannot run on this machine, or None."""
    if item.get_closest_marker("mindspore") and importlib.util.find_spec("mindspore") is None:
        return "MindSpore is not installed: pip install 'ms_fusion[cpu]'"
    if item.get_closest_marker("device"):
        return "no Ascend or GPU device on this machine"
    if item.get_closest_marker("browser") and not any(map(shutil.which, BROWSERS)):
        return "no Chromium on this machine"
    return None


def pytest_collection_modifyitems(config: pytest.Config, items: list[pytest.Item]) -> None:
    if not config.getoption("--full"):
        programs = tuple(
            room for room in PROGRAMS if not any(asked.startswith(room) for asked in config.args)
        )
        left_out = {
            item
            for item in items
            if item.get_closest_marker("full") or item.nodeid.startswith(programs)
        }
        if left_out:
            config.hook.pytest_deselected(items=list(left_out))
            items[:] = [item for item in items if item not in left_out]
    else:
        items.sort(key=lambda item: item.path.name != LONGEST)
    for item in items:
        reason = _absent(item)
        if reason:
            item.add_marker(pytest.mark.skip(reason=reason))


@pytest.hookimpl(wrapper=True)
def pytest_collection() -> Iterator[None]:
    """Freezes imported objects: garbage collections skip them.

    MindSpore starts a collection at each compilation.
    """
    gc.disable()
    yield
    gc.freeze()
    gc.enable()


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption(
        "--full",
        action="store_true",
        help="everything there is, as `make test-all` runs it",
    )
    parser.addoption(
        "--update-golden",
        action="store_true",
        help="write what is seen to tests/golden; then read it by eye",
    )


@pytest.fixture
def golden(request: pytest.FixtureRequest):
    """``golden(name, text)``: compares `text` with tests/golden/`name`."""

    def compare(name: str, text: str) -> None:
        path = ROOT / "tests" / "golden" / name
        if request.config.getoption("--update-golden"):
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        assert path.exists(), f"{path} is missing: run pytest --update-golden and read it by eye"
        assert text == path.read_text(encoding="utf-8")

    return compare
