"""Describes the functions of `custom_ops.functional`, and generates their source code.

MindSpore compiles a function from its source. Each function is therefore generated as text, as
`attrs` and `dataclasses` do for methods. The text is stored in `linecache`, so that
`inspect.getsource` finds the text.
"""

from __future__ import annotations
import __future__

import inspect
import json
import linecache
import textwrap
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from types import MappingProxyType
from typing import Any

import numpy as np

from custom_ops.core.cell import FusedCell
from custom_ops.core.operator_spec import OpSpec

EMPTY = inspect.Parameter.empty


@dataclass(frozen=True)
class FunctionSpec:
    """One function of `custom_ops.functional`.

    The function takes tensors, then attributes, then ``route``. The function builds the Cell with
    these attributes, and passes the tensors to this Cell.

    Attributes:
        name: name of the function.
        inputs: names of the tensors, in order.
        build: function that takes the attributes and ``route`` by keyword, and returns the Cell.
        attributes: parameters of the function besides tensors and ``route``, with annotation and
            default. In the signature, attributes without a default follow the first tensor, and
            attributes with a default are keyword-only.
        optional: names of the tensors that may be None.
        build_without: function that builds the Cell for calls in which the first of the `optional`
            tensors is None. This Cell does not take the `optional` tensors. If `build_without` is
            None, the Cell from `build` is used, and accepts None for these tensors.
        doc: docstring of the function.
    """

    name: str
    inputs: tuple[str, ...]
    build: Callable[..., Any]
    attributes: tuple[inspect.Parameter, ...]
    optional: tuple[str, ...] = ()
    build_without: Callable[..., Any] | None = None
    doc: str = ""

    def build_cell(self, absent: bool, values: Sequence[Any], route: str) -> Any:
        """Returns the Cell for these values of the attributes.

        Args:
            absent: whether the first of the `optional` tensors is None.
            values: one value for each of `attributes`, in order.
            route: as in `FusedCell`.
        """
        given = {one.name: value for one, value in zip(self.attributes, values, strict=True)}
        build = self.build_without if absent and self.build_without is not None else self.build
        return build(**given, route=route)

    def source(self) -> str:
        """Returns the source code, which calls ``_cell(name, absent, *attributes, route=…)``."""
        names = [json.dumps(self.name), "{}", *(one.name for one in self.attributes)]
        call = f"cell = _cell({', '.join([*names, 'route=route'])})\n"
        lines = ""
        if self.build_without is not None:
            given = ", ".join(name for name in self.inputs if name not in self.optional)
            lines += f"    if {self.optional[0]} is None:\n        {call.format(True)}"
            lines += f"        return cell({given})\n"
        lines += f"    {call.format(False)}    return cell({', '.join(self.inputs)})\n"
        return self.declaration() + lines

    def declaration(self) -> str:
        """Returns the first lines of the source code: the signature and the docstring."""
        required = [one for one in self.attributes if one.default is EMPTY]
        keywords = [one for one in self.attributes if one.default is not EMPTY]
        tensors = [
            f"{name}: Any = None" if {*self.inputs[place:]} <= {*self.optional} else f"{name}: Any"
            for place, name in enumerate(self.inputs)
        ]
        parameters = (
            tensors[0],
            *(f"{one.name}: {one.annotation}" for one in required),
            *tensors[1:],
            "*",
            *(f"{one.name}: {one.annotation} = {_literal(one.default)}" for one in keywords),
            'route: str = ""',
        )
        head = f"def {self.name}(\n" + "".join(f"    {one},\n" for one in parameters)
        lines = inspect.cleandoc(self.doc)
        prefix, end = "r" * ("\\" in lines), "\n" * ("\n" in lines)
        doc = textwrap.indent(f'{prefix}"""{lines}{end}"""', "    ")
        return f"{head}) -> Any:\n{doc}\n"

    def define(self, namespace: dict[str, Any]) -> Callable[..., Any]:
        """Compiles the function in the namespace of a module, and returns it."""
        source, file = self.source(), f"<generated {namespace['__name__']}.{self.name}>"
        linecache.cache[file] = len(source), None, source.splitlines(keepends=True), file
        flags = __future__.annotations.compiler_flag
        code = compile(source, file, "exec", flags=flags, dont_inherit=True)
        exec(code, namespace)  # noqa: S102 - the text is generated from records of this package
        return namespace[self.name]


