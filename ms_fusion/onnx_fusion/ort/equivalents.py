"""What it takes to say one pattern with ONNX Runtime's own operators."""

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
"""Domain of the operators that ONNX Runtime has besides ONNX's."""
FLOAT, FLOAT16 = 1, 10
"""ONNX's numbers of the two dtypes."""


@dataclass(frozen=True)
class Call:
    """One operator that is put in.

    Attributes:
        op, domain: what it is.
        inputs, outputs: values of the graph or of the calls before, empty for what is left out.
        attributes: plain numbers, texts, or lists of them.
    """

    op: str
    domain: str
    inputs: tuple[str, ...]
    outputs: tuple[str, ...]
    attributes: Mapping[str, Any]


@dataclass
class Site:
    """A place where a pattern fits, and what is written for it.

    Attributes:
        match: the operators that go.
        version: of ONNX's operators in the model.
        sources: values of the graph → of the model.
        calls: what comes instead.
        constants: what the calls read besides values of the graph.
        halved: values of which both halves along the last axis are the same.
    """

    match: Match
    version: int
    sources: Mapping[str, ir.Value]
    calls: list[Call] = field(default_factory=list)
    constants: dict[str, np.ndarray] = field(default_factory=dict)
    halved: set[str] = field(default_factory=set)

    @property
    def result(self) -> str:
        """What the last of the operators gives."""
        return self.match.nodes[-1].outputs[0]

    def value(self, name: str) -> Value:
        """A value of the graph."""
        return self.match.graph.values[name]

    def array(self, name: str) -> np.ndarray | None:
        """The numbers of a value; None where they are not known beforehand."""
        source = self.sources.get(name)
        held = source.const_value if source is not None else None
        return None if held is None else np.asarray(held.numpy())

    def whole(self, name: str) -> int | None:
        """The one whole number that is the value; None where it is none, or not known beforehand."""
        found = self.array(name)
        return (
            int(found.reshape(-1)[0])
            if found is not None and found.size == 1 and found.dtype.kind == "i"
            else None
        )

    def number(self, name: str) -> float | None:
        """The single number that a name of the pattern stands for; None where it is none, or not known beforehand."""
        data = self.match.value(name).data
        while isinstance(data, tuple) and len(data) == 1:
            data = data[0]
        return float(data) if isinstance(data, int | float) else None

    def new(self) -> str:
        """A name that nothing has."""
        number = len(self.calls) + len(self.constants)
        name = f"{self.result}/{number}"
        while name in self.match.graph.values:
            name += "'"
        return name

    def constant(self, array: np.ndarray) -> str:
        """A constant to be read."""
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
        """An operator on these inputs; hands back the name of its first output, `more` are those behind it."""
        result = to or self.new()
        self.calls.append(Call(op, domain, inputs, (result, *more), attributes))
        return result

    def cast(self, x: str, dtype: int, to: str = "") -> str:
        """A value in another dtype."""
        result = to or self.new()
        self.calls.append(Call("Cast", "", (x,), (result,), {"to": dtype}))
        return result

    def in_float32(self, op: str, x: str, *, domain: str = "", **attributes: Any) -> str:
        """An operator that exists in float32, for a float16 value with casts around it; gives the result of the match."""
        if self.value(x).dtype == "float32":
            return self.call(op, x, to=self.result, domain=domain, **attributes)
        wide = self.call(op, self.cast(x, FLOAT), domain=domain, **attributes)
        return self.cast(wide, FLOAT16, self.result)


Writer = Callable[[Site], str]
"""Writes the calls of a site; or says why it cannot, empty when it did."""


@dataclass(frozen=True)
class Equivalent:
    """A pattern and what ONNX Runtime has for it.

    Attributes:
        rule: the pattern.
        writers: what may stand for it, each with the operators that it writes; the first is taken unless another is quicker.
        dtypes: in which there is one.
        told: what a reader should know.
    """

    rule: Rule
    writers: tuple[tuple[str, Writer], ...]
    dtypes: tuple[str, ...] = ("float32",)
    told: str = ""
