"""Computes the reference result of a fused kernel in NumPy, from the operators in its body.

All floating-point values are float64 by default; `replay` accepts another dtype. Only a ``Cast``
rounds an intermediate result to the dtype of its operator. Integers and bools keep their dtypes.
Integers wrap around as in C.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

import numpy as np

from ms_fusion.graph import Graph, Node, Value
from ms_fusion.ops import operator_info
from ms_fusion.ops.call import Array, Call, is_float, numpy_dtype
from tbe_impl.errors import InputError


def replay(
    graph: Graph,
    inputs: Mapping[str, Array],
    *,
    dtype: Any = np.float64,
    constants: Mapping[str, Any] | None = None,
) -> dict[str, Array]:
    """Computes `graph` for `inputs`; returns a dict from the name of an output to its array.

    Args:
        graph: the body of a fused kernel, or any other graph whose operators all have a formula.
        inputs: one array for each name in `graph.inputs`.
        dtype: dtype of floating-point arithmetic.
        constants: dict from the name of a constant to its exact value. For other constants, the
            value in `graph` is used. If `graph` comes from MindSpore's dumps, this value is rounded
            to six digits.

    The output of an ``Assign`` is the new content of the parameter that the ``Assign`` overwrites.

    Raises:
        InputError: an input or constant is missing, an input has a wrong shape, or an operator has
            no formula or does not accept its inputs.
    """
    arithmetic = np.dtype(dtype)
    known = {
        name: _read_input(inputs, graph.values[name], arithmetic)
        for name in graph.inputs
        if graph.values[name].kind != "constant" or name in inputs
    }
    readers = {name: len(nodes) for name, nodes in graph.consumers.items()}
    kept = {*graph.inputs, *graph.outputs}
    with np.errstate(all="ignore"):
        for node in graph.nodes:
            for name in node.inputs:
                if name not in known:
                    known[name] = _constant(graph, name, constants or {}, arithmetic)
            given = tuple(known[name] for name in node.inputs)
            known |= _compute(node, graph, given, arithmetic)
            for name in node.inputs:
                readers[name] -= 1
                if not readers[name] and name not in kept:
                    known.pop(name, None)
    return {
        name: known[name] if name in known else _constant(graph, name, constants or {}, arithmetic)
        for name in graph.outputs
    }


def unknown_operators(graph: Graph) -> tuple[str, ...]:
    """Returns the operator types in `graph` that have no formula, in order, without duplicates."""
    return tuple(
        dict.fromkeys(node.op for node in graph.nodes if operator_info(node.op).formula is None)
    )


def _compute(
    node: Node, graph: Graph, arrays: tuple[Array, ...], dtype: np.dtype[Any]
) -> dict[str, Array]:
    """Computes an operator by its formula; returns a dict from output names to arrays."""
    formula = operator_info(node.op).formula
    if formula is None:
        raise InputError(
            f"operator {node.op} cannot be replayed",
            place=node.name,
            expected="an operator with a formula",
        )
    outputs = graph.outputs_of(node)
    try:
        found: Any = formula(Call(node, arrays, outputs[0], dtype))
        results = [np.asarray(one) for one in (found if isinstance(found, list) else [found])]
    except (ValueError, IndexError, TypeError, OverflowError) as error:
        raise InputError(
            f"operator {node.op} does not accept its inputs: {error}", place=node.name
        ) from error
    return {
        output.name: _fit_output(result, output, node, dtype)
        for result, output in zip(results, outputs, strict=False)
    }


def _fit_output(result: Array, output: Value, node: Node, dtype: np.dtype[Any]) -> Array:
    if not output.is_dynamic and result.shape != output.shape and not node.op.startswith("Assign"):
        if result.size != output.elements:
            raise InputError(
                f"operator {node.op} returns a wrong shape",
                place=node.name,
                expected=str(output.shape),
                got=str(result.shape),
            )
        result = result.reshape(_static_shape(output))
    return _cast_floats(result, output.dtype, dtype)


def _read_input(inputs: Mapping[str, Array], value: Value, dtype: np.dtype[Any]) -> Array:
    if value.name not in inputs:
        raise InputError(
            "an input is missing",
            place=value.name,
            expected=f"{value.dtype} of shape {value.shape}",
        )
    array = np.asarray(inputs[value.name])
    if not value.is_dynamic and array.shape != value.shape:
        if array.size != value.elements:
            raise InputError(
                "an input has a wrong shape",
                place=value.name,
                expected=str(value.shape),
                got=str(array.shape),
            )
        array = array.reshape(_static_shape(value))
    return _cast_floats(array, value.dtype, dtype)


def _constant(graph: Graph, name: str, exact: Mapping[str, Any], dtype: np.dtype[Any]) -> Array:
    """Rounds a constant to its own dtype; then casts a floating-point constant to `dtype`."""
    value = graph.values.get(name)
    data = exact.get(name, value.data if value else None)
    if value is None or data is None or isinstance(data, str):
        raise InputError(
            "a value is not known",
            place=name,
            expected="an input, a result or a constant",
            got=repr(data),
        )
    array = np.asarray(data)
    if value.shape and not value.is_dynamic and array.size == value.elements:
        array = array.reshape(_static_shape(value))
    return _cast_floats(
        array.astype(numpy_dtype(value.dtype)) if is_float(value.dtype) else array,
        value.dtype,
        dtype,
    )


def _cast_floats(array: Array, name: str, dtype: np.dtype[Any]) -> Array:
    """Casts an array to `dtype` if `name` is a floating-point dtype, else to the dtype `name`."""
    if is_float(name):
        return array.astype(dtype, copy=False)
    try:
        return array.astype(np.dtype(name), copy=False)
    except TypeError:
        return array


def _static_shape(value: Value) -> tuple[int, ...]:
    return tuple(int(size) for size in value.shape)
