"""Defines how a pattern is replaced by ONNX Runtime's own operators."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any

import numpy as np

from ms_fusion.graph import Value
from ms_fusion.rewrite import Match, Rule

if TYPE_CHECKING:
    import onnx_ir as ir

CONTRIB = "com.microsoft"
"""Operator domain of ONNX Runtime's contributed operators."""
FLOAT, FLOAT16 = 1, 10
"""ONNX's codes of float32 and float16."""


@dataclass(frozen=True)
class RuntimeCall:
    """An operator that is part of the replacement of a pattern.

    Attributes:
        op, domain: type and domain of the operator.
        inputs: names of values of the graph or of earlier calls; empty for an omitted input.
        outputs: names of the results.
        attributes: maps the name of an attribute to a scalar, a string, or a list of these.
    """

    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]


@dataclass
class Site:
    """A match of a pattern, and the operators that replace it.

    Attributes:
        match: the match, with the operators to replace.
        version: opset version of the model.
        sources: maps the name of a value in the model's `Graph` to the value of the model.
        calls: the operators of the replacement.
        constants: the new constants that the calls read, by name.
        halved: names of the values whose two halves along the last axis are equal.
    """

    match: Match
    version: int
    sources: Mapping[str, ir.Value]
    calls: list[RuntimeCall] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    halved: set[str] = field(default_factory=set)

    @property
    def result(self) -> str:
        """Name of the result of the last operator to replace."""
        return self.match.nodes[-1].outputs[0]

    def value(self, name: str) -> Value:
        """Returns the value with this name in the graph."""
        return self.match.graph.values[name]

    def array(self, name: str) -> np.ndarray | None:
        """Returns the elements of a constant, or None if the value is computed."""
        source = self.sources.get(name)
        held = source.const_value if source is not None else None
        return None if held is None else np.asarray(held.numpy())

    def integer(self, name: str) -> int | None:
        """Returns the integer in a constant of one element, or None for any other value."""
        found = self.array(name)
        return (
            int(found.reshape(-1)[0])
            if found is not None and found.size == 1 and found.dtype.kind == "i"
            else None
        )

    def new(self) -> str:
        """Returns a name that is not used yet."""
        number = len(self.calls) + len(self.constants)
        name = f"{self.result}/{number}"
        while name in self.match.graph.values:
            name += "'"
        return name

    def constant(self, array: np.ndarray) -> str:
        """Adds a constant to the replacement. Returns the constant's name."""
        name = self.new()
        self.constants[name] = array
        return name

    def call(
        self,
        op: str,
        *inputs: str,
        to: str = "",
        domain: str = "",
        more: tuple[str, ...] = (),
        **attributes: Any,
    ) -> str:
        """Adds an operator to the replacement. Returns the name of the operator's first output.

        `to` is the name of this output. If `to` is empty, the output gets a new name. `more`
        contains the names of the further outputs.
        """
        result = to or self.new()
        self.calls.append(RuntimeCall(op, domain, inputs, (result, *more), attributes))
        return result

    def cast(self, x: str, dtype: int, to: str = "") -> str:
        """Adds a Cast of `x` to the dtype with the ONNX code `dtype`. Returns the result's name."""
        result = to or self.new()
        self.calls.append(RuntimeCall("Cast", "", (x,), (result,), {"to": dtype}))
        return result

    def call_in_float32(self, op: str, x: str, *, domain: str = "", **attributes: Any) -> str:
        """Adds a float32 operator that computes the result of the match.

        If `x` is float16, Casts are added before and after the operator.
        """
        if self.value(x).dtype == "float32":
            return self.call(op, x, to=self.result, domain=domain, **attributes)
        wide = self.call(op, self.cast(x, FLOAT), domain=domain, **attributes)
        return self.cast(wide, FLOAT16, self.result)


Writer = Callable[[Site], str]
"""Function that adds the operators of a replacement to a `Site`.

It returns an empty string, or the reason why the match cannot be replaced.
"""


@dataclass(frozen=True)
class Equivalent:
    """A pattern and its replacements by ONNX Runtime's operators.

    Attributes:
        rule: the rule with the pattern.
        writers: one pair (names of the operators, function that adds them) for each variant of the
            replacement. The first variant is chosen if no other variant is faster.
        dtypes: the supported dtypes.
        told: remark for this rule in the table of the documentation.
    """

    rule: Rule
    writers: tuple[tuple[str, Writer], ...]
    dtypes: tuple[str, ...] = ("float32",)
    told: str = ""
