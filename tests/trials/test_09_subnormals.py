"""A kernel keeps subnormals on any calling thread, and float64 stays float64."""

from __future__ import annotations

import ctypes
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from ms_fusion.kernel_server import host
from ms_fusion.kernel_server.driver import build
from tbe_impl.runtime import compiler, machine
from tests.cases import cases
from tests.fork_server import run_program
from tests.ms_fusion.kernel_server.composites import Text, called, run
from tests.ms_fusion.lowering.onednn.test_groups import needs_onednn

ROOT = Path(__file__).resolve().parents[2]
PROGRAM = ROOT / "tests" / "programs" / "trials" / "subnormals.py"
SMALL = np.array([[-1e-40, 1e-40, 1.0, -1e-45]], np.float32)
MODE = """
unsigned mode(void) { return __builtin_ia32_stmxcsr(); }
void set_mode(unsigned given) { __builtin_ia32_ldmxcsr(given); }
"""
FLUSH = 0x8040

needs_sse = pytest.mark.skipif(
    "sse2" not in machine.cpu_features(), reason="sets a register of x86"
)


@contextmanager
def flushed() -> Iterator[None]:
    """Sets flush-to-zero for this thread, as in MindSpore's threads."""
    loaded = ctypes.CDLL(str(compiler.build(MODE, symbols=("mode", "set_mode"))))
    before = loaded.mode()
    loaded.set_mode(before | FLUSH)
    try:
        assert not (np.float32(1e-40) * np.ones(1, np.float32)).any()
        yield
        assert loaded.mode() & FLUSH, "the kernel changed the thread of its caller"
    finally:
        loaded.set_mode(before)


def close(found: np.ndarray, wanted: np.ndarray) -> None:
    """To one subnormal unit."""
    np.testing.assert_allclose(found, wanted, rtol=1e-6, atol=1.5e-45)


@needs_sse
def test_a_kernel_keeps_subnormals_in_any_thread() -> None:
    text = Text("Fused_subnormals")
    x = text.input(SMALL.shape, "float32")
    kernel = text.kernel(text.step("Log1p", [x], SMALL.shape, "float32"))
    wanted = np.log1p(SMALL.astype(np.float64))
    with flushed():
        (found,) = run(kernel, {x: SMALL}).values()
    close(found, wanted)
    (again,) = run(kernel, {x: SMALL}).values()
    assert np.array_equal(found, again)


@needs_sse
@needs_onednn
def test_a_sequence_of_kernels_keeps_subnormals(tmp_path: Path) -> None:
    text = Text("Fused_subnormal_row")
    x, one = text.input((4, 1), "float32"), text.input((1, 1), "float32")
    product = text.step("MatMul", [x, one], (4, 1), "float32")
    kernel = text.kernel(text.step("Log1p", [product], (4, 1), "float32"))
    given = {x: SMALL.reshape(4, 1), one: np.ones((1, 1), np.float32)}
    description = text.text(*kernel.graph.outputs)
    (tmp_path / f"{kernel.name}.info").write_text(description)
    build(description, tmp_path)
    host.Host(tmp_path).install()
    with flushed():
        (found,) = called(kernel, tmp_path / f"{kernel.name}.so", given).values()
    close(found, np.log1p(SMALL.astype(np.float64).reshape(4, 1)))


@cases(
    "name, formula",
    [
        ("Softplus", lambda x: np.logaddexp(x, 0)),
        ("Mish", lambda x: x * np.tanh(np.logaddexp(x, 0))),
    ],
)
def test_what_mindspore_narrows_is_float64(name: str, formula: Callable[[Any], Any]) -> None:
    text = Text(f"Fused_narrowed_{name}")
    values = np.linspace(-30, 30, 128)
    x = text.input(values.shape, "float64")
    twice = text.step("Add", [x, x], values.shape, "float64")
    narrow = text.step("Cast", [twice], values.shape, "float32")
    made = text.step(name, [narrow], values.shape, "float32")
    kernel = text.kernel(text.step("Cast", [made], values.shape, "float64"))
    (found,) = run(kernel, {x: values}).values()
    assert found.dtype == np.float64
    np.testing.assert_allclose(found, formula(2 * values), rtol=1e-14)


def test_what_was_asked_in_float32_stays() -> None:
    text = Text("Fused_asked_in_float32")
    values = np.linspace(-3, 3, 64)
    x = text.input(values.shape, "float64")
    narrow = text.step("Cast", [x], values.shape, "float32")
    made = text.step("Softplus", [narrow], values.shape, "float32")
    wide = text.step("Cast", [made], values.shape, "float64")
    found = run(text.kernel(made, wide), {x: values})
    assert found[made].dtype == np.float32
    assert np.array_equal(found[made], found[wide])


def test_a_net_does_not_depend_on_how_often_it_was_called(tmp_path: Path) -> None:
    variables = {**os.environ, "PYTHONPATH": str(ROOT)}
    done = run_program(PROGRAM, cwd=tmp_path, environment=variables)
    assert done.returncode == 0, done.output
    assert "calls: the same" in done.output.splitlines(), done.output
