"""Softplus and log-sigmoid keep their tails: within two ULP, down to the smallest values."""

from __future__ import annotations

from pathlib import Path

import numpy as np

import tbe_impl
from tbe_impl.comparing import spacing
from tests.cases import cases

PLACE = Path(tbe_impl.__file__).parent / "ops"


def numbers() -> np.ndarray:
    random = np.random.default_rng(3)
    bits = random.integers(0, 1 << 32, 200_000, dtype=np.uint32).view(np.float32)
    spread = [np.linspace(-110, 110, 100_000), np.linspace(-15, 15, 100_000)]
    return np.concatenate([bits[np.isfinite(bits)], *spread]).astype(np.float32)


@cases("name, sign", [("softplus", 1), ("log_sigmoid", -1)])
def test_tails_are_within_two_units(name: str, sign: int) -> None:
    x = numbers()
    wide = sign * x.astype(np.float64)
    exact = sign * (np.maximum(wide, 0) + np.log1p(np.exp(-np.abs(wide))))
    argument = {"shape": x.shape, "dtype": "float32"}
    kernel = tbe_impl.load_operator(PLACE / f"{name}.py").build(argument, argument)
    away = np.abs(kernel(x).astype(np.float64) - exact) / spacing(exact, "float32")
    assert away.max() <= 2, f"{away.max()} units at {x[away.argmax()]}"
