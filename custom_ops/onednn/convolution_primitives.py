"""The primitives that plans of a convolution's gradients share."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from custom_ops.onednn import constants
from custom_ops.onednn.geometry import Geometry
from custom_ops.onednn.plans import Builder, dims


def window(sizes: Geometry) -> tuple[Any, ...]:
    """Strides, dilations and padding, as oneDNN takes them."""
    above, below, left, right = sizes.padding
    # oneDNN counts the gaps
    return dims(sizes.stride), dims([step - 1 for step in sizes.dilation]), dims((above, left)), dims((below, right))  # fmt: skip


def hint(builder: Builder, sizes: Geometry, laid: Mapping[str, Any]) -> Any:
    """The forward pass that gradients belong to, for layouts of ``x``, ``weight`` and ``y``."""
    made = builder.primitive(
        "convolution_forward", builder.dnnl.engine, constants.FORWARD_TRAINING, constants.CONVOLUTION_DIRECT,
        laid["x"], laid["weight"], None, laid["y"], *window(sizes), builder.attributes(),
    )  # fmt: skip
    builder.names.pop()
    return made


def gradient_of_weights(builder: Builder, sizes: Geometry, laid: Mapping[str, Any], forward: Any, bias: Any) -> Any:  # fmt: skip
    """That primitive; `bias` is the layout of the bias's gradient, or None."""
    return builder.primitive(
        "convolution_backward_weights", builder.dnnl.engine, constants.CONVOLUTION_DIRECT,
        laid["x"], laid["weight"], bias, laid["y"], *window(sizes), forward, builder.attributes(),
    )  # fmt: skip
