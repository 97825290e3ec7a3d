"""Hoisting: slow expressions that rows share are computed once, into memory."""

import re

import numpy as np

from tbe_impl.cpu.prepared_kernel import prepare
from tbe_impl.dsl.operations.operation_table import OPERATIONS
from tbe_impl.dsl.tensor import placeholder


def scaled(rows):
    x, v = placeholder((rows, 40), "float32", "x"), placeholder((1, 40), "float32", "v")
    scale = OPERATIONS["vrsqrt"](OPERATIONS["vadds"](v, 1.0))
    return [OPERATIONS["vmul"](x, OPERATIONS["broadcast"](scale, x.shape))], [x, v]


def test_a_root_of_each_column_is_taken_once(tmp_path, monkeypatch):
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path))
    outputs, inputs = scaled(30)
    kernel = prepare(outputs, inputs)
    assert len(re.findall(r"static void \w*nest\d+\(", kernel.source)) == 2
    random = np.random.default_rng(0)
    x, v = random.standard_normal((30, 40), np.float32), random.random((1, 40), np.float32)
    (y,) = kernel.run([x, v], {}, 1)
    np.testing.assert_allclose(y, x / np.sqrt(v.astype(np.float64) + 1), rtol=1e-6)


def test_a_single_row_is_not_hoisted(tmp_path, monkeypatch):
    monkeypatch.setenv("MS_FUSION_CACHE_DIR", str(tmp_path))
    kernel = prepare(*scaled(1))
    assert len(re.findall(r"static void \w*nest\d+\(", kernel.source)) == 1
