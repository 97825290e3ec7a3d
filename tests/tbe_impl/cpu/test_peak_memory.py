"""Intermediates between a kernel's loops share memory if their lifetimes are disjoint."""

from __future__ import annotations

import pytest

from tests.cases import FULL, cases
from tests.peak_memory import needs_linux, peak_bytes

BEFORE = """
import numpy as np
from tbe_impl import dsl
from tbe_impl.codegen.options import Options
from tbe_impl.arguments import Argument
from tbe_impl.kernel import Kernel

def run(size, steps):
    made = x = dsl.placeholder((size,), "float32", "x")
    for _ in range(steps):
        made = dsl.vabs(made)
    options = Options(stored=tuple(range(steps - 1)))
    inputs, outputs = (Argument(x, (size,), "x"),), (Argument(made, (size,), "y"),)
    kernel = Kernel("between", "cpu", inputs, outputs, options=options)
    assert kernel.compiled.only_program is not None
    kernel(np.zeros(size, np.float32))

run(8, {steps})
"""
SIZE = 4 << 20


@needs_linux
@cases("steps", [9, pytest.param(3, marks=FULL)])
def test_peak_does_not_grow_with_the_number_of_steps(steps):
    # inputs and outputs of a step, and the final output; the input is one page of zeros
    assert peak_bytes(BEFORE.format(steps=steps), f"run({SIZE}, {steps})") < 3.3 * 4 * SIZE
