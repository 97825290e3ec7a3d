"""Calls from C and from many threads, memory, errors, and machines without oneDNN."""

from __future__ import annotations

import ctypes
import gc
import os
import signal
import sys
import threading
import types
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import numpy as np
import pytest

from custom_ops.onednn import dnnl_library as own
from custom_ops.onednn import (
    onednn_path,
    prepare_conv2d,
    prepare_conv2d_backward,
    prepare_matmul,
    verified_library,
    why_missing,
)
from custom_ops.onednn.routes import resolve_threads
from custom_ops.onednn.verified_library import library as found_library
from tbe_impl import environment
from tbe_impl.errors import CompileError, FusionError, InputError, MissingError
from tests.cases import cases

needs_onednn = pytest.mark.skipif(bool(why_missing()), reason=why_missing() or "oneDNN is there")


def arrays(seed: int, *shapes: tuple[int, ...]) -> list[np.ndarray]:
    generator = np.random.default_rng(seed)
    return [generator.standard_normal(shape, np.float32) for shape in shapes]


@needs_onednn
def test_called_from_c() -> None:
    prepared = prepare_matmul((8, 4), (4, 16), activation="relu")
    a, b = arrays(1, (8, 4), (4, 16))
    y = np.empty((8, 16), np.float32)
    run = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(prepared.function)
    buffers = (ctypes.c_void_p * 3)(*(item.ctypes.data for item in (a, b, y)))
    assert run(prepared.state, buffers) == 0
    np.testing.assert_allclose(y, np.maximum(a.astype(np.float64) @ b, 0), rtol=1e-5, atol=1e-5)


@needs_onednn
@cases("offset", [4, 16, 32])
def test_memory_that_starts_anywhere(offset: int) -> None:
    # like MindSpore's memory
    shapes = (2, 16, 6, 6), (32, 16, 3, 3), (32,), (2, 32, 6, 6)
    given = arrays(2, *shapes)
    moved = []
    for item in given:
        raw = np.empty(item.nbytes + 128, np.uint8)
        start = -raw.ctypes.data % 64 + offset
        moved.append(raw[start : start + item.nbytes].view(np.float32).reshape(item.shape))
        moved[-1][...] = item
    prepared = prepare_conv2d(*shapes[:2], padding=1, bias=True, activation="silu")
    (expected,) = prepared.call(given[:3])
    prepared.call(moved[:3], moved[3:])
    np.testing.assert_array_equal(moved[3], expected)


@needs_onednn
def test_many_threads_at_once() -> None:
    x, weight, a, b = arrays(3, (2, 16, 20, 20), (32, 16, 3, 3), (64, 48), (48, 80))
    one, other = (
        prepare_conv2d(x.shape, weight.shape, padding=1, threads=2),
        prepare_matmul(a.shape, b.shape, threads=3),
    )
    expected = one.call([x, weight])[0], other.call([a, b])[0]
    wrong: list[int] = []

    def work() -> None:
        for number in range(30):
            found = one.call([x, weight])[0], other.call([a, b])[0]
            if not all(map(np.array_equal, found, expected)):
                wrong.append(number)

    workers = [threading.Thread(target=work) for _ in range(6)]
    for item in workers:
        item.start()
    for item in workers:
        item.join(60)
    assert not any(item.is_alive() for item in workers)
    assert wrong == []


@needs_onednn
def test_the_same_with_any_number_of_threads() -> None:
    x, weight = arrays(4, (4, 16, 12, 12), (32, 16, 3, 3))
    first, *rest = [
        prepare_conv2d(x.shape, weight.shape, padding=1, threads=count).call([x, weight])[0]
        for count in (1, 2, 3, 7)
    ]
    for item in rest:
        np.testing.assert_array_equal(item, first)


