"""Inputs of a model that have a default: initializers that are listed among the inputs, too, which a caller may feed or not."""

from __future__ import annotations

from collections.abc import Mapping

import onnx_ir as ir

SINCE_IR_VERSION = 4
"""Before it every initializer had to be listed among the inputs, and none could be fed."""


def as_weights(model: ir.Model) -> None:
    """Takes the defaults for all there is, in place: what has one is a weight and no input."""
    model.graph.inputs[:] = [one for one in model.graph.inputs if not one.is_initializer()]


def taken_off(model: ir.Model) -> Mapping[str, ir.TensorProtocol]:
    """Takes the defaults off, in place, so that nothing that is made of the model is made of them; by the name of the input."""
    defaults = {}
    for value in model.graph.inputs:
        if value.is_initializer() and value.name is not None and value.const_value is not None:
            defaults[value.name] = value.const_value
            model.graph.initializers.pop(value.name)
            value.const_value = None
    return defaults


def put_back(model: ir.Model, defaults: Mapping[str, ir.TensorProtocol]) -> None:
    """Gives inputs the defaults that were taken off, in place."""
    for value in model.graph.inputs:
        if value.name is not None and value.name in defaults:
            value.const_value = defaults[value.name]
            model.graph.register_initializer(value)
