"""Operators called by many threads at once, and by children of a process that has called them."""

from __future__ import annotations

import os
import subprocess
import sys
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest

from tbe_impl.comparing import TOLERANCE
from tests.custom_ops.edge_cases import close, gradients, run
from tests.custom_ops.spec_cases import SPECS, arrays_of, as_tuple, in_float64

TRIED = [spec for spec in SPECS.values() if spec.has_kernel]


def call(job: tuple[int, int]) -> None:
    """One operator forward and backward on numbers of its own; the gradient twice, the same both times."""
    spec, given = TRIED[job[0]], TRIED[job[0]].with_defaults({})
    arrays = arrays_of(spec, spec.samples[0], "float32", job[1])
    made = run(spec, given, *arrays)
    wanted = as_tuple(spec.formula(*in_float64(spec, arrays), **given))
    for got, want in zip(made, wanted, strict=False):
        close(got, want, TOLERANCE["float32"], least=1e-5)
    if spec.differentiable:
        grads = [np.ones(one.shape, one.dtype) for one in made[: len(spec.visible)]]
        one, other = (gradients(spec, given, arrays, made, grads) for _ in range(2))
        for first, second in zip(one, other, strict=True):
            np.testing.assert_array_equal(first, second)


def test_eight_threads_compile_and_call():
    rng = np.random.default_rng(0)
    jobs = [(number, seed) for seed in range(8) for number in rng.permutation(len(TRIED))]
    with ThreadPoolExecutor(8) as pool:
        list(pool.map(call, jobs))


CHILDREN = """
import multiprocessing, sys
from tests.custom_ops.test_concurrency import TRIED, call

def several(seed):
    for number in range(seed, len(TRIED), 9):
        call((number, seed))
    return seed

if __name__ == "__main__":
    several(0)
    with multiprocessing.get_context(sys.argv[1]).Pool(2 if sys.argv[1] == "fork" else 1) as pool:
        print(pool.map_async(several, range(4)).get(100))
"""


@pytest.mark.parametrize("how", ["fork", "spawn", "forkserver"])
def test_children_of_a_process_that_has_called(how, tmp_path, repository):
    script = tmp_path / "children.py"
    script.write_text(CHILDREN)
    environment = {**os.environ, "PYTHONPATH": str(repository)}
    done = subprocess.run([sys.executable, str(script), how], env=environment, capture_output=True, text=True, timeout=150)  # fmt: skip
    assert done.stdout.strip() == "[0, 1, 2, 3]", done.stderr[-2000:]
