"""Represents an operator's definition as a NumPy function, independent of the DSL."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Formula:
    """The definition of an operator.

    Attributes:
        function: a NumPy function. The function takes the input arrays as positional arguments and
            the attributes as keyword arguments. Float arrays are float64; integer and boolean
            arrays keep their dtype. The function returns an array, or a tuple of arrays for several
            outputs.
        also: dict from the name of an attribute in operator files to the parameter name of the
            function. The dict contains only attributes whose names differ.

    >>> twice = Formula(lambda x, *, factor=2.0: factor * x, {"scale": "factor"})
    >>> twice.arguments, dict(twice.attributes), twice(3.0), twice(3.0, scale=5.0, unknown=1)
    (('x',), {'factor': 2.0}, 6.0, 15.0)
    """

    function: Callable[..., Any]
    also: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Names of the input arrays; a name with a star stands for any number of arrays."""
        return tuple(
            f"*{item.name}" if item.kind is item.VAR_POSITIONAL else item.name
            for item in self._parameters
            if item.kind is not item.KEYWORD_ONLY
        )

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """Dict from attribute name to default; without a default, `inspect.Parameter.empty`."""
        found = {
            item.name: item.default for item in self._parameters if item.kind is item.KEYWORD_ONLY
        }
        return MappingProxyType(found)

    @cached_property
    def _parameters(self) -> tuple[inspect.Parameter, ...]:
        return tuple(inspect.signature(self.function).parameters.values())

    def __call__(self, *arrays: Any, **attributes: Any) -> Any:
        """Computes the outputs.

        Attributes without a parameter of the function are ignored, for example tiling hints.
        """
        given = {self.also.get(name, name): value for name, value in attributes.items()}
        return self.function(
            *arrays, **{name: value for name, value in given.items() if name in self.attributes}
        )
