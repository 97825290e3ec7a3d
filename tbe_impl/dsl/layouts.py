"""The block layouts of the matrix unit as NumPy arrays: FRACTAL_NZ, FRACTAL_Z and NC1HWC0, to plain layouts and back."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np

from tbe_impl.dsl.arrays import Array

BLOCK = 16


def blocks_of(size: int, block: int = BLOCK) -> int:
    """How many blocks hold `size` elements."""
    return -(-size // block)


def from_nz(x: Array) -> Array:
    """(…, N1, M1, M0, N0) → (…, M1·M0, N1·N0)."""
    n1, m1, m0, n0 = x.shape[-4:]
    lead = x.ndim - 4
    moved = np.moveaxis(x, lead, -2)  # …, M1, M0, N1, N0
    return moved.reshape(*x.shape[:lead], m1 * m0, n1 * n0)


def to_nz(x: Array, block: int = BLOCK) -> Array:
    """(…, M, N) → (…, N1, M1, 16, block), filled up with 0."""
    m, n = x.shape[-2:]
    m1, n1 = blocks_of(m), blocks_of(n, block)
    full = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(0, m1 * BLOCK - m), (0, n1 * block - n)])
    cut = full.reshape(*x.shape[:-2], m1, BLOCK, n1, block)
    return np.moveaxis(cut, -2, x.ndim - 2)


def from_zn(x: Array) -> Array:
    """A matrix in FRACTAL_Z, (…, K1, N1, N0, K0), as (…, K1·K0, N1·N0)."""
    return np.swapaxes(from_nz(x), -1, -2)


def from_blocked_channels(x: Array, channels: int | None = None, axis: int = 1) -> Array:
    """(N, C1, spatial…, C0) → (N, C, spatial…); `axis` is that of C1, as 2 in NDC1HWC0."""
    moved = np.moveaxis(np.moveaxis(x, axis, 1), -1, 2)  # N, C1, C0, spatial…
    plain = moved.reshape(x.shape[0], moved.shape[1] * moved.shape[2], *moved.shape[3:])
    return plain if channels is None else plain[:, :channels]


def to_blocked_channels(x: Array, block: int = BLOCK, axis: int = 1) -> Array:
    """(N, C, spatial…) → (N, C1, spatial…, C0), filled up with 0."""
    channels = x.shape[1]
    c1 = blocks_of(channels, block)
    full = np.pad(x, [(0, 0), (0, c1 * block - channels)] + [(0, 0)] * (x.ndim - 2))
    cut = full.reshape(x.shape[0], c1, block, *x.shape[2:])
    return np.moveaxis(np.moveaxis(cut, 2, -1), 1, axis)


def from_fractal_z(w: Array, shape: Sequence[int]) -> Array:
    """A filter in FRACTAL_Z or FRACTAL_Z_3D as (O, I, kernel…).

    It is (D·C1·H·W, N1, N0, C0); a shape of (O, I, H, W) has no D.
    """
    outer, inner, *kernel = shape
    depth, plane = (kernel[0], kernel[1:]) if len(kernel) == 3 else (1, kernel)
    n1, n0, c0 = w.shape[1:]
    c1 = blocks_of(inner, c0)
    cut = w.reshape(depth, c1, *plane, n1 * n0, c0)  # D, C1, H, W, O, C0
    moved = cut.transpose(4, 1, 5, 0, 2, 3).reshape(n1 * n0, c1 * c0, depth, *plane)
    return moved[:outer, :inner].reshape(shape)


def to_fractal_z(w: Array, block: int = BLOCK) -> Array:
    """(O, I, kernel…) in FRACTAL_Z or FRACTAL_Z_3D, filled up with 0."""
    outer, inner, *kernel = w.shape
    depth, plane = (kernel[0], kernel[1:]) if len(kernel) == 3 else (1, kernel)
    n1, c1 = blocks_of(outer), blocks_of(inner, block)
    full = np.pad(
        w.reshape(outer, inner, depth, *plane),
        [(0, n1 * BLOCK - outer), (0, c1 * block - inner), (0, 0), (0, 0), (0, 0)],
    )
    cut = full.reshape(n1 * BLOCK, c1, block, depth, *plane).transpose(3, 1, 4, 5, 0, 2)
    return cut.reshape(-1, n1, BLOCK, block)
