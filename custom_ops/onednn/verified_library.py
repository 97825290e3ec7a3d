"""Loads oneDNN once per process and self-tests it with one multi-threaded convolution."""

from __future__ import annotations

import threading
from functools import lru_cache

import numpy as np

from custom_ops.onednn.convolution_plans import plan_forward
from custom_ops.onednn.dnnl_library import Library, load
from custom_ops.onednn.epilogues import Epilogue
from custom_ops.onednn.geometry import geometry
from custom_ops.onednn.im2col import forward
from custom_ops.onednn.onednn_path import find_library
from custom_ops.onednn.prepared_operator import TensorType
from tbe_impl.errors import CompileError, FusionError

SELF_TEST_THREADS = 3
"""Number of threads of the self-test. It is more than one, to test our thread pool too."""


@lru_cache(maxsize=1)
def _load() -> Library | FusionError:
    try:
        made = load(find_library())
        try_out(made)
    except FusionError as error:
        return error
    return made


_load_lock = threading.Lock()


def library() -> Library:
    """Returns oneDNN, loaded and self-tested once per process.

    Raises:
        MissingError: no supported oneDNN is installed.
        CompileError: our runtime cannot be built, or its self-test failed.
    """
    with _load_lock:
        found = _load()
    if isinstance(found, FusionError):
        raise found
    return found


def why_missing() -> str:
    """Returns the reason why oneDNN cannot be used, or an empty string if it can be used."""
    try:
        library()
    except FusionError as error:
        return str(error)
    return ""


def try_out(library: Library) -> None:
    """Raises `CompileError` if oneDNN, called through our runtime, computes a wrong result."""
    sizes = geometry("Conv2d", (3, 16, 9, 8), (32, 16, 3, 3), padding=1)
    after = Epilogue(activation="leaky_relu", alpha=0.5)
    generator = np.random.default_rng(0)
    # with small integers every sum is exact in any order
    given = [
        generator.integers(-3, 4, shape).astype(np.float32) for shape in (sizes.x, sizes.weight)
    ]
    inputs = tuple(
        TensorType(name, item.shape, "float32")
        for name, item in zip(("x", "weight"), given, strict=True)
    )
    prepared = plan_forward(
        "Conv2d",
        sizes,
        inputs,
        TensorType("y", sizes.y, "float32"),
        after,
        SELF_TEST_THREADS,
        library,
    )
    if not np.array_equal(prepared.call(given)[0], forward(sizes, after, *given)):
        raise CompileError(
            "oneDNN gave a wrong result in a trial",
            place=str(library.path),
            got=f"version {'.'.join(map(str, library.version))}",
        )