def function_of_cell(
    name: str,
    cell: type[Any],
    spec: OpSpec,
    types: Mapping[str, str] = MappingProxyType({}),
) -> FunctionSpec:
    """Returns the `FunctionSpec` of a function that calls the Cell of a class without weights.

    The attributes are the arguments of the constructor of the class. The tensors are the arguments
    of ``construct``; a tensor with the default None is optional. The docstring of the function has
    three parts: the first line of the class docstring, the formula of the spec, and the sections of
    the class docstring on arguments, results and errors.

    Args:
        name: name of the function.
        cell: the Cell class that the function calls.
        spec: the `OpSpec` of the operator; its input names are used if ``construct`` takes
            ``*inputs``.
        types: dict from an attribute to the annotation that is used instead of the constructor's.
    """
    tensors = list(inspect.signature(cell.construct).parameters.values())[1:]
    is_named = tensors[0].kind is not tensors[0].VAR_POSITIONAL
    blocks = inspect.cleandoc(cell.__doc__ or "").split("\n\n")
    titles = ("Args:\n", "Inputs:\n", "Outputs:\n", "Raises:\n")
    doc = [blocks[0], f"{spec.doc}.", f"See `custom_ops.{cell.__name__}`."]
    return FunctionSpec(
        name,
        tuple(one.name for one in tensors) if is_named else spec.inputs,
        cell,
        tuple(
            one.replace(annotation=types.get(one.name, one.annotation))
            for one in parameters_of(cell.__init__)
        ),
        optional=tuple(one.name for one in tensors if one.default is None),
        doc="\n\n".join(doc + [one for one in blocks if one.startswith(titles)]),
    )


def function_of_spec(
    name: str,
    spec: OpSpec,
    doc: str,
    *,
    without: OpSpec | None = None,
    attributes: Sequence[str] | None = None,
    required: Sequence[str] = (),
    types: Mapping[str, str] = MappingProxyType({}),
) -> FunctionSpec:
    """Returns the `FunctionSpec` of a function that takes an operator's weights as arguments.

    Args:
        name: name of the function.
        spec: the `OpSpec` of the operator.
        doc: docstring of the function.
        without: spec of the operator without the optional tensors, for calls in which these tensors
            are None.
        attributes: attributes of the spec that are parameters of the function; by default all.
        required: attributes that each call has to pass. The default of such an attribute in the
            spec is not used.
        types: dict from an attribute to its annotation; by default, the type of the default value.
    """
    names = spec.attributes if attributes is None else attributes
    optional = () if without is None else {*spec.inputs} - {*without.inputs}
    return FunctionSpec(
        name,
        spec.inputs,
        cell_builder(spec),
        attribute_parameters(
            {one: spec.attributes[one] for one in names}, types, required=required
        ),
        optional=tuple(one for one in spec.inputs if one in optional),
        build_without=None if without is None else cell_builder(without),
        doc=doc,
    )


def attribute_parameters(
    defaults: Mapping[str, Any], types: Mapping[str, str], *, required: Sequence[str] = ()
) -> tuple[inspect.Parameter, ...]:
    """Returns one function parameter for each attribute.

    Args:
        defaults: dict from each attribute to its default value.
        types: dict from an attribute to its annotation; by default, the type of the default value.
        required: attributes whose parameters have no default.
    """
    return tuple(
        inspect.Parameter(
            name,
            inspect.Parameter.KEYWORD_ONLY,
            default=EMPTY if name in required else default,
            annotation=types.get(name, type(default).__name__),
        )
        for name, default in defaults.items()
    )


def cell_builder(spec: OpSpec) -> Callable[..., FusedCell]:
    """Returns a function that takes attributes and ``route`` and builds the operator's Cell."""

    def build(*, route: str, **attributes: Any) -> FusedCell:
        return FusedCell(spec, attributes, route)

    return build


def parameters_of(build: Callable[..., Any]) -> tuple[inspect.Parameter, ...]:
    """Returns the parameters of a function, without ``self`` and ``route``."""
    named = inspect.signature(build).parameters.values()
    return tuple(one for one in named if one.name not in ("self", "route"))


def to_hashable(value: Any) -> Any:
    """Returns nested lists and arrays as tuples, and other values unchanged."""
    if isinstance(value, (list, tuple, np.ndarray)):
        return tuple(map(to_hashable, value))
    return value


def _literal(value: Any) -> str:
    return json.dumps(value) if isinstance(value, str) else repr(value)
