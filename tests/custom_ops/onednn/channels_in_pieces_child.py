"""Convolutions in a process whose oneDNN is limited to AVX2.

``python -m tests.custom_ops.onednn.channels_in_pieces_child STEP``.

Prints for each case its implementations and its error: root mean square of the difference to
float64 over that of the result.
"""

from __future__ import annotations

import itertools
import json
import sys
from typing import Any

import numpy as np

from custom_ops.onednn import prepare_conv2d
from custom_ops.onednn.epilogues import ACTIVATIONS
from tests.custom_ops.onednn.test_convolution import convolve

CASES: dict[str, tuple[tuple[int, ...], tuple[int, ...], dict[str, Any]]] = {
    "many channels": ((1, 512, 5, 6), (40, 512, 3, 3), {"padding": 1}),
    "three pieces": ((2, 51, 9, 7), (24, 51, 3, 3), {"padding": 1, "stride": 2}),
    "one piece": ((1, 37, 11, 8), (24, 37, 3, 3), {"padding": (1, 2, 0, 3)}),
    "1x1": ((1, 512, 5, 6), (40, 512, 1, 1), {}),
}


def main(step: int) -> None:
    """Prints a JSON line for each case and epilogue, or for every STEP-th."""
    for name, (x_shape, weight_shape, how) in CASES.items():
        generator = np.random.default_rng(3)
        x, weight = (
            generator.standard_normal(shape, np.float32) for shape in (x_shape, weight_shape)
        )
        sums = convolve(x, weight, **how)
        given = {
            "x": x,
            "weight": weight,
            "residual": generator.standard_normal(sums.shape, np.float32),
        }
        given |= {
            what: generator.standard_normal(weight_shape[0], np.float32)
            for what in ("scale", "bias")
        }
        wide = {
            what: one.astype(np.float64).reshape(-1, 1, 1)
            for what, one in given.items()
            if one.ndim == 1
        }
        ways = itertools.product((False, True), (False, True), (False, True), ("", "relu", "silu"))
        for scale, bias, residual, activation in itertools.islice(ways, 0, None, step):
            for last in ((), ("y",), ("x", "y"), *([("x", "y", "residual")] if residual else [])):
                more: dict[str, Any] = {
                    "scale": scale,
                    "bias": bias,
                    "residual": residual,
                    "activation": activation,
                }
                prepared = prepare_conv2d(x_shape, weight_shape, **how, **more, channels_last=last)
                (found,) = prepared.call(
                    [_lying(given[kind.name], kind.name in last) for kind in prepared.inputs]
                )
                expected = sums * (wide["scale"] if scale else 1) + (wide["bias"] if bias else 0)
                expected = expected + (given["residual"] if residual else 0)
                expected = (
                    ACTIVATIONS[activation].formula(expected, 1.0) if activation else expected
                )
                off = np.sqrt(
                    np.mean((_plain(found, "y" in last) - expected) ** 2) / np.mean(expected**2)
                )
                print(json.dumps([name, f"{more} {last}", prepared.implementations, off]))


def _lying(array: np.ndarray, last: bool) -> np.ndarray:
    return np.ascontiguousarray(np.moveaxis(array, 1, -1)) if last else array


def _plain(array: np.ndarray, last: bool) -> np.ndarray:
    return np.moveaxis(array, -1, 1) if last else array


if __name__ == "__main__":
    main(int(sys.argv[1]))
