"""A calling process loads library kernels from the cached result, others from the description."""

from __future__ import annotations

import json
import os
import shutil
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path

import pytest

from custom_ops.onednn import why_missing
from ms_fusion.kernel_server import compile_cache, driver
from tbe_impl.runtime.store_kinds import KINDS
from tests.cases import FULL, cases
from tests.ms_fusion.kernel_server.test_compile_cache import entry_of, layer

ROOT = Path(__file__).resolve().parents[3]
pytestmark = pytest.mark.skipif(bool(why_missing()), reason="oneDNN is not there")
CALL = """
import ctypes, json, sys
from pathlib import Path
import numpy as np
from ms_fusion.kernel_server.host import Host

place = Path(sys.argv[1])
Host(place).install()
built, threads = ctypes.CDLL(str(place / "Fused_answered_layer.so")), ctypes.c_int(1)
random = np.random.default_rng(0)
x, weight = (random.standard_normal(shape).astype(np.float32) for shape in ((4, 8), (8, 16)))
y = np.full((4, 16), np.nan, np.float32)
buffers = (ctypes.c_void_p * 3)(*(one.ctypes.data for one in (x, weight, y)))
built.Fused_answered_layer(None, ctypes.byref(threads), buffers)
exact = np.sin(np.exp(x.astype(np.float64)) @ weight.astype(np.float64))
parts = (
    "tbe_impl.dsl",
    "tbe_impl.compat",
    "ms_fusion.readers",
    "ms_fusion.kernel_server.host_preparation",
)
generator = [name for name in parts if name in sys.modules]
print(json.dumps([float(np.abs(y - exact).max()), generator]))
"""


@pytest.fixture(scope="module")
def little_optimization() -> None:
    """Kernels are compiled as in the processes that look them up."""


@pytest.fixture(scope="module")
def built_once(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A directory with a cache and ``kernels``, which holds the kernel as MindSpore does."""
    place = tmp_path_factory.mktemp("rows")
    directory = place / "kernels"
    directory.mkdir()
    (directory / "Fused_answered_layer.info").write_text(layer())
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("MS_FUSION_CACHE_DIR", str(place / "cache"))
        driver.build(layer(), directory)
    return place


@pytest.fixture
def place(built_once: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A copy of the kernel directory, beside a copy of the cache."""
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path / "cache"))
    return copied(built_once, tmp_path) / "kernels"


def copied(source: Path, target: Path) -> Path:
    for name in ("cache", "kernels"):
        shutil.rmtree(target / name, ignore_errors=True)
        shutil.copytree(source / name, target / name)
    return target


def called(place: Path, **variables: str) -> tuple[float, list[str]]:
    """The result of a fresh process: the largest error, and its loaded generator modules."""
    done = subprocess.run(
        [sys.executable, "-c", CALL, str(place)],
        cwd=ROOT,
        env={**os.environ, **variables},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    error, loaded = json.loads(done.stdout)
    return error, loaded


def test_the_generator_is_not_loaded(place: Path) -> None:
    error, loaded = called(place)
    assert error < 1e-4
    assert loaded == []


def _gone(place: Path) -> None:
    answer = compile_cache.recall(layer())
    assert answer is not None
    entry_of(answer.own_libraries()[0], place.parent / "cache").unlink()


def _forgotten(place: Path) -> None:
    for kind in KINDS:
        if not kind.is_file:
            shutil.rmtree(place.parent / "cache" / "store" / kind.name, ignore_errors=True)


@cases("spoil", [_gone, pytest.param(_forgotten, marks=FULL)])
def test_a_sequence_without_cached_result_is_rebuilt(
    spoil: Callable[[Path], None], built_once: Path, place: Path
) -> None:
    copied(built_once, place.parent)
    spoil(place)
    error, loaded = called(place)
    assert error < 1e-4
    assert "tbe_impl.dsl" in loaded


@FULL
def test_an_answer_for_other_circumstances_is_not_used(place: Path) -> None:
    """`test_compile_cache` changes the cache key inputs one by one; without a cached result a
    kernel is assembled, as above.
    """
    error, loaded = called(place, MS_FUSION_THREADS="1")
    assert error < 1e-4
    assert "tbe_impl.dsl" in loaded


def test_what_failed_to_be_built_is_computed_by_its_formulas(place: Path) -> None:
    driver.stand_in(layer(), place, "the compiler died")
    error, loaded = called(place)
    assert error < 1e-4
    assert "ms_fusion.kernel_server.host_preparation" in loaded
