"""From descriptions of arrays and texts of attributes to what an operator function is called with."""

from __future__ import annotations

import ast
import difflib
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from math import prod
from types import MappingProxyType
from typing import TYPE_CHECKING, Any

from tbe_impl.errors import InputError
from tbe_impl.loading.parameter_roles import FLAGS, Parameter, plain_function, roles_of

if TYPE_CHECKING:
    import numpy as np

UNKNOWN_SIZE = 16
"""What an unknown size is in the arrays when nobody says it."""
TRUE, FALSE = ("true", "yes", "on"), ("false", "no", "off")


@dataclass(frozen=True)
class Description:
    """An array as an operator is told of it.

    Attributes:
        shape, dtype, format: as the operator is told; -1 for a size that it does not know, and (-2,) for any number of them.
        array: its elements, where they are given.
        name: of the parameter that it goes to; empty as long as that is not decided.
        sizes: of the array, where the operator does not know all of them; by default each is `UNKNOWN_SIZE`.
    """

    shape: tuple[int, ...]
    dtype: str = "float32"
    format: str = "ND"
    array: np.ndarray | None = field(default=None, repr=False, compare=False)
    name: str = ""
    sizes: tuple[int, ...] = ()

    @property
    def actual(self) -> tuple[int, ...]:
        """The shape of the array itself."""
        return self.sizes or tuple(UNKNOWN_SIZE if size < 0 else size for size in self.shape)

    @property
    def is_known(self) -> bool:
        """Whether the operator knows every size."""
        return all(size >= 0 for size in self.shape)

    def as_argument(self) -> dict[str, Any]:
        """The dict that operators take."""
        return {
            "shape": self.shape,
            "dtype": self.dtype,
            "format": self.format,
            "ori_shape": self.shape,
            "ori_format": self.format,
            "range": tuple((1, None) if size < 0 else (size, size) for size in self.shape),
        }


@dataclass(frozen=True)
class Call:
    """What an operator function is called with.

    Attributes:
        positional, keywords: its arguments.
        inputs, outputs: the descriptions among them, with the names of their parameters.
        attributes: every attribute with its value, defaults included.
    """

    positional: tuple[Any, ...]
    keywords: Mapping[str, Any]
    inputs: tuple[Description, ...]
    outputs: tuple[Description, ...]
    attributes: Mapping[str, Any]


def call_of(
    function: Callable[..., Any],
    inputs: Sequence[Description],
    outputs: Sequence[Description] = (),
    attributes: Mapping[str, str] | None = None,
    *,
    place: str,
) -> Call:
    """The call of an operator function.

    Args:
        function: decorators included.
        inputs: in order of the parameters.
        outputs: in order; those left out are described by the inputs.
        attributes: texts by name.
        place: file and name of the operator, for errors.

    Raises:
        InputError: there is no such attribute, its text is of another type, a mandatory one is missing, or there are too few
            or too many arrays.
    """
    texts = attributes or {}
    parameters = roles_of(function, inputs=len(inputs), outputs=len(outputs), attributes=texts)
    _check_names(parameters, texts, place)
    maker = _Maker(parameters, inputs, outputs, texts, place, plain_function(function).__name__)
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
    positional, keywords = _arranged(parameters, values)
    known = {
        item.name: values.get(item.name, item.default)
        for item in parameters
        if item.role == "attribute"
    }
    return Call(
        tuple(positional),
        MappingProxyType(keywords),
        tuple(maker.used_inputs),
        tuple(maker.used_outputs),
        MappingProxyType(known),
    )


def _check_names(parameters: Sequence[Parameter], texts: Mapping[str, str], place: str) -> None:
    names = [
        item.name for item in parameters if item.role in ("attribute", "dtype", "name", "flag")
    ]
    for name in texts:
        if name not in names:
            near = difflib.get_close_matches(name, names, 1)
            raise InputError(
                f"the operator has no attribute {name}",
                place=place,
                expected=", ".join(item for item in names if item != "kernel_name") or "none",
                remedy=f"Did you mean {near[0]}?" if near else None,
            )


def _arranged(
    parameters: Sequence[Parameter], values: Mapping[str, Any]
) -> tuple[list[Any], dict[str, Any]]:
    """By position up to the last array, by name from there on: decorators count positions, attributes may be left out."""
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


