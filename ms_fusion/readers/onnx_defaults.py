"""Handles model inputs that have a default, which is an initializer of the same name."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

SINCE_IR_VERSION = 4
"""IR version from which an initializer need not be listed as an input.

In files of earlier versions, every initializer is also listed as an input, but a caller cannot
replace the value of such an input.
"""


def convert_defaults_to_weights(model: ir.Model) -> None:
    """Converts, in place, the inputs with a default to weights, which callers cannot set."""
    model.graph.inputs[:] = [one for one in model.graph.inputs if not one.is_initializer()]


def remove_defaults(model: ir.Model) -> Mapping[str, ir.TensorProtocol]:
    """Removes the defaults of inputs, so that later passes cannot constant-fold the inputs.

    The function changes the model in place. It returns a dict from the name of an input to its
    removed default.
    """
    defaults = {}
    for value in model.graph.inputs:
        if value.is_initializer() and value.name is not None and value.const_value is not None:
            defaults[value.name] = value.const_value
            model.graph.initializers.pop(value.name)
            value.const_value = None
    return defaults


def restore_defaults(model: ir.Model, defaults: Mapping[str, ir.TensorProtocol]) -> None:
    """Restores, in place, the defaults of inputs that `remove_defaults` has removed."""
    for value in model.graph.inputs:
        if value.name is not None and value.name in defaults:
            value.const_value = defaults[value.name]
            model.graph.register_initializer(value)
