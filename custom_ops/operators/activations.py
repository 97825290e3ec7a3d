"""Maps the activation argument of nn.Dense to the key of the fused activation."""

from __future__ import annotations

from typing import Any

from custom_ops.core.framework import HAS_MINDSPORE, Cell, nn, ops
from tbe_impl.errors import InputError

NAMES = {"relu": "relu", "gelu": "gelu_tanh", "silu": "silu"}
"""Dict from MindSpore's name of an activation to the key in `onednn.epilogues.ACTIVATIONS`."""


def key_of(activation: Any) -> str | None:
    """Returns the key of an activation in `custom_ops.onednn.epilogues.ACTIVATIONS`.

    If there is no activation, the result is an empty string. If the activation cannot be fused into
    a matrix product, the result is None.

    Args:
        activation: a name, a Cell or a primitive, as for nn.Dense; None for no activation.
    """
    if activation is None:
        return ""
    if isinstance(activation, str):
        return NAMES.get(activation)
    if not HAS_MINDSPORE:
        return None
    if type(activation) is nn.GELU:
        return "gelu_tanh" if activation.approximate == "tanh" else "gelu"
    spec, attributes = getattr(activation, "spec", None), getattr(activation, "attributes", {})
    if spec is not None and spec.name == "GELU":
        return "gelu_tanh" if attributes["approximate"] else "gelu"
    if spec is not None and spec.name == "Swish":
        return "silu" if attributes["beta"] == 1 else None
    known = {nn.ReLU: "relu", nn.SiLU: "silu", ops.ReLU: "relu", ops.GeLU: "gelu_tanh"}
    return known.get(type(activation))


def activation_cell(activation: Any, place: str) -> Any:
    """Returns the Cell or primitive of an activation that cannot be fused into a matrix product.

    Raises:
        InputError: MindSpore has no such activation, or is not installed.
    """
    expected = "None, a name, a Cell or a primitive"
    if isinstance(activation, str):
        if HAS_MINDSPORE:
            from mindspore.nn.layer.activation import get_activation

            try:
                return get_activation(activation)
            except KeyError:
                pass
        else:
            expected = ", ".join(NAMES)
    elif HAS_MINDSPORE and isinstance(activation, (Cell, ops.Primitive)):
        return activation
    raise InputError(
        f"{place}: activation is unknown", place=place, expected=expected, got=repr(activation)
    )
