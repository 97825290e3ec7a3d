"""Handles model inputs with a default: initializers that are also listed as inputs."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

SINCE_IR_VERSION = 4
"""IR version from which an initializer need not be listed as an input.

In earlier versions every initializer is listed as an input too, but a caller cannot replace its
value.
"""


def convert_defaults_to_weights(model: ir.Model) -> None:
    """Turn inputs with a default into weights, which callers cannot set, in place."""
    model.graph.inputs[:] = [one for one in model.graph.inputs if not one.is_initializer()]


def remove_defaults(model: ir.Model) -> Mapping[str, ir.TensorProtocol]:
    """Removes the defaults of inputs, in place, so that later passes cannot constant-fold them.

    Returns a dict from the name of each such input to its default.
    """
    defaults = {}
    for value in model.graph.inputs:
        if value.is_initializer() and value.name is not None and value.const_value is not None:
            defaults[value.name] = value.const_value
            model.graph.initializers.pop(value.name)
            value.const_value = None
    return defaults


def restore_defaults(model: ir.Model, defaults: Mapping[str, ir.TensorProtocol]) -> None:
    """Restore the defaults that `remove_defaults` removed from the inputs, in place."""
    for value in model.graph.inputs:
        if value.name is not None and value.name in defaults:
            value.const_value = defaults[value.name]
            model.graph.register_initializer(value)
