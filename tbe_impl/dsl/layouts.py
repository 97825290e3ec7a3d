"""Converts NumPy arrays to and from the block layouts FRACTAL_NZ, FRACTAL_Z and NC1HWC0."""

from __future__ import annotations

from collections.abc import Sequence
from math import lcm, prod

import numpy as np

from tbe_impl.dsl.array_semantics import Array

BLOCK = 16


def block_count(size: int, block: int = BLOCK) -> int:
    """Returns the number of blocks that `size` elements occupy: ⌈size / block⌉."""
    return -(-size // block)


def from_nz(x: Array) -> Array:
    """Converts from FRACTAL_NZ: (…, N1, M1, M0, N0) → (…, M1·M0, N1·N0)."""
    n1, m1, m0, n0 = x.shape[-4:]
    lead = x.ndim - 4
    moved = np.moveaxis(x, lead, -2)  # …, M1, M0, N1, N0
    return moved.reshape(*x.shape[:lead], m1 * m0, n1 * n0)


def to_nz(x: Array, block: int = BLOCK) -> Array:
    """Converts to FRACTAL_NZ, padded with 0: (…, M, N) → (…, N1, M1, 16, block)."""
    m, n = x.shape[-2:]
    m1, n1 = block_count(m), block_count(n, block)
    full = np.pad(x, [(0, 0)] * (x.ndim - 2) + [(0, m1 * BLOCK - m), (0, n1 * block - n)])
    cut = full.reshape(*x.shape[:-2], m1, BLOCK, n1, block)
    return np.moveaxis(cut, -2, x.ndim - 2)


def from_zn(x: Array) -> Array:
    """Converts a matrix from FRACTAL_Z: (…, K1, N1, N0, K0) → (…, K1·K0, N1·N0)."""
    return np.swapaxes(from_nz(x), -1, -2)


def from_blocked_channels(x: Array, channels: int | None = None, axis: int = 1) -> Array:
    """Converts from blocked channels: (N, C1, spatial…, C0) → (N, C, spatial…).

    `axis` is the position of C1: 1 in NC1HWC0, 2 in NDC1HWC0. `channels` is the number of channels
    C without padding; None keeps the padded channels.
    """
    moved = np.moveaxis(np.moveaxis(x, axis, 1), -1, 2)  # N, C1, C0, spatial…
    plain = moved.reshape(x.shape[0], moved.shape[1] * moved.shape[2], *moved.shape[3:])
    return plain if channels is None else plain[:, :channels]


def to_blocked_channels(x: Array, block: int = BLOCK, axis: int = 1) -> Array:
    """Converts to blocked channels, padded with 0: (N, C, spatial…) → (N, C1, spatial…, C0)."""
    channels = x.shape[1]
    c1 = block_count(channels, block)
    full = np.pad(x, [(0, 0), (0, c1 * block - channels)] + [(0, 0)] * (x.ndim - 2))
    cut = full.reshape(x.shape[0], c1, block, *x.shape[2:])
    return np.moveaxis(np.moveaxis(cut, 2, -1), 1, axis)


def group_packing(outer: int, inner: int, groups: int, block: int = BLOCK) -> tuple[int, int]:
    """Computes how the groups of a convolution are packed into block-diagonal matrices.

    Args:
        outer, inner: numbers of output and input channels of one group.
        groups: number of groups.
        block: number of input channels in one block of the layout.

    Returns:
        The number of groups per matrix, and the number of matrices.

    >>> group_packing(1, 1, 32), group_packing(16, 16, 2), group_packing(1, 1, 1)
    ((16, 2), (1, 2), (1, 1))
    """
    together = lcm(lcm(inner, block) // inner, lcm(outer, BLOCK) // outer)
    together = min(together, groups)
    return together, block_count(groups, together)


def fractal_z_shape(
    shape: Sequence[int], groups: int = 1, block: int = BLOCK
) -> tuple[int, int, int, int]:
    """Returns the FRACTAL_Z shape of a filter (O, C / groups, kernel…)."""
    outer, inner = shape[0] // groups, shape[1]
    together, packs = group_packing(outer, inner, groups, block)
    rows = packs * block_count(inner * together, block) * prod(shape[2:])
    return rows, block_count(outer * together), BLOCK, block


def from_fractal_z(w: Array, shape: Sequence[int], groups: int = 1) -> Array:
    """Converts a filter from FRACTAL_Z or FRACTAL_Z_3D to `shape`, (O, C / groups, kernel…).

    `w` has the shape (D·C1·H·W, N1, N0, C0), or (C1·H·W, N1, N0, C0) for a 4-d `shape`. `w` is a
    sequence of block-diagonal matrices; `group_packing` gives the number of groups per matrix.
    """
    outer, inner = shape[0] // groups, shape[1]
    together, packs = group_packing(outer, inner, groups, w.shape[-1])
    parts = []
    for pack in np.split(w, packs):
        whole = _from_fractal_z(pack, (outer * together, inner * together, *shape[2:]))
        parts += [
            whole[e * outer : (e + 1) * outer, e * inner : (e + 1) * inner] for e in range(together)
        ]
    return np.concatenate(parts[:groups])


def fractal_z_c04_shape(
    shape: Sequence[int], groups: int = 1, block: int = BLOCK
) -> tuple[int, int, int, int]:
    """Returns the FRACTAL_Z_C04 shape of a filter (O, C, H, W) with C ≤ 4 and one group."""
    block = max(block, BLOCK)
    return block_count(4 * prod(shape[2:]), block), block_count(shape[0]), BLOCK, block


def from_fractal_z_c04(w: Array, shape: Sequence[int], groups: int = 1) -> Array:
    """Converts a filter from FRACTAL_Z_C04 to (O, C, H, W).

    The stored filter is a matrix of H·W·4 rows and O columns, split into blocks. C is padded to 4.
    """
    outer, inner, *kernel = shape
    rows = np.moveaxis(w, -1, 1).reshape(-1, w.shape[1] * BLOCK)  # H·W·4, O
    cut = rows[: 4 * prod(kernel)].reshape(*kernel, 4, -1)
    return np.moveaxis(cut, (-1, -2), (0, 1))[:outer, :inner]


def _from_fractal_z(w: Array, shape: Sequence[int]) -> Array:
    outer, inner, *kernel = shape
    depth, plane = (kernel[0], kernel[1:]) if len(kernel) == 3 else (1, kernel)
    n1, n0, c0 = w.shape[1:]
    c1 = block_count(inner, c0)
    cut = w.reshape(depth, c1, *plane, n1 * n0, c0)  # D, C1, H, W, O, C0
    moved = cut.transpose(4, 1, 5, 0, 2, 3).reshape(n1 * n0, c1 * c0, depth, *plane)
    return moved[:outer, :inner].reshape(shape)


def to_fractal_z(w: Array, block: int = BLOCK, groups: int = 1) -> Array:
    """Converts (O, C / groups, kernel…) to FRACTAL_Z or FRACTAL_Z_3D, padded with 0.

    `from_fractal_z` is the inverse function, and its docstring describes the layout.
    """
    outer, inner = w.shape[0] // groups, w.shape[1]
    together, packs = group_packing(outer, inner, groups, block)
    wholes = np.zeros((packs, outer * together, inner * together, *w.shape[2:]), w.dtype)
    for group, part in enumerate(np.split(w, groups)):
        pack, e = divmod(group, together)
        wholes[pack, e * outer : (e + 1) * outer, e * inner : (e + 1) * inner] = part
    return np.concatenate([_to_fractal_z(whole, block) for whole in wholes])


def _to_fractal_z(w: Array, block: int) -> Array:
    outer, inner, *kernel = w.shape
    depth, plane = (kernel[0], kernel[1:]) if len(kernel) == 3 else (1, kernel)
    n1, c1 = block_count(outer), block_count(inner, block)
    full = np.pad(
        w.reshape(outer, inner, depth, *plane),
        [(0, n1 * BLOCK - outer), (0, c1 * block - inner), (0, 0), (0, 0), (0, 0)],
    )
    cut = full.reshape(n1 * BLOCK, c1, block, depth, *plane).transpose(3, 1, 4, 5, 0, 2)
    return cut.reshape(-1, n1, BLOCK, block)
