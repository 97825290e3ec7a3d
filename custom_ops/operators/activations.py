"""What nn.Dense takes for an activation: a name, a Cell or a primitive; those that a product of ours ends with have a key."""

from __future__ import annotations

from typing import Any

from custom_ops.core.framework import HAS_MINDSPORE, Cell, nn, ops
from tbe_impl.errors import InputError

NAMES = {"relu": "relu", "gelu": "gelu_tanh", "silu": "silu"}
"""Name of MindSpore's → key of `custom_ops.onednn.epilogues.ACTIVATIONS`."""


def key_of(activation: Any) -> str | None:
    """The key of an activation; empty for none, None for one that no product ends with."""
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


def as_cell(activation: Any, place: str) -> Any:
    """An activation that is no key, as what is called.

    Raises:
        InputError: it is no activation of MindSpore's.
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
