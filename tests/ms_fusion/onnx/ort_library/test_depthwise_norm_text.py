"""Layer norms of depthwise convolutions as custom operators: numbers of float64, refused shapes."""

from __future__ import annotations

from pathlib import Path

import numpy as np
import pytest

from ms_fusion.onnx.ort_library.depthwise_norm_text import (
    DepthwiseNormKernel,
    pack_depthwise_weights,
)
from ms_fusion.onnx.ort_library.operator_library import X86_LEVELS
from tests.cases import FULL, cases
from tests.ms_fusion.onnx.ort_library.operator_session import make_operator_runner
from tests.tbe_impl.tolerances import assert_close

IMAGES = [
    (1, 40, 14, 14),
    (2, 16, 3, 29),
    (1, 5, 2, 3),
    (3, 33, 9, 8),
    (1, 96, 1, 1),
    (0, 20, 4, 4),
]
"""(batch, channels, height, width): tails of channels and pixels, images below a block."""


def normalize(
    x: np.ndarray, weights: np.ndarray, bias: np.ndarray, scale: np.ndarray, shift: np.ndarray
) -> np.ndarray:
    size = weights.shape[-1]
    edge = size // 2
    padded = np.pad(x.astype(np.float64), ((0, 0), (0, 0), (edge, edge), (edge, edge)))
    windows = np.lib.stride_tricks.sliding_window_view(padded, (size, size), axis=(2, 3))
    sums = np.einsum("bchwij,cij->bhwc", windows, weights[:, 0].astype(np.float64)) + bias
    centred = sums - sums.mean(-1, keepdims=True)
    variance = (centred**2).mean(-1, keepdims=True)
    return np.asarray(centred / np.sqrt(variance + 1e-5) * scale + shift)


@cases(
    "size, is_channels_last, level",
    [
        (7, False, None),
        (3, True, X86_LEVELS[1][0]),
        (5, True, None),
        pytest.param(5, False, None, marks=FULL),
        pytest.param(7, False, X86_LEVELS[1][0], marks=FULL),
        pytest.param(7, True, X86_LEVELS[2][0], marks=FULL),
    ],
)
def test_depthwise_norm_agrees_with_float64(
    size: int, is_channels_last: bool, level: str | None, tmp_path: Path
) -> None:
    operator = DepthwiseNormKernel(size, 1e-5, is_channels_last).write()
    run = make_operator_runner(operator, [4, 1, 1, 1, 1], tmp_path, level, threads=2)
    random = np.random.default_rng(2)
    for shape in IMAGES:
        x = random.standard_normal(shape).astype(np.float32)
        weights = (random.standard_normal((shape[1], 1, size, size)) / size).astype(np.float32)
        vectors = [random.standard_normal(shape[1]).astype(np.float32) for _ in range(3)]
        image = np.ascontiguousarray(np.moveaxis(x, 1, -1)) if is_channels_last else x
        found = run(image, pack_depthwise_weights(weights), *vectors)
        assert_close(found, normalize(x, weights, *vectors), "float32", times=16)


def test_wrong_shapes_are_refused(tmp_path: Path) -> None:
    run = make_operator_runner(
        DepthwiseNormKernel(3, 1e-5).write(), [4, 1, 1, 1, 1], tmp_path, None
    )
    right = [np.ones(shape, np.float32) for shape in ((1, 5, 4, 4), (144,), (5,), (5,), (5,))]
    assert run(*right).shape == (1, 4, 4, 5)
    for number, named in ((1, 0), (2, 2), (3, 3), (4, 4)):
        wrong = [*right]
        wrong[number] = np.ones(6, np.float32)
        with pytest.raises(Exception, match=f"input {named} of DepthwiseNorm_.* does not have the"):
            run(*wrong)
