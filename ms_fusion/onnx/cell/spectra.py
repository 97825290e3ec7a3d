"""Emits MindSpore code for ONNX's Fourier transforms ``DFT`` and ``STFT``.

A complex element is a pair (real, imaginary) in the last axis.
"""

from __future__ import annotations

from typing import Any

import mindspore
from mindspore import ops

from ms_fusion.onnx.cell.operator_use import OperatorUse

AXIS_INPUT_OPSET = 20
"""First opset in which DFT reads its axis as an input."""
_complex_primitive = ops.Complex()


def dft(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``DFT``."""
    (axis,) = (
        (use.integers("axis", 2) or (-2,))
        if use.version >= AXIS_INPUT_OPSET
        else (use.attr("axis", 1),)
    )
    length = use.integers("dft_length", 1)
    told = (
        axis % use.rank(),
        length and length[0],
        bool(use.attr("inverse", 0)),
        bool(use.attr("onesided", 0)),
    )
    return f"spectra.fourier_transform({use.text()}, {', '.join(map(str, told))})"


def stft(use: OperatorUse) -> str:
    """Emits the MindSpore expression for ONNX ``STFT``."""
    (step,), length = use.integers("frame_step", 1) or (1,), use.integers("frame_length", 3)
    window = use.text(2) or "None"
    return (
        f"spectra.short_time_transform({use.text()}, {step}, {window}, {length and length[0]}, "
        f"{bool(use.attr('onesided', 1))})"
    )


def fourier_transform(
    x: Any, axis: int, length: int | None, is_inverse: bool, is_one_sided: bool
) -> Any:
    """Returns Σ x · e^(∓2πi · kn / length) of a signal that is cropped or zero-padded to `length`.

    The inverse transform divides by `length`. If `is_one_sided` is true, the forward transform of a
    real signal returns only the first half of the spectrum. If `is_one_sided` is true, the inverse
    transform takes this half and returns a real signal.
    """
    given = 2 * (x.shape[axis] - 1) if is_inverse and is_one_sided else x.shape[axis]
    length = given if length is None else length
    kept = length // 2 + 1 if is_one_sided else length
    dtype = x.dtype
    wide = x if dtype == mindspore.float64 else ops.cast(x, mindspore.float32)
    wide = crop_or_pad(wide, axis, kept if is_inverse else length)
    real = wide[..., 0]
    signal = _complex_primitive(real, ops.zeros_like(real) if x.shape[-1] == 1 else wide[..., 1])
    if is_inverse and is_one_sided:
        return ops.cast(ops.expand_dims(ops.irfft(signal, length, axis), -1), dtype)
    found = ops.ifft(signal, length, axis) if is_inverse else ops.fft(signal, length, axis)
    pairs = ops.stack((ops.real(found), ops.imag(found)), -1)
    return ops.cast(ops.narrow(pairs, axis, 0, kept), dtype)


def short_time_transform(
    x: Any, step: int, window: Any, length: int | None, is_one_sided: bool
) -> Any:
    """Returns the Fourier transform of each frame of a signal.

    A frame starts every `step` elements.

    The result is a tensor (batch, frames, frequencies, 2).
    """
    if length is None:
        length = x.shape[1] if window is None else window.shape[0]
    count = (x.shape[1] - length) // step + 1
    places = ops.expand_dims(ops.arange(count) * step, 1) + ops.arange(length)
    frames = ops.reshape(
        ops.gather(x, ops.reshape(places, (-1,)), 1), (x.shape[0], count, length, x.shape[2])
    )
    frames = frames if window is None else frames * ops.reshape(window, (-1, 1))
    return fourier_transform(frames, 2, length, False, is_one_sided)


def crop_or_pad(x: Any, axis: int, size: int) -> Any:
    """Crops an axis to a size, or pads the axis with zeros at the end."""
    lacking = size - x.shape[axis]
    if lacking > 0:
        shape = (*x.shape[:axis], lacking, *x.shape[axis + 1 :])
        return ops.concat((x, ops.zeros(shape, x.dtype)), axis)
    return ops.narrow(x, axis, 0, size)
