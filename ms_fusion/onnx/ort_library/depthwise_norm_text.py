"""Writes a depthwise convolution with layer norm as the C text of a custom operator."""

from __future__ import annotations

import hashlib
from dataclasses import dataclass

import numpy as np

from ms_fusion.onnx.ort_library.operator_text import ELEMENT_TYPES, OperatorText, describe_kernel

SIZES = (3, 5, 7)
"""Sizes of kernels for which the sums and weights of a block fit into registers."""
_CHANNELS = 16
"""Number of which the packed channels are a multiple, as ``packed_channels`` computes it."""


@dataclass(frozen=True)
class DepthwiseNormKernel:
    """Kernel of the layer norm over the channels of a depthwise convolution, for float32 tensors.

    The inputs of the operator are the image, the weights as `pack_depthwise_weights` returns them,
    and vectors with an element for each channel: the bias, the scale and the shift. The result is
    (batch, height, width, channels).

    Attributes:
        size: height and width of the convolution's kernel, one of `SIZES`. The stride is 1; the
            padding keeps the size of the image.
        epsilon: addend of the variance.
        is_channels_last: whether the image is (batch, height, width, channels). Otherwise it is
            (batch, channels, height, width).
    """

    size: int
    epsilon: float
    is_channels_last: bool = False

    def write(self) -> OperatorText:
        """Returns the operator. Equal descriptions get equal names."""
        name = f"DepthwiseNorm_{hashlib.sha256(repr(self).encode()).hexdigest()[:12]}"
        channels, height, width = (3, 1, 2) if self.is_channels_last else (1, 2, 3)
        sizes = [
            f"const int64_t channels = given[{channels}];",
            f"if (given[AXES_MAX] != {self.size**2} * packed_channels(channels)) return 0;",
            "for (int i = 2; i < 5; i++) if (given[i * AXES_MAX] != channels) return i;",
            "sizes[0] = made[0] = given[0], sizes[1] = made[3] = channels;",
            f"sizes[2] = made[1] = given[{height}], sizes[3] = made[2] = given[{width}];",
        ]
        run = [
            "struct depthwise_norm d = {0};",
            "d.x = all[0], d.weight = all[1], d.bias = all[2], d.scale = all[3], d.shift = all[4];",
            "d.y = all[5], d.batch = sizes[0], d.channels = sizes[1];",
            f"d.height = sizes[2], d.width = sizes[3], d.epsilon = {self.epsilon!r}f;",
            f"d.is_channels_last = {self.is_channels_last:d};",
            "return convolve_and_normalize(&d, threads);",
        ]
        dtype = ELEMENT_TYPES["float32"]
        inputs = [(dtype, 4), *([(dtype, 1)] * 4)]
        text = describe_kernel(name, inputs, [(dtype, 4)], sizes, run)
        head = f'#define DEPTHWISE_SIZE {self.size}\n#include "depthwise_norm.h"\n'
        return OperatorText(name, head + text)


def pack_depthwise_weights(weights: np.ndarray) -> np.ndarray:
    """Returns weights of shape (channels, 1, size, size) in the order (size, size, channels).

    The channels are filled up with zeros to a multiple of 16. The result is a vector.
    """
    channels = weights.shape[0]
    turned = np.moveaxis(weights[:, 0], 0, -1)
    return np.pad(turned, ((0, 0), (0, 0), (0, -channels % _CHANNELS))).ravel()
