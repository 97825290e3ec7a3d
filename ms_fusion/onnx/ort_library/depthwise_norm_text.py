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

    The inputs of the operator are the image (batch, channels, height, width), the weights as
    `pack_depthwise_weights` returns them, and vectors with an element for each channel: the bias,
    the scale and the shift. The result is (batch, height, width, channels).

    Attributes:
        size: height and width of the convolution's kernel, one of `SIZES`. The stride is 1; the
            padding keeps the size of the image.
        epsilon: addend of the variance.
    """

    size: int
    epsilon: float

    def write(self) -> OperatorText:
        """Returns the operator. Equal descriptions get equal names."""
        name = f"DepthwiseNorm_{hashlib.sha256(repr(self).encode()).hexdigest()[:12]}"
        sizes = [
            "const int64_t channels = given[1];",
            f"if (given[AXES_MAX] != {self.size**2} * packed_channels(channels)) return 0;",
            "for (int i = 2; i < 5; i++) if (given[i * AXES_MAX] != channels) return i;",
            "for (int axis = 0; axis < 4; axis++) sizes[axis] = given[axis];",
            "made[0] = given[0], made[1] = given[2], made[2] = given[3], made[3] = channels;",
        ]
        run = [
            "struct depthwise_norm d = {0};",
            "d.x = all[0], d.weight = all[1], d.bias = all[2], d.scale = all[3], d.shift = all[4];",
            "d.y = all[5], d.batch = sizes[0], d.channels = sizes[1];",
            f"d.height = sizes[2], d.width = sizes[3], d.epsilon = {self.epsilon!r}f;",
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