class _Maker:
    """Values for parameters, one after the other."""

    def __init__(
        self,
        parameters: Sequence[Parameter],
        inputs: Sequence[Description],
        outputs: Sequence[Description],
        texts: Mapping[str, str],
        place: str,
        name: str,
    ):
        self.name = name
        self.parameters, self.inputs, self.outputs = parameters, list(inputs), list(outputs)
        self.texts, self.place = texts, place
        self.taken = self.typed = self.made = 0
        self.used_inputs: list[Description] = []
        self.used_outputs: list[Description] = []

    def values(self, item: Parameter) -> Iterator[Any]:
        """The value of a parameter; nothing when it is left at its default."""
        if item.name in self.texts:
            yield typed(self.texts[item.name], item, self.place)
        elif item.role in ("input", "shape"):
            yield from self._input(item)
        elif item.role in ("inputs", "shapes"):
            yield [self._value(one, item.role) for one in self._several(item)]
        elif item.role in ("output", "outputs"):
            yield from self._output(item)
        elif item.role == "dtype":
            yield self._dtype(item)
        elif item.role == "flag" and not item.has_default:
            yield FLAGS[item.name]
        elif item.role == "name" and not item.has_default:
            yield self.name

    def check_rest(self) -> None:
        """Raises when arrays are left over."""
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

    def _next(self, name: str) -> Description:
        given = self.inputs[self.taken]
        self.taken += 1
        named = replace(given, name=name)
        self.used_inputs.append(named)
        return named

    def _input(self, item: Parameter) -> Iterator[Any]:
        if item.role == "shape" and self.taken and _is_result(item.name):
            yield self._described(item.name).shape
            return
        if not item.required and self._still_required(item) >= len(self.inputs) - self.taken:
            return
        if self.taken < len(self.inputs):
            # what takes a shape only has no name for the array itself; the kernel has
            yield self._value(self._next(item.name if item.role == "input" else ""), item.role)
        elif item.required:
            names = [one.name for one in self.parameters if one.role == item.role and one.required]
            raise InputError(
                f"there is no input for {item.name}",
                place=self.place,
                expected=f"{len(names)} ({', '.join(names)})",
                got=str(len(self.inputs)),
                remedy="Give one --input for each, such as --input 16x32:float16",
            )

    def _still_required(self, item: Parameter) -> int:
        place = self.parameters.index(item)
        return sum(one.role == "input" and one.required for one in self.parameters[place + 1 :])

    def _several(self, item: Parameter) -> list[Description]:
        count = len(self.inputs) - self.taken - self._still_required(item)
        if count < 1:
            raise InputError(
                f"there is no input for {item.name}",
                place=self.place,
                expected="one or more",
                got="0",
            )
        return [
            self._next(f"{item.name}{number}" if item.role == "inputs" else "")
            for number in range(count)
        ]

    def _value(self, one: Description, role: str) -> Any:
        return one.shape if role in ("shape", "shapes") else one.as_argument()

    def _output(self, item: Parameter) -> Iterator[Any]:
        given = self.made < len(self.outputs)
        if not (given or item.required or _is_result(item.name) or item.default == {}):
            return
        if item.role == "output":
            yield self._described(item.name).as_argument()
            return
        count = max(len(self.outputs) - self.made, 1)
        yield [self._described(f"{item.name}{number}").as_argument() for number in range(count)]

    def _described(self, name: str) -> Description:
        """The next output: as it was given, or as the inputs suggest."""
        if self.made < len(self.outputs):
            given = self.outputs[self.made]
            found = replace(given, array=None, name=name)
        else:
            found = _suggested(name, self.used_inputs or self.inputs)
        self.made += 1
        self.used_outputs.append(found)
        return found

    def _dtype(self, item: Parameter) -> str:
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


def _suggested(name: str, inputs: Sequence[Description]) -> Description:
    """The output that goes with the inputs: one that bears an input's name is like it, others are as wide as all together."""
    if not inputs:
        return Description((1,), "float32", name=name)
    stem = (
        name.removesuffix("_out")
        .removesuffix("_output")
        .removeprefix("output_")
        .removeprefix("out_")
    )
    twin = next((one for one in inputs if stem and one.name == stem), None)
    if twin is not None:
        return Description(twin.shape, twin.dtype, twin.format, None, name)
    shape = _broadcast([one.shape for one in inputs])
    return Description(shape, inputs[0].dtype, inputs[0].format, None, name)


def _broadcast(shapes: Sequence[tuple[int, ...]]) -> tuple[int, ...]:
    """The shape that all broadcast to, or the largest; a size that one of them does not know is not known.

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


def typed(text: str, item: Parameter, place: str) -> Any:
    """The text of an attribute as the operator wants it: by its kind, else by its default, else as it is written.

    >>> from tbe_impl.loading.parameter_roles import Parameter
    >>> typed("1", Parameter("alpha", "attribute", False, 0.5), ""), typed("0,-1", Parameter("axis", "attribute", True), "")
    (1.0, [0, -1])
    """
    kind = item.kind or (_kind_of(item.default) if item.has_default else "")
    if item.role in ("dtype", "name") or kind in ("STR", "TYPE"):
        return text
    value = _literal(text)
    if kind.startswith("LIST"):
        value = list(value) if isinstance(value, (list, tuple)) else [value]
        found = [_as(one, kind.replace("LIST_", ""), item, text, place) for one in value]
        return found if not isinstance(item.default, tuple) else tuple(found)
    if kind:
        return _as(value, kind, item, text, place)
    return list(value) if isinstance(value, tuple) else value


def _kind_of(default: Any) -> str:
    for kind, types in (("BOOL", bool), ("INT", int), ("FLOAT", float), ("STR", str)):
        if isinstance(default, types):
            return kind
    if isinstance(default, (list, tuple)):
        inner = {_kind_of(one) for one in default}
        return f"LIST_{inner.pop()}" if len(inner) == 1 else "LIST_"
    return ""


def _as(value: Any, kind: str, item: Parameter, text: str, place: str) -> Any:
    if isinstance(value, (list, tuple)) and (not item.kind or "LIST_LIST" in item.kind):
        return value  # an axis may be a list although its default is one number
    if kind == "FLOAT" and isinstance(value, (int, float)) and not isinstance(value, bool):
        return float(value)
    if kind == "BOOL" and value in (0, 1):
        return bool(value)
    if kind == "INT" and isinstance(value, int):
        return int(value)
    if kind == "INT" and isinstance(value, float) and not item.kind:
        return value  # a default such as 0 says little: the operator may compute with fractions
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


def _literal(text: str) -> Any:
    """What a text is when nothing else says it: a truth value, a number, a list of them, or the text itself."""
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
        return [_literal(part) for part in plain.strip("[]()").split(",") if part.strip()]
    return text