@needs_onednn
def test_a_forked_child_computes() -> None:
    x, weight = arrays(5, (4, 16, 20, 20), (32, 16, 3, 3))
    prepared = prepare_conv2d(x.shape, weight.shape, threads=2)
    (expected,) = prepared.call([x, weight])
    child = os.fork()
    if not child:
        signal.alarm(30)
        same = np.array_equal(prepared.call([x, weight])[0], expected)
        os._exit(0 if same else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@needs_onednn
def test_what_is_prepared_is_prepared_once() -> None:
    assert prepare_matmul((3, 4), (4, 5)) is prepare_matmul([3, 4], [4, 5])
    assert prepare_matmul((3, 4), (4, 5)) is not prepare_matmul((3, 4), (4, 5), bias=True)


@needs_onednn
def test_scratch_memory_is_shared_and_given_back() -> None:
    runtime = found_library().runtime
    runtime.onednn_free_scratch()
    x, weight = arrays(6, (2, 16, 20, 20), (32, 16, 3, 3))
    prepared = [prepare_conv2d(x.shape, weight.shape, padding=count) for count in (0, 1, 2)]
    for item in prepared:
        item.call([x, weight])
    most = max(item.scratch_bytes for item in prepared)
    assert 0 < runtime.onednn_scratch_bytes() <= 2 * most
    runtime.onednn_free_scratch()
    assert runtime.onednn_scratch_bytes() == 0
    prepared[0].call([x, weight])


@needs_onednn
def test_what_nobody_keeps_is_destroyed() -> None:
    from custom_ops.onednn import matmul

    destroyed: list[str] = []
    library = found_library()
    status = library.status
    library.status = lambda name, *given: (  # type: ignore[method-assign]
        destroyed.append(name) or status(name, *given)  # type: ignore[func-returns-value]
    )
    try:
        prepare_matmul((3, 7), (7, 11))
        matmul._prepare.cache_clear()
        gc.collect()
    finally:
        del library.status  # type: ignore[method-assign]
    assert "primitive_destroy" in destroyed
    assert "memory_desc_destroy" in destroyed


# -- errors


def message(call: Any) -> str:
    with pytest.raises(InputError) as caught:
        call()
    return str(caught.value)


X, W = (2, 8, 6, 6), (16, 8, 3, 3)


@cases(
    "call, words",
    [
        (
            lambda: prepare_conv2d((8, 6, 6), W),
            "Conv2d: x has a wrong shape; expected 4 sizes of at least 0, got [8, 6, 6].",
        ),
        (
            lambda: prepare_conv2d(X, (16, 8, 3)),
            "Conv2d: weight has a wrong shape; expected 4 sizes of at least 1, got [16, 8, 3].",
        ),
        (
            lambda: prepare_conv2d(X, (16, 4, 3, 3)),
            "Conv2d: weight does not fit x; expected 8 channels of x = 1 group × dimension 1 of "
            "weight, got [16, 4, 3, 3].",
        ),
        (
            lambda: prepare_conv2d(X, (15, 4, 3, 3), groups=2),
            "Conv2d: weight cannot be parted into groups; expected dimension 0 a multiple of 2, "
            "got [15, 4, 3, 3].",
        ),
        (
            lambda: prepare_conv2d(X, W, groups=0),
            "Conv2d: groups is wrong; expected a positive number, got 0.",
        ),
        (
            lambda: prepare_conv2d(X, W, stride=0),
            "Conv2d: stride is wrong; expected one positive number, or two, got 0.",
        ),
        (
            lambda: prepare_conv2d(X, W, dilation=(1, 2, 3)),
            "Conv2d: dilation is wrong; expected one positive number, or two, got (1, 2, 3).",
        ),
        (
            lambda: prepare_conv2d(X, W, padding="around"),
            "Conv2d: padding is wrong; expected a number, four (above, below, left, right), "
            '"same" or "valid", got \'around\'.',
        ),
        (lambda: prepare_conv2d(X, W, padding=(1, -1, 0, 0)), "got (1, -1, 0, 0)."),
        (
            lambda: prepare_conv2d(X, W, dilation=3),
            "Conv2d: weight reaches beyond x; expected at most 6 × 6, got 7 × 7.",
        ),
        (
            lambda: prepare_conv2d(X, W, dtype="int8"),
            "Conv2d: dtype is not computed; expected float16 or bfloat16 or float32 or float64, "
            "got 'int8'.",
        ),
        (
            lambda: prepare_conv2d(X, W, activation="softmax"),
            "Conv2d: activation is unknown; expected relu, leaky_relu,",
        ),
        (
            lambda: prepare_conv2d(X, W, activation="relu", alpha=0.1),
            "Conv2d: alpha is given to an activation without it; expected leaky_relu or swish, "
            "got 'relu'.",
        ),
        (
            lambda: prepare_conv2d(X, W, activation="swish", alpha=float("nan")),
            "Conv2d: alpha is not finite",
        ),
        (
            lambda: prepare_conv2d(X, W, activation="swish", alpha="1"),
            "Conv2d: alpha is not finite; expected a finite number, got '1'.",
        ),
        (
            lambda: prepare_conv2d(X, W, threads=0),
            "Conv2d: threads is wrong; expected a number from 1 to 256, got 0.",
        ),
        (
            lambda: prepare_conv2d(X, W, lowering="fft"),
            "Conv2d: lowering is unknown; expected auto or onednn or im2col, got 'fft'.",
        ),
        (
            lambda: prepare_conv2d_backward(X, W, wanted=("y",)),
            "Conv2dGrad: wanted is wrong; expected some of x, weight, bias; bias only with "
            "weight, got ('y',).",
        ),
        (lambda: prepare_conv2d_backward(X, W, wanted=("bias",)), "Conv2dGrad: wanted is wrong"),
        (
            lambda: prepare_matmul((4, 5), (6, 3)),
            "MatMul: b does not fit a; expected 5 rows of b, as a has columns, got 6: a [4, 5], b "
            "[6, 3].",
        ),
        (
            lambda: prepare_matmul((4, 5), (4, 3), transpose_b=True),
            "MatMul: b does not fit a; expected 5 rows of b",
        ),
        (
            lambda: prepare_matmul((2, 4, 5), (3, 5, 6)),
            "MatMul: b does not fit a; expected batches that broadcast with [2], got [3].",
        ),
        (
            lambda: prepare_matmul((5,), (5, 6)),
            "MatMul: a has a wrong shape; expected 2 to 12 sizes, got [5].",
        ),
        (
            lambda: prepare_matmul((4, 5), (5, 6), operator="Dense").call(
                [np.zeros((4, 5), np.float32)]
            ),
            "Dense: wrong number of arrays; expected a, b, got 1.",
        ),
        (
            lambda: prepare_matmul((4, 5), (5, 6)).call(
                [np.zeros((4, 5), np.float32), np.zeros((5, 7), np.float32)]
            ),
            "MatMul: b does not fit; expected float32 [5, 6], got float32 [5, 7].",
        ),
        (
            lambda: prepare_matmul((4, 5), (5, 6)).call(
                [np.zeros((4, 5)), np.zeros((5, 6), np.float32)]
            ),
            "MatMul: a does not fit; expected float32 [4, 5], got float64 [4, 5].",
        ),
        (
            lambda: prepare_matmul((4, 5), (5, 6)).call([[1], [2]]),
            "MatMul: a does not fit; expected float32 [4, 5], got list.",
        ),
        (
            lambda: prepare_matmul((2, 1), (1, 2)).call(
                [np.zeros((2, 1), np.float32), np.zeros((1, 2), np.float32)],
                [np.zeros((2, 2), np.float32).T],
            ),
            "MatMul: the result y cannot be written to; expected a dense array that can be "
            "written, got one with strides (4, 8).",
        ),
    ],
)
def test_what_does_not_fit(call: Any, words: str) -> None:
    assert words in message(call)


def test_arrays_that_are_not_dense_are_read() -> None:
    a, b = arrays(7, (4, 6), (8, 6))
    (found,) = prepare_matmul((6, 4), (6, 8), transpose_a=True).call([a.T, b.T])
    np.testing.assert_allclose(found, a.astype(np.float64) @ b.T, rtol=1e-5, atol=1e-5)


# -- machines without it


@pytest.fixture
def forgotten() -> Iterator[None]:
    verified_library._load.cache_clear()
    yield
    verified_library._load.cache_clear()


def test_without_onednn_numpy_computes(monkeypatch: pytest.MonkeyPatch, forgotten: None) -> None:
    def absent() -> Path:
        raise MissingError("there is none")

    monkeypatch.setattr(verified_library, "find_library", absent)
    prepared = prepare_matmul((3, 4), (4, 5))
    assert (prepared.function, prepared.state, prepared.implementations) == (0, 0, ())
    a, b = arrays(8, (3, 4), (4, 5))
    np.testing.assert_allclose(prepared.call([a, b])[0], a @ b, rtol=1e-6)
    with pytest.raises(MissingError, match="there is none"):
        prepare_matmul((3, 4), (4, 5), lowering="onednn")


def test_a_stand_in_for_mindspore_has_no_library(monkeypatch: pytest.MonkeyPatch) -> None:
    stand_in = types.ModuleType("mindspore")
    monkeypatch.setitem(sys.modules, "mindspore", stand_in)
    with pytest.raises(MissingError, match=r"libdnnl.so.3 of MindSpore is not there.*im2col"):
        onednn_path.find_library()


@cases("content", [None, b"not a library"])
def test_a_missing_or_invalid_library_file_is_an_error(
    content: bytes | None, tmp_path: Path
) -> None:
    path = tmp_path / ("absent" if content is None else "there") / onednn_path.FILE
    path.parent.mkdir()
    if content is not None:
        path.write_bytes(content)
    with pytest.raises(MissingError, match="oneDNN cannot be loaded as it is expected"):
        own.load(path)


@needs_onednn
def test_another_version_is_not_called(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(own, "VERSIONS", ((2, 0), (2, 6)))
    with pytest.raises(
        MissingError, match=r"expected a version from 2\.0 to 2\.6 .* got version 3\."
    ):
        own.load(onednn_path.find_library())


@needs_onednn
def test_a_wrong_result_is_seen(monkeypatch: pytest.MonkeyPatch) -> None:
    library = found_library()
    monkeypatch.setattr(
        "custom_ops.onednn.im2col.im2col", lambda sizes, x: np.ones((3, 1, 144, 72), np.float32)
    )
    with pytest.raises(CompileError, match="oneDNN gave a wrong result in a trial"):
        verified_library.try_out(library)


@needs_onednn
def test_a_failure_inside_is_told(monkeypatch: pytest.MonkeyPatch) -> None:
    prepared = prepare_matmul((3, 4), (4, 5))
    failing = ctypes.CFUNCTYPE(ctypes.c_int, ctypes.c_void_p, ctypes.c_void_p)(
        lambda state, buffers: 1
    )
    monkeypatch.setattr("custom_ops.onednn.prepared_operator._FUNCTION", lambda address: failing)
    a, b = arrays(9, (3, 4), (4, 5))
    with pytest.raises(FusionError, match="MatMul failed in oneDNN; got out of memory"):
        prepared.call([a, b])


def test_little_work_is_not_shared(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(environment, "threads", lambda: 4)
    asked = [(None, 10_000, 100), (None, 10**9, 100), (None, 100, 10**7), (3, 10_000, 100)]
    found = [
        resolve_threads("MatMul", threads, operations=operations, elements=elements)
        for threads, operations, elements in asked
    ]
    assert found == [1, 4, 4, 3]
