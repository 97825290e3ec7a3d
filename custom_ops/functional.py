"""Exposes the operators as functions of tensors.

Each function is generated on first use, from the operator's Cell and `OpSpec`, or from a
`FunctionSpec` in the operator's file. Type checkers and editors do not run code; they read the
signatures and docstrings in `functional.pyi`. ``python -m custom_ops.functional_stub`` writes
`functional.pyi`.
"""

from __future__ import annotations

from collections.abc import Sequence as Sequence
from functools import lru_cache
from importlib import import_module
from types import ModuleType
from typing import Any

import custom_ops
from custom_ops.core.cell import check_route
from custom_ops.core.function_spec import FunctionSpec, function_of_cell, to_hashable
from custom_ops.core.operator_spec import OpSpec

# `ms.amp` with level O1 copies each function that a network calls, but not the function's globals.
# It skips functions of modules that have no `__file__`.
del __file__

_HOMES = {
    "adam": "optimizer_functions",
    "adam_weight_decay": "optimizer_functions",
    "add_layer_norm": "operators.add_layer_norm",
    "add_relu": "operators.add_relu",
    "add_rms_norm": "operators.add_rms_norm",
    "batch_norm": "operators.batch_norm",
    "bias_dropout_add": "operators.bias_dropout_add",
    "box_decode": "operators.box_decode",
    "conv2d": "operators.conv2d",
    "conv_bn_leaky_relu": "operators.conv_bn",
    "conv_bn_relu": "operators.conv_bn",
    "conv_bn_silu": "operators.conv_bn",
    "dense": "operators.dense",
    "fused_conv_bn": "operators.conv_bn",
    "geglu": "operators.geglu",
    "gelu": "operators.gelu",
    "group_norm": "operators.group_norm",
    "hard_swish": "operators.hard_swish",
    "iou": "operators.iou",
    "layer_norm": "operators.layer_norm",
    "layer_norm_linear": "operators.layer_norm_linear",
    "linear_cross_entropy": "operators.linear_cross_entropy",
    "linear_residual": "operators.matmul_bias",
    "log_softmax": "operators.softmax",
    "matmul_bias_gelu": "operators.matmul_bias",
    "matmul_bias_relu": "operators.matmul_bias",
    "matmul_bias_silu": "operators.matmul_bias",
    "mish": "operators.mish",
    "momentum": "optimizer_functions",
    "mul_sigmoid": "operators.mul_sigmoid",
    "my_op": "operators.my_op",
    "nms": "operators.nms",
    "rms_norm": "operators.rms_norm",
    "rotary_embedding": "operators.rotary_embedding",
    "scale_mask_softmax": "operators.scale_mask_softmax",
    "scaled_dot_product_attention": "operators.attention",
    "softmax": "operators.softmax",
    "softmax_cross_entropy": "operators.softmax_cross_entropy_cell",
    "swiglu": "operators.swiglu",
    "swish": "operators.swish",
    "token_embedding": "operators.token_embedding",
}
"""Dict from the name of a function to the module of `custom_ops` that defines its operator."""

__all__ = sorted(_HOMES)


def __getattr__(name: str) -> Any:
    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    if _HOMES[name] == "optimizer_functions":
        return globals().setdefault(name, getattr(_home(name), name))
    return _function_spec(name).define(globals())


def __dir__() -> list[str]:
    return list(__all__)


def _home(name: str) -> ModuleType:
    return import_module(f"custom_ops.{_HOMES[name]}")


def _function_spec(name: str) -> FunctionSpec:
    """Returns the `FunctionSpec` in the operator's file, or creates one from the operator's Cell.

    Function, Cell and `OpSpec` have the same name, apart from case and underscores.
    """
    members = vars(_home(name))
    for one in members.get("FUNCTION_SPECS", ()):
        if one.name == name:
            return one  # type: ignore[no-any-return]
    cell = next(one for one in custom_ops.__all__ if one.lower() == name.replace("_", ""))
    specs = (one for one in members.values() if isinstance(one, OpSpec))
    return function_of_cell(name, members[cell], next(one for one in specs if one.name == cell))


@lru_cache(maxsize=0)
def _cell(name: str, absent: bool, *attributes: Any, route: str) -> Any:
    """Returns the Cell that computes the function `name`, for these attributes and this route.

    At compile time, MindSpore parses the source of a plain function, but calls an ``lru_cache``
    wrapper with constant arguments. `_cell` is therefore an ``lru_cache`` wrapper. The wrapper
    caches nothing, because the default route may change. `_build_cell` caches the Cells.
    """
    return _build_cell(name, absent, check_route(route, name), *to_hashable(attributes))


@lru_cache(maxsize=None, typed=True)  # typed: 1.0 equals 1, but is not an axis
def _build_cell(name: str, absent: bool, route: str, *attributes: Any) -> Any:
    return _function_spec(name).build_cell(absent, attributes, route)
