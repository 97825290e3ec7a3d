"""What an operator computes, as a function on NumPy arrays that has nothing to do with the DSL."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from functools import cached_property
from types import MappingProxyType
from typing import Any


@dataclass(frozen=True)
class Formula:
    """A formula.

    Attributes:
        function: of arrays by position (float64, or integers and booleans as they are) and of attributes by keyword; gives an
            array, or a tuple for several outputs.
        also: other names under which operators know an attribute → the name here.

    >>> twice = Formula(lambda x, *, factor=2.0: factor * x, {"scale": "factor"})
    >>> twice.arguments, dict(twice.attributes), twice(3.0), twice(3.0, scale=5.0, unknown=1)
    (('x',), {'factor': 2.0}, 6.0, 15.0)
    """

    function: Callable[..., Any]
    also: Mapping[str, str] = field(default_factory=lambda: MappingProxyType({}))

    @cached_property
    def arguments(self) -> tuple[str, ...]:
        """Names of the arrays; one with a star stands for any number."""
        return tuple(
            f"*{item.name}" if item.kind is item.VAR_POSITIONAL else item.name
            for item in self._parameters
            if item.kind is not item.KEYWORD_ONLY
        )

    @cached_property
    def attributes(self) -> Mapping[str, Any]:
        """Attributes with their defaults; `inspect.Parameter.empty` for one without."""
        found = {
            item.name: item.default for item in self._parameters if item.kind is item.KEYWORD_ONLY
        }
        return MappingProxyType(found)

    @cached_property
    def _parameters(self) -> tuple[inspect.Parameter, ...]:
        return tuple(inspect.signature(self.function).parameters.values())

    def __call__(self, *arrays: Any, **attributes: Any) -> Any:
        """The outputs. Attributes that the formula does not have, such as an operator's hints for tiling, are left out."""
        given = {self.also.get(name, name): value for name, value in attributes.items()}
        return self.function(
            *arrays, **{name: value for name, value in given.items() if name in self.attributes}
        )
