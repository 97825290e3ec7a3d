"""Infers the role of each operator parameter: input, output, attribute or kernel name.

Decorators such as ``check_op_params`` and ``op_info_register`` declare the roles. Without such a
decorator, the roles follow from the signature, from the use of the parameters in the source code,
and from the number of inputs.
"""

from __future__ import annotations

import ast
import inspect
import re
import textwrap
import types
from collections.abc import Callable, Collection, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

ROLES = (
    "input",
    "inputs",
    "output",
    "outputs",
    "shape",
    "shapes",
    "dtype",
    "attribute",
    "name",
    "flag",
)
FLAGS = {"need_build": True, "need_print": False}
"""Dict from parameters of the oldest operators to the value to pass if there is no default."""
_ATTRIBUTES = re.compile(
    r"(axis|axes|axis_\w+|keep_?dims?|perm|dims?|num_\w+|\w*_num|alpha|epsilon|eps|momentum|lr|"
    r"scalar|data_format|\w*size\w*|\w*mode|pads?|paddings?|strides?|ksizes?|window|dilat\w+|"
    r"trans\w*|offsets?|begin|end|src_t\w*|dst_t\w*|is_\w+|use_\w+|exclusive|reverse|block_\w+|"
    r"depth|negative_slope|rate|\w*_scale|origin_shape)\Z"
)
_OUTPUTS = re.compile(
    r"(output\w*|out|out_\w+|\w+_out|\w+_output|y|y\d|y_\w+|z|res|result\w*|dst|dst_\w+)\Z"
)
_KINDS = {
    "required_input": ("input", True),
    "option_input": ("input", False),
    "dynamic_input": ("inputs", True),
    "required_output": ("output", True),
    "option_output": ("output", False),
    "dynamic_output": ("outputs", True),
}


@dataclass(frozen=True)
class OperatorParameter:
    """A parameter of an operator function.

    Attributes:
        name: name in the signature.
        role: one of `ROLES`. A parameter with role ``inputs``, ``outputs`` or ``shapes`` is a list.
        required: whether the operator needs a value.
        default: the default value, or `inspect.Parameter.empty`.
        kind: declared kind of an attribute, such as ``INT`` or ``LIST_FLOAT``. Empty if no kind is
            declared.
    """

    name: str
    role: str
    required: bool
    default: Any = inspect.Parameter.empty
    kind: str = ""

    @property
    def has_default(self) -> bool:
        """Whether the parameter has a default value."""
        return self.default is not inspect.Parameter.empty


def infer_parameter_roles(
    function: Callable[..., Any], *, inputs: int, outputs: int = 0, attributes: Collection[str] = ()
) -> tuple[OperatorParameter, ...]:
    """Returns the parameters of an operator function in order, each with its inferred role.

    Args:
        function: the operator function with its decorators.
        inputs: number of inputs.
        outputs: number of outputs for which the caller has a description.
        attributes: names of the parameters for which the caller has an attribute value. These
            parameters are neither inputs nor outputs.
    """
    plain = strip_decorators(function)
    found = [
        OperatorParameter(
            item.name, "attribute", item.default is inspect.Parameter.empty, item.default
        )
        for item in inspect.signature(plain).parameters.values()
        if item.kind not in (item.VAR_POSITIONAL, item.VAR_KEYWORD)
    ]
    found = [_classify_by_name(item) for item in found]
    kinds = _attribute(function, "parameter_kinds")
    if kinds:
        return tuple(_classify_by_kind(item, kinds.get(item.name)) for item in found)
    if any(_is_shape(item.name) for item in found[:1]) and any(
        "dtype" in item.name or item.name.endswith("_type") for item in found
    ):
        return tuple(_classify_legacy_parameter(item, attributes) for item in found)
    counts = _registered_roles(_attribute(function, "operator_info"))
    if counts and len(counts) <= len(found):
        return tuple(
            replace(item, role=role, required=need) if item.role == "attribute" else item
            for item, (role, need) in zip(
                found,
                [*counts, *[("attribute", item.required) for item in found[len(counts) :]]],
                strict=True,
            )
        )
    types = _attribute(function, "parameter_types") or {}
    plainly = [
        item.name
        for item in found
        if item.name in types and not _has_any_type(types[item.name], dict, list)
    ]
    uses = {**_uses(plain), **{name: "dict" for name in types if _has_any_type(types[name], dict)}}
    return _guess_roles(found, uses, inputs, outputs, [*attributes, *plainly])


