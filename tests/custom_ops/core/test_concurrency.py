"""Operators called from many threads at once, and in forked children."""

from __future__ import annotations

import os
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tbe_impl.comparing import TOLERANCE
from tests.cases import FULL, cases
from tests.custom_ops.edge_cases import close, gradients, run
from tests.custom_ops.spec_cases import SPECS, arrays_of, as_tuple, in_float64, tail_of
from tests.fork_server import ROOT, run_program

TRIED = [spec for spec in SPECS.values() if spec.has_kernel]


def call(job: tuple[int, int]) -> None:
    """One operator forward and backward on its own data; the gradient twice, with equal results."""
    spec, given = TRIED[job[0]], TRIED[job[0]].with_defaults({})
    arrays = arrays_of(spec, tail_of(spec), "float32", job[1])
    made = run(spec, given, *arrays)
    wanted = as_tuple(spec.formula(*in_float64(spec, arrays), **given))
    for got, want in zip(made, wanted, strict=False):
        close(got, want, TOLERANCE["float32"], least=1e-5)
    if spec.differentiable_inputs:
        grads = [np.ones(one.shape, one.dtype) for one in made[: len(spec.visible_outputs)]]
        one, other = (gradients(spec, given, arrays, made, grads) for _ in range(2))
        for first, second in zip(one, other, strict=True):
            np.testing.assert_array_equal(first, second)


@cases("count", [pytest.param(len(TRIED), marks=FULL), 4], ids=str)
def test_eight_threads_compile_and_call(count):
    """`count` operators concurrently."""
    rng = np.random.default_rng(0)
    step = len(TRIED) // count
    chosen = range(step - 1, len(TRIED), step)
    jobs = [(number, seed) for seed in range(8) for number in rng.permutation(chosen)]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, jobs))


PROGRAM = ROOT / "tests" / "programs" / "custom_ops" / "children_that_call.py"


@FULL  # `test_forked_children_compute` also forks in `make test`
@cases("how", ["fork", "spawn", "forkserver"])
def test_children_of_a_process_that_has_called(how, tmp_path, repository):
    environment = {**os.environ, "PYTHONPATH": str(repository)}
    done = run_program(
        PROGRAM, how, cwd=tmp_path, environment=environment, timeout_s=150, fresh=True
    )
    assert done.returncode == 0, done.output[-2000:]
    assert "[0, 1, 2, 3]" in done.output.splitlines(), done.output[-2000:]
