"""Converts array descriptions and attribute strings to the arguments of an operator function."""

from __future__ import annotations

import ast
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tbe_impl.errors import InputError, suggest_name
from tbe_impl.loading.parameter_roles import (
    FLAGS,
    OperatorParameter,
    infer_parameter_roles,
    strip_decorators,
)

if TYPE_CHECKING:
    import numpy as np

UNKNOWN_SIZE = 16
"""Size of an array on an axis for which no size is given."""
TRUE, FALSE = ("true", "yes", "on"), ("false", "no", "off")


@dataclass(frozen=True)
class ArrayDescription:
    """The description of an array.

    Attributes:
        shape, dtype, format: values that are passed to the operator. In `shape`, −1 is an unknown
            size. The shape (−2,) means that the rank is unknown.
        array: the elements, or None if the elements are not given.
        name: name of the operator's parameter. Empty until the array is assigned to a parameter.
        sizes: sizes of the array, given if `shape` has unknown sizes. If `sizes` is empty,
            `array_shape` has `UNKNOWN_SIZE` for each unknown size.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    format: str = "ND"
    array: np.ndarray | None = field(default=None, repr=False, compare=False)
    name: str = ""
    sizes: tuple[int, ...] = ()

    @property
    def array_shape(self) -> tuple[int, ...]:
        """The shape of the array, in which unknown sizes are replaced by known sizes."""
        return self.sizes or tuple(UNKNOWN_SIZE if size < 0 else size for size in self.shape)

    @property
    def is_known(self) -> bool:
        """Whether every size in `shape` is known."""
        return all(size >= 0 for size in self.shape)

    def as_argument(self) -> dict[str, Any]:
        """Returns the tensor description, a dict, that is passed to the operator."""
        return {
            "shape": self.shape,
            "dtype": self.dtype,
            "format": self.format,
            "ori_shape": self.shape,
            "ori_format": self.format,
            "range": tuple((1, None) if size < 0 else (size, size) for size in self.shape),
        }


@dataclass(frozen=True)
class OperatorCall:
    """Arguments of an operator function.

    Attributes:
        positional, keywords: positional arguments, and keyword arguments by name.
        inputs, outputs: the array descriptions among the arguments, named after their parameters.
        attributes: dict from the name of each attribute to its value, including default values.
    """

    positional: tuple[Any, ...]
    keywords: Mapping[str, Any]
    inputs: tuple[ArrayDescription, ...]
    outputs: tuple[ArrayDescription, ...]
    attributes: Mapping[str, Any]


def bind_arguments(
    function: Callable[..., Any],
    inputs: Sequence[ArrayDescription],
    outputs: Sequence[ArrayDescription] = (),
    attributes: Mapping[str, str] | None = None,
    *,
    place: str,
) -> OperatorCall:
    """Assigns descriptions and attributes to the parameters of an operator function.

    Args:
        function: the operator function with its decorators.
        inputs: descriptions of the inputs in parameter order.
        outputs: descriptions of the outputs in parameter order. Missing descriptions are derived
            from the inputs.
        attributes: dict from the name of an attribute to its value as a string.
        place: location of the operator for error messages.

    Raises:
        InputError: an attribute is unknown, missing or of the wrong type, or the number of arrays
            is wrong.
    """
    texts = attributes or {}
    parameters = infer_parameter_roles(
        function, inputs=len(inputs), outputs=len(outputs), attributes=texts
    )
    _check_names(parameters, texts, place)
    maker = _ArgumentBinder(
        parameters, inputs, outputs, texts, place, strip_decorators(function).__name__
    )
    values = {item.name: value for item in parameters for value in maker.values(item)}
    maker.check_rest()
    missing = [
        item.name
        for item in parameters
        if item.name not in values and item.required and item.role == "attribute"
    ]
    if missing:
        raise InputError(
            f"the operator needs the attribute{'s' * (len(missing) > 1)} {' and '.join(missing)}",
            place=place,
            remedy=f"Give it: --attr {missing[0]}=VALUE",
        )
    positional, keywords = _split_arguments(parameters, values)
    known = {
        item.name: values.get(item.name, item.default)
        for item in parameters
        if item.role == "attribute"
    }
    return OperatorCall(
        tuple(positional),
        MappingProxyType(keywords),
        tuple(maker.used_inputs),
        tuple(maker.used_outputs),
        MappingProxyType(known),
    )


def _check_names(
    parameters: Sequence[OperatorParameter], texts: Mapping[str, str], place: str
) -> None:
    names = [
        item.name for item in parameters if item.role in ("attribute", "dtype", "name", "flag")
    ]
    for name in texts:
        if name not in names:
            raise InputError(
                f"the operator has no attribute {name}",
                place=place,
                expected=", ".join(item for item in names if item != "kernel_name") or "none",
                remedy=suggest_name(name, names),
            )


def _split_arguments(
    parameters: Sequence[OperatorParameter], values: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """Returns positional arguments up to the last array, and keyword arguments for the rest.

    The arrays are positional, because decorators check arrays by position. The attributes after the
    arrays are keywords, because some attributes may be omitted.
    """
    arrays = [
        index
        for index, item in enumerate(parameters)
        if item.name in values and item.role not in ("attribute", "name", "flag")
    ]
    last = max(arrays, default=-1)
    positional = []
    for item in parameters[: last + 1]:
        positional.append(values.get(item.name, item.default if item.has_default else None))
    rest = {item.name: values[item.name] for item in parameters[last + 1 :] if item.name in values}
    return positional, rest


class _ArgumentBinder:
    """Assigns values to parameters in order."""

    def __init__(
        self,
        parameters: Sequence[OperatorParameter],
        inputs: Sequence[ArrayDescription],
        outputs: Sequence[ArrayDescription],
        texts: Mapping[str, str],
        place: str,
        name: str,
    ):
        self.name = name
        self.parameters, self.inputs, self.outputs = parameters, list(inputs), list(outputs)
        self.texts, self.place = texts, place
        self.taken = self.typed = self.made = 0
        self.used_inputs: list[ArrayDescription] = []
        self.used_outputs: list[ArrayDescription] = []

    def values(self, item: OperatorParameter) -> Iterator[Any]:
        """Yields the value of a parameter, or nothing if the default of the parameter is used."""
        if item.name in self.texts:
            yield parse_attribute(self.texts[item.name], item, self.place)
        elif item.role in ("input", "shape"):
            yield from self._bind_input(item)
        elif item.role in ("inputs", "shapes"):
            yield [self._value(one, item.role) for one in self._take_inputs(item)]
        elif item.role in ("output", "outputs"):
            yield from self._bind_output(item)
        elif item.role == "dtype":
            yield self._take_dtype(item)
        elif item.role == "flag" and not item.has_default:
            yield FLAGS[item.name]
        elif item.role == "name" and not item.has_default:
            yield self.name

    def check_rest(self) -> None:
        """Raises `InputError` if there are more inputs or outputs than parameters for them."""
        takers = [
            item.name
            for item in self.parameters
            if item.role in ("input", "inputs", "shape", "shapes")
        ]
        if self.taken < len(self.inputs) and not any(
            item.role == "shape" for item in self.parameters
        ):
            raise InputError(
                "too many inputs",
                place=self.place,
                expected=f"{len(takers)} ({', '.join(takers)})",
                got=str(len(self.inputs)),
            )
        results = [item.name for item in self.parameters if item.role in ("output", "outputs")]
        if self.made < len(self.outputs) and results:
            raise InputError(
                "too many outputs",
                place=self.place,
                expected=f"{len(results)} ({', '.join(results)})",
                got=str(len(self.outputs)),
            )

    def _take_input(self, name: str) -> ArrayDescription:
        given = self.inputs[self.taken]
        self.taken += 1
        named = replace(given, name=name)
        self.used_inputs.append(named)
        return named

    def _bind_input(self, item: OperatorParameter) -> Iterator[Any]:
        if item.role == "shape" and self.taken and _is_result(item.name):
            yield self._take_output(item.name).shape
            return
        if not item.required and self._count_required_after(item) >= len(self.inputs) - self.taken:
            return
        if self.taken < len(self.inputs):
            # A parameter that takes only a shape does not name the array; the kernel names it.
            yield self._value(
                self._take_input(item.name if item.role == "input" else ""), item.role
            )
        elif item.required:
            names = [one.name for one in self.parameters if one.role == item.role and one.required]
            raise InputError(
                f"there is no input for {item.name}",
                place=self.place,
                expected=f"{len(names)} ({', '.join(names)})",
                got=str(len(self.inputs)),
                remedy="Give one --input for each, such as --input 16x32:float16",
            )

    def _count_required_after(self, item: OperatorParameter) -> int:
        place = self.parameters.index(item)
        return sum(one.role == "input" and one.required for one in self.parameters[place + 1 :])

    def _take_inputs(self, item: OperatorParameter) -> list[ArrayDescription]:
        count = len(self.inputs) - self.taken - self._count_required_after(item)
        if count < 1:
            raise InputError(
                f"there is no input for {item.name}",
                place=self.place,
                expected="one or more",
                got="0",
            )
        return [
            self._take_input(f"{item.name}{number}" if item.role == "inputs" else "")
            for number in range(count)
        ]

    def _value(self, one: ArrayDescription, role: str) -> Any:
        return one.shape if role in ("shape", "shapes") else one.as_argument()

    def _bind_output(self, item: OperatorParameter) -> Iterator[Any]:
        given = self.made < len(self.outputs)
        if not (given or item.required or _is_result(item.name) or item.default == {}):
            return
        if item.role == "output":
            yield self._take_output(item.name).as_argument()
            return
        count = max(len(self.outputs) - self.made, 1)
        yield [self._take_output(f"{item.name}{number}").as_argument() for number in range(count)]

    def _take_output(self, name: str) -> ArrayDescription:
        """Returns the description of the next output.

        If the user gave too few descriptions, the function derives the description from the inputs.
        """
        if self.made < len(self.outputs):
            given = self.outputs[self.made]
            found = replace(given, array=None, name=name)
        else:
            found = _suggest_output(name, self.used_inputs or self.inputs)
        self.made += 1
        self.used_outputs.append(found)
        return found

    def _take_dtype(self, item: OperatorParameter) -> str:
        if _is_result(item.name) and self.outputs:
            return self.outputs[0].dtype
        given = (
            self.inputs[min(self.typed, len(self.inputs) - 1)].dtype if self.inputs else "float32"
        )
        self.typed += not _is_result(item.name)
        return given


def _is_result(name: str) -> bool:
    return (
        name in ("y", "z", "res", "out", "dst")
        or name.startswith(("out", "dst", "y_", "res"))
        or name.endswith(("_out", "_output"))
    )


def _suggest_output(name: str, inputs: Sequence[ArrayDescription]) -> ArrayDescription:
    """Derives the description of an output.

    If an input has the name of the output (x for the output x_out), the description of this input
    is used. Otherwise the shape is the broadcast shape of all inputs, and the dtype and format are
    those of the first input.
    """
    if not inputs:
        return ArrayDescription((1,), "float32", name=name)
    stem = (
        name.removesuffix("_out")
        .removesuffix("_output")
        .removeprefix("output_")
        .removeprefix("out_")
    )
    twin = next((one for one in inputs if stem and one.name == stem), None)
    if twin is not None:
        return ArrayDescription(twin.shape, twin.dtype, twin.format, None, name)
    shape = _broadcast([one.shape for one in inputs])
    return ArrayDescription(shape, inputs[0].dtype, inputs[0].format, None, name)


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """Returns the broadcast shape, or the largest shape if the shapes do not broadcast.

    An unknown size stays unknown. If the rank of a shape is unknown, the rank of the result is
    unknown.

    >>> _broadcast([(-1, 4), (4,)]), _broadcast([(2, 3), (5,)]), _broadcast([(-2,), (3, 4)])
    ((-1, 4), (2, 3), (-2,))
    """
    import numpy as np

    if (-2,) in shapes:
        return (-2,)
    try:
        whole: tuple[int, ...] = np.broadcast_shapes(
            *(tuple(max(size, 1) for size in shape) for shape in shapes)
        )
    except ValueError:
        return max(shapes, key=lambda shape: abs(prod(shape)))
    unknown = {
        len(whole) - len(shape) + place
        for shape in shapes
        for place, size in enumerate(shape)
        if size < 0
    }
    return tuple(-1 if place in unknown else size for place, size in enumerate(whole))


def parse_attribute(text: str, item: OperatorParameter, place: str) -> Any:
    """Converts the string `text` to the value of the attribute `item`.

    The declared kind of the attribute determines the type of the value. Without a kind, the default
    determines the type. Without a kind and a default, the string is parsed as a literal.

    >>> alpha = OperatorParameter("alpha", "attribute", False, 0.5)
    >>> parse_attribute("1", alpha, "")
    1.0
    >>> parse_attribute("0,-1", OperatorParameter("axis", "attribute", True), "")
    [0, -1]
    """
    kind = item.kind or (_kind_of(item.default) if item.has_default else "")
    if item.role in ("dtype", "name") or kind in ("STR", "TYPE"):
        return text
    value = _parse_literal(text)
    if kind.startswith("LIST"):
        value = list(value) if isinstance(value, (list, tuple)) else [value]
        found = [
            _convert_attribute(one, kind.replace("LIST_", ""), item, text, place) for one in value
        ]
        return found if not isinstance(item.default, tuple) else tuple(found)
    if kind:
        return _convert_attribute(value, kind, item, text, place)
    return list(value) if isinstance(value, tuple) else value


def _kind_of(default: Any) -> str:
    for kind, types in (("BOOL", bool), ("INT", int), ("FLOAT", float), ("STR", str)):
        if isinstance(default, types):
            return kind
    if isinstance(default, (list, tuple)):
        inner = {_kind_of(one) for one in default}
        return f"LIST_{inner.pop()}" if len(inner) == 1 else "LIST_"
    return ""


def _convert_attribute(
    value: Any, kind: str, item: OperatorParameter, text: str, place: str
) -> Any:
    if isinstance(value, (list, tuple)) and (not item.kind or "LIST_LIST" in item.kind):
        return value  # an axis may be a list although its default is an integer
    if kind == "FLOAT" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if kind == "BOOL" and value in (0, 1):
        return bool(value)
    if kind == "INT" and isinstance(value, int):
        return int(value)
    if kind == "INT" and isinstance(value, float) and not item.kind:
        return value  # an integer default such as 0 does not exclude fractions
    if kind == "STR":
        return str(value)
    if (value is None and item.default is None) or kind in ("", "LIST_INT"):
        return value
    wanted = {"FLOAT": "a number", "INT": "a whole number", "BOOL": "true or false"}
    raise InputError(
        f"the attribute {item.name} is of another type",
        place=place,
        expected=wanted.get(kind, kind.lower()),
        got=repr(text),
    )


def _parse_literal(text: str) -> Any:
    """Converts a string to a boolean, None, a number or a list, or returns the string unchanged."""
    plain = text.strip()
    if plain.lower() in TRUE or plain.lower() in FALSE:
        return plain.lower() in TRUE
    if plain.lower() in ("none", "null"):
        return None
    try:
        return (
            float(plain)
            if plain.lower().lstrip("+-") in ("inf", "nan")
            else ast.literal_eval(plain)
        )
    except (ValueError, SyntaxError, MemoryError, RecursionError):
        pass
    if "," in plain:
        return [_parse_literal(part) for part in plain.strip("[]()").split(",") if part.strip()]
    return text