def _has_any_type(types: Any, *wanted: type) -> bool:
    return any(one in wanted for one in (types if isinstance(types, tuple) else (types,)))


def strip_decorators(function: Callable[..., Any]) -> Callable[..., Any]:
    """Removes decorators, including decorators that do not set ``__wrapped__``."""
    plain = inspect.unwrap(function)
    while True:
        try:
            known = inspect.signature(plain).parameters.values()
        except (TypeError, ValueError):
            return plain
        if any(item.kind == item.POSITIONAL_OR_KEYWORD for item in known):
            return plain
        cells = (cell.cell_contents for cell in getattr(plain, "__closure__", None) or ())
        inner = next((item for item in cells if isinstance(item, types.FunctionType)), None)
        if inner is None:
            return plain
        plain = inspect.unwrap(inner)


def _attribute(function: Any, name: str) -> Any:
    """Returns an attribute of `function` or of a function that `function` wraps, otherwise None."""
    seen: set[int] = set()
    while callable(function) and id(function) not in seen:
        seen.add(id(function))
        if hasattr(function, name):
            return getattr(function, name)
        cells = (cell.cell_contents for cell in getattr(function, "__closure__", None) or ())
        inner = next((item for item in cells if isinstance(item, types.FunctionType)), None)
        function = getattr(function, "__wrapped__", inner)
    return None


def _classify_by_name(item: OperatorParameter) -> OperatorParameter:
    """Sets the role of a parameter if the name of the parameter determines the role."""
    if item.name == "kernel_name":
        return replace(item, role="name")
    return replace(item, role="flag") if item.name in FLAGS else item


def _classify_by_kind(item: OperatorParameter, kind: Any) -> OperatorParameter:
    if isinstance(kind, (tuple, list)):
        kind = next((one for one in kind if isinstance(one, str)), None)
    if not isinstance(kind, str):
        return item
    if kind in _KINDS:
        role, required = _KINDS[kind]
        return replace(item, role=role, required=required)
    if kind == "kernel_name":
        return replace(item, role="name")
    need, _, rest = kind.partition("_ATTR_")
    return replace(item, kind=rest, required=need == "REQUIRED" and not item.has_default)


def _is_shape(name: str) -> bool:
    return name.startswith("shape") or name.endswith(("shape", "shapes")) or "_shape_" in name


def _classify_legacy_parameter(
    item: OperatorParameter, attributes: Collection[str]
) -> OperatorParameter:
    """Classifies a parameter in the style of 2019: ``(shape, dtype, kernel_name, …)``."""
    if item.role != "attribute" or item.name in attributes:
        return item
    if _is_shape(item.name):
        return replace(item, role="shapes" if "shapes" in item.name else "shape")
    typed = "dtype" in item.name or item.name in ("src_type", "dst_type", "data_type", "input_type")
    return replace(item, role="dtype") if typed else item


def _registered_roles(info: Any) -> list[tuple[str, bool]]:
    """Returns (role, is required) of each input, then each output, in a ``TBERegOp`` call chain."""
    found: list[tuple[str, bool]] = []
    calls = getattr(info, "calls", None) or ()
    for role in ("input", "output"):
        for name, values in calls:
            if name == role:
                words = [str(value) for value in values]
                found.append((f"{role}s" if "dynamic" in words else role, "optional" not in words))
    return found


