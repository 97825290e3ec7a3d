"""Tensors round-trip through a directory."""

from __future__ import annotations

import shutil
from pathlib import Path

import ml_dtypes
import numpy as np
import pytest

pytest.importorskip("onnx")

from ms_fusion.accuracy.worker_process import WorkerError
from ms_fusion.onnx.native import tensor_files
from ms_fusion.onnx.native.child import NativeWorkers

TENSORS = {
    'a / "name"': np.arange(6, dtype=np.float32).reshape(2, 3),
    "number": np.array(3, np.int64),
    "nothing": np.zeros((0, 4), np.float16),
    "turned": np.arange(6).reshape(2, 3).T,
    "true": np.array([True, False]),
}


def test_what_was_written_is_read_and_lasts(tmp_path: Path) -> None:
    place = tmp_path / "tensors"
    tensor_files.write(place, TENSORS)
    found = tensor_files.read(place)
    shutil.rmtree(place)
    assert list(found) == list(TENSORS)
    for name, tensor in TENSORS.items():
        assert found[name].dtype == tensor.dtype and type(found[name]) is np.ndarray
        np.testing.assert_array_equal(found[name], tensor)
    found["number"][...] = 4


def test_bytes_of_a_dtype_that_numpy_does_not_know_are_kept(tmp_path: Path) -> None:
    numbers = np.array([1.5, -2.0], ml_dtypes.bfloat16)
    tensor_files.write(tmp_path / "tensors", {"x": numbers})
    found = tensor_files.read(tmp_path / "tensors")["x"]
    np.testing.assert_array_equal(found.view(ml_dtypes.bfloat16), numbers)


def test_texts_are_refused_by_name(tmp_path: Path) -> None:
    with pytest.raises(ValueError, match=r"^y holds no numbers$"):
        tensor_files.write(tmp_path / "tensors", {"y": np.array(["a"], object)})


def test_a_run_with_texts_is_refused_and_leaves_nothing() -> None:
    with NativeWorkers() as native:
        with pytest.raises(WorkerError, match="y holds no numbers"):
            native.run(native.directory / "no.onnx", {"y": np.array(["a"], object)})
        assert not any(native.directory.iterdir())
