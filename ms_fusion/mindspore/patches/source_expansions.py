"""Expands operators by the formulas in `ms_fusion.ops` while MindSpore parses a net.

MindSpore's description of a fused kernel lacks the scalar argument of operators such as SoftShrink.
So these operators cannot be clustered. This module replaces the functions and Cells of MindSpore
that use such an operator. The replacement computes the formula in the operator's record in
`ms_fusion.ops` with basic operators, in float32. For tensors that are neither float16 nor float32,
the replacement calls MindSpore's original function. Where x is NaN, MindSpore's own SoftShrink and
HShrink have the gradient dy. The replacements have the gradient 0, because their result for NaN is
0. Other modules must import this module inside of functions, because this module imports MindSpore.
"""

from __future__ import annotations

import contextlib
import inspect
from collections.abc import Callable, Iterator
from operator import attrgetter
from types import FunctionType
from typing import Any

import mindspore as ms
from mindspore import ops

from ms_fusion.mindspore.patches.parser_table import replace_in_parser
from ms_fusion.ops import OPERATORS
from ms_fusion.ops.op_info import SourceExpansion

np = ops
"""The module whose functions MindSpore's parser uses in place of NumPy's (`np`) in the formulas."""
FLOATS = (ms.float16, ms.float32)


def bind_formula(expansion: SourceExpansion) -> Callable[[Any, float], Any]:
    """Returns a function that computes the formula of an operator for MindSpore tensors."""
    return FunctionType(expansion.formula.__code__, globals(), expansion.formula.__name__)


# MindSpore parses the inner functions.
def replace_function(expansion: SourceExpansion, function: Any) -> Callable[..., Any]:
    """Returns the replacement of a MindSpore function that has a tensor and a scalar argument."""
    formula, least = bind_formula(expansion), expansion.least_scalar
    (first, _), (second, scalar_parameter) = inspect.signature(function).parameters.items()
    default = scalar_parameter.default
    # A copy of the original function under another name, which the parser does not replace.
    function_of_mindspore = FunctionType(
        function.__code__,
        function.__globals__,
        f"{function.__name__}_of_mindspore",
        function.__defaults__,
    )

    def expand_call(*given: Any, **named: Any) -> Any:
        x = given[0] if len(given) > 0 else named[first]
        scalar = default
        if len(given) > 1:
            scalar = given[1]
        elif second in named:
            scalar = named[second]
        if x.dtype not in FLOATS or not isinstance(scalar, (int, float)) or scalar < least:
            return function_of_mindspore(*given, **named)
        return ops.cast(formula(ops.cast(x, ms.float32), scalar), x.dtype)

    return expand_call


def replace_construct(expansion: SourceExpansion, construct: Any) -> Callable[..., Any]:
    """Returns the replacement of the method `construct` of a Cell."""
    formula, least = bind_formula(expansion), expansion.least_scalar
    _, first = inspect.signature(construct).parameters

    def construct_expanded(self: Any, *given: Any, **named: Any) -> Any:
        x = given[0] if len(given) > 0 else named[first]
        scalar = self.scalar_argument
        if x.dtype not in FLOATS or not isinstance(scalar, (int, float)) or scalar < least:
            return self.construct_of_mindspore(*given, **named)
        return ops.cast(formula(ops.cast(x, ms.float32), scalar), x.dtype)

    return construct_expanded


class _ScalarArgument:
    """Descriptor that returns the scalar argument of a Cell's operator, or None.

    Args:
        path: attribute path from the Cell to the argument, such as ``softshrink.lambd``.
    """

    def __init__(self, path: str):
        self._path = path

    def __get__(self, cell: Any, owner: Any = None) -> Any:
        with contextlib.suppress(AttributeError):
            return attrgetter(self._path)(cell)
        return None


def find_object(name: str) -> Any:
    """Returns the function or class of a qualified name such as ``mindspore.ops.softshrink``."""
    return attrgetter(name.removeprefix("mindspore."))(ms)


EXPANSIONS = tuple(
    operator.mindspore.source_expansion
    for operator in OPERATORS.values()
    if operator.mindspore.source_expansion is not None
)
FUNCTIONS = {
    found: replace_function(one, found)
    for one in EXPANSIONS
    for found in [find_object(one.function)]
}
"""Maps a function of MindSpore to its replacement."""
CELLS = {
    owner: {
        "construct": replace_construct(one, owner.construct),
        "construct_of_mindspore": owner.construct,
        "scalar_argument": _ScalarArgument(path),
    }
    for one in EXPANSIONS
    for name, path in one.cells
    for owner in [find_object(name)]
}
"""Maps a class of Cells to a dict of the attributes that replace its own in a compilation."""


@contextlib.contextmanager
def expand_by_source() -> Iterator[None]:
    """Returns a context manager that makes compilations use the replacements of this module.

    The ``with`` blocks of this context manager may be nested.
    """
    before = {(owner, name): vars(owner).get(name) for owner, own in CELLS.items() for name in own}
    for owner, own in CELLS.items():
        for name, value in own.items():
            setattr(owner, name, value)
    try:
        with replace_in_parser(FUNCTIONS):
            yield
    finally:
        for (owner, name), value in before.items():
            if value is None:
                delattr(owner, name)
            else:
                setattr(owner, name, value)