def _guess_roles(
    found: Sequence[OperatorParameter],
    uses: Mapping[str, str],
    inputs: int,
    outputs: int,
    attributes: Collection[str],
) -> tuple[OperatorParameter, ...]:
    """Infers roles from the names and defaults of the parameters, and from their use in the source.

    The inputs are the first `inputs` parameters that may be tensors and are not outputs.
    """
    tensors = [item for item in found if _may_be_tensor(item, uses, attributes)]
    results = _results(tensors, inputs, outputs)
    short = inputs - len(tensors) + len(results)
    if short > 0 and not any(uses.get(item.name) == "list" for item in tensors):
        spare = [
            item.name
            for item in found
            if item.default is None
            and item not in tensors
            and item.name not in attributes
            and not _ATTRIBUTES.match(item.name)
        ]
        tensors = [item for item in found if item in tensors or item.name in spare[:short]]
    decided: dict[str, OperatorParameter] = {}
    left = inputs
    for item in tensors:
        listed = uses.get(item.name) == "list"
        if item.name in results:
            decided[item.name] = replace(
                item, role="outputs" if listed and outputs > 1 else "output"
            )
        elif listed:
            decided[item.name] = replace(item, role="inputs")
            left = 0
        else:
            decided[item.name] = replace(item, role="input", required=item.required or left > 0)
            left -= 1
    return tuple(decided.get(item.name, item) for item in found)


def _may_be_tensor(
    item: OperatorParameter, uses: Mapping[str, str], attributes: Collection[str]
) -> bool:
    if item.role != "attribute" or item.name in attributes:
        return False
    if uses.get(item.name) == "dict" or item.default == {}:
        return True
    if _ATTRIBUTES.match(item.name):
        return False
    if item.has_default:
        return item.default is None and bool(_OUTPUTS.match(item.name))
    return True


def _results(tensors: Sequence[OperatorParameter], inputs: int, outputs: int) -> set[str]:
    """Returns the names of the output parameters among the tensor parameters `tensors`."""
    required = [item.name for item in tensors if item.required]
    if outputs and len(required) >= inputs + outputs:
        return set(required[inputs : inputs + outputs])
    after = required[inputs:]
    if after:
        return set(after) | {
            item.name for item in tensors if not item.required and _OUTPUTS.match(item.name)
        }
    named = [
        item.name
        for item in tensors
        if not item.required and (_OUTPUTS.match(item.name) or item.default == {})
    ]
    if not named and len(required) > 1 and _OUTPUTS.match(required[-1]):
        return {required[-1]}
    return set(named)


def _uses(function: Callable[..., Any]) -> dict[str, str]:
    """Finds the variables that the source code of a function uses as a dict or as a list.

    The result maps the name of each such variable to ``dict`` or ``list``.
    """
    try:
        tree = ast.parse(textwrap.dedent(inspect.getsource(function)))
    except (OSError, TypeError, SyntaxError, ValueError):
        return {}
    found: dict[str, str] = {}
    for node in ast.walk(tree):
        if (
            isinstance(node, ast.Attribute)
            and isinstance(node.value, ast.Name)
            and node.attr == "get"
        ):
            found[node.value.id] = "dict"
        elif isinstance(node, ast.Subscript) and isinstance(node.value, ast.Name):
            key = node.slice.value if isinstance(node.slice, ast.Constant) else None
            if isinstance(key, str):
                found[node.value.id] = "dict"
            elif isinstance(key, int) and not isinstance(key, bool):
                found.setdefault(node.value.id, "list")
        elif isinstance(node, (ast.For, ast.comprehension)):
            walked = [node.iter]
            if (
                isinstance(node.iter, ast.Call)
                and isinstance(node.iter.func, ast.Name)
                and node.iter.func.id in ("enumerate", "reversed", "zip")
            ):
                walked = node.iter.args
            for item in walked:
                if isinstance(item, ast.Name):
                    found.setdefault(item.id, "list")
    return found
