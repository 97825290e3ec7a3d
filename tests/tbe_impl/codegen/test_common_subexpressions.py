"""Common subexpressions: a vector is computed once on each loop level."""

import re

import numpy as np

from tbe_impl import dsl
from tbe_impl.cpu.prepared_kernel import prepare
from tbe_impl.dsl.tensor import placeholder


def chosen(index, values):
    found = dsl.const(values[0], "float32")
    for place, one in enumerate(values[1:], 1):
        found = dsl.select(index.equal(place), dsl.const(one, "float32"), found)
    return found


def weighted(values):
    """x[i, j]·values[j] + values[j], where a comparison of j selects the values."""
    x = placeholder((6, len(values)), "float32", "x")
    return [
        dsl.compute(x.shape, lambda i, j: x[i, j] * chosen(j, values) + chosen(j, values), "y")
    ], [x]


def test_what_is_chosen_by_an_index_is_compared_once(tmp_path, monkeypatch):
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path))
    values = np.linspace(-3, 7, 24).tolist()
    kernel = prepare(*weighted(values))
    blocks = [
        re.findall(r"= (.*(?:==|iota|select).*);", block)
        for block in re.split(r"[{}]", kernel.source)
    ]
    assert max(map(len, blocks)) >= 1 + 2 * 23  # an index, and 23 comparisons and choices
    assert all(len(set(texts)) == len(texts) for texts in blocks)
    x = np.random.default_rng(0).standard_normal((6, 24)).astype(np.float32)
    (y,) = kernel.run([x], {}, 1)
    held = np.float32(values).astype(np.float64)
    np.testing.assert_allclose(y, x * held + held, rtol=1e-6, atol=1e-6)
