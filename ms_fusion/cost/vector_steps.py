"""How long the arithmetic of an operator takes in a kernel of ours, next to an addition.

A step is one instruction on a vector. The figures are times within the nearest cache, on AVX-512, divided by that of a step
(0.017 ns an element): where an exp takes 0.17 ns it is 10 steps. What an operator is computed with decides; what it is called
does not: the square of a number is a product, a power with an exponent from memory is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ms_fusion.cost.arithmetic import CONTROL, REDUCED
from ms_fusion.devices import ROOT_STEPS
from ms_fusion.graph import Graph, Node
from ms_fusion.operators import BOOKKEEPING, VIEWS

STEPS: Mapping[str, int] = MappingProxyType(
    dict.fromkeys("Div RealDiv Reciprocal Inv DivNoNan Softsign".split(), 12)
    | dict.fromkeys(REDUCED, 2)
    | dict.fromkeys("Sin Cos Tan Tanh Rsqrt Log1p Expm1 Elu Selu Celu".split(), 26)
    | dict.fromkeys("ACos Asin Atan Atan2 Asinh Acosh Atanh Sinh Cosh".split(), 30)
    | dict.fromkeys("Mod FloorMod FloorDiv TruncateDiv".split(), 60)
    | dict.fromkeys("LayerNorm InstanceNormalization GroupNorm".split(), 16)
    | {
        "Exp": 10,
        "Log": 20,
        "Erf": 32,
        "Sqrt": ROOT_STEPS,
        "Sigmoid": 18,
        "SiLU": 19,
        "GeLU": 22,
        "Softplus": 40,
        "Mish": 70,
        "Pow": 120,
        "HSigmoid": 4,
        "HSwish": 5,
        "LeakyReLU": 2,
        "Softmax": 29,
        "LogSoftmax": 30,
        "RmsNorm": 12,
        "BatchNorm": 4,
        "ReduceL2": 3,
        "ReduceLogSum": 3,
        "ReduceLogSumExp": 14,
        "Transpose": 17,
    }
)
"""Operator → steps for each element; 1 for those that are not named."""
PRODUCTS = frozenset({2.0, 3.0, 0.5})
"""Exponents for which a power is a product or a root."""


def vector_steps(node: Node, graph: Graph) -> int:
    """Steps of an operator for all elements of its first input or its results, whichever are more."""
    if node.op in VIEWS or node.op in CONTROL or node.op in BOOKKEEPING:
        return 0
    values = (*graph.inputs_of(node)[:1], *graph.outputs_of(node))
    return _steps(node, graph) * max(value.elements for value in values)


def _steps(node: Node, graph: Graph) -> int:
    if node.op == "Pow":
        data = graph.inputs_of(node)[1].data
        while isinstance(data, tuple) and len(data) == 1:
            data = data[0]
        return 2 if data in PRODUCTS else STEPS["Pow"]
    if node.op == "Transpose":
        # rows that stay whole are copied
        return STEPS["Transpose"] if is_turned(node, graph) else 1
    return STEPS.get(node.op, 1)


def is_turned(node: Node, graph: Graph) -> bool:
    """Whether a transpose moves the last axis, as far as one knows."""
    order = node.attr("perm")
    if order is None and len(node.inputs) > 1:
        order = graph.inputs_of(node)[1].data
    return not (isinstance(order, tuple) and order and order[-1] == len(order) - 1)
