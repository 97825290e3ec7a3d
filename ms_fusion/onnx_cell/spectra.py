"""Fourier transforms: of whole signals, and of windows of them. Numbers are pairs of a real and an imaginary part in the last axis."""

from __future__ import annotations

from typing import Any

import mindspore
from mindspore import ops

from ms_fusion.onnx_cell.operator_use import Use

AXIS_AS_INPUT = 20
"""Version from which on DFT reads its axis."""
_complex = ops.Complex()


def transform(use: Use) -> str:
    """``DFT``."""
    (axis,) = (
        (use.whole("axis", 2) or (-2,)) if use.version >= AXIS_AS_INPUT else (use.attr("axis", 1),)
    )
    length = use.whole("dft_length", 1)
    told = (
        axis % use.rank(),
        length and length[0],
        bool(use.attr("inverse", 0)),
        bool(use.attr("onesided", 0)),
    )
    return f"spectra.transformed({use.text()}, {', '.join(map(str, told))})"


def windowed_transform(use: Use) -> str:
    """``STFT``."""
    (step,), length = use.whole("frame_step", 1) or (1,), use.whole("frame_length", 3)
    window = use.text(2) or "None"
    return f"spectra.of_frames({use.text()}, {step}, {window}, {length and length[0]}, {bool(use.attr('onesided', 1))})"


def transformed(x: Any, axis: int, length: int | None, is_inverse: bool, is_one_sided: bool) -> Any:
    """Σ x · e^(∓2πi · kn / length), the inverse divided by the length, of a signal that is cut or filled with zeros.

    One-sided is a half of the result, as the rest of what is real follows from it; or of the signal, where the inverse is real.
    """
    given = 2 * (x.shape[axis] - 1) if is_inverse and is_one_sided else x.shape[axis]
    length = given if length is None else length
    kept = length // 2 + 1 if is_one_sided else length
    dtype = x.dtype
    wide = x if dtype == mindspore.float64 else ops.cast(x, mindspore.float32)
    wide = fitted(wide, axis, kept if is_inverse else length)
    real = wide[..., 0]
    signal = _complex(real, ops.zeros_like(real) if x.shape[-1] == 1 else wide[..., 1])
    if is_inverse and is_one_sided:
        return ops.cast(ops.expand_dims(ops.irfft(signal, length, axis), -1), dtype)
    found = ops.ifft(signal, length, axis) if is_inverse else ops.fft(signal, length, axis)
    pairs = ops.stack((ops.real(found), ops.imag(found)), -1)
    return ops.cast(ops.narrow(pairs, axis, 0, kept), dtype)


def of_frames(x: Any, step: int, window: Any, length: int | None, is_one_sided: bool) -> Any:
    """Transforms of what lies under a window that moves along: (batch, frames, frequencies, 2)."""
    if length is None:
        length = x.shape[1] if window is None else window.shape[0]
    count = (x.shape[1] - length) // step + 1
    places = ops.expand_dims(ops.arange(count) * step, 1) + ops.arange(length)
    frames = ops.reshape(
        ops.gather(x, ops.reshape(places, (-1,)), 1), (x.shape[0], count, length, x.shape[2])
    )
    frames = frames if window is None else frames * ops.reshape(window, (-1, 1))
    return transformed(frames, 2, length, False, is_one_sided)


def fitted(x: Any, axis: int, size: int) -> Any:
    """The first elements of an axis, followed by zeros where they are too few."""
    lacking = size - x.shape[axis]
    if lacking > 0:
        shape = (*x.shape[:axis], lacking, *x.shape[axis + 1 :])
        return ops.concat((x, ops.zeros(shape, x.dtype)), axis)
    return ops.narrow(x, axis, 0, size)
