"""Estimates the arithmetic time of an operator in our generated kernels, in vector steps.

A step is one vector instruction. The table holds times within the nearest cache on AVX-512, divided
by the time of one step (0.017 ns an element): an exp of 0.17 ns is 10 steps. The steps depend on
the implementation of an operator, not on its name: x² is computed as a product, but a power whose
exponent is read from memory is not.
"""

from __future__ import annotations

from collections.abc import Mapping
from types import MappingProxyType

from ms_fusion.cost.arithmetic import CONTROL_OPERATORS, REDUCTION_FLOPS
from ms_fusion.devices import ROOT_STEPS
from ms_fusion.graph import Graph, Node
from ms_fusion.operators import BOOKKEEPING, VIEWS

STEPS_PER_ELEMENT: Mapping[str, int] = MappingProxyType(
    dict.fromkeys("Div RealDiv Reciprocal Inv DivNoNan Softsign".split(), 12)
    | dict.fromkeys(REDUCTION_FLOPS, 2)
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
"""Operator → steps per element; default 1."""
PRODUCT_EXPONENTS = frozenset({2.0, 3.0, 0.5})
"""Exponents for which a power is a product or a root."""


def vector_steps(node: Node, graph: Graph) -> int:
    """Returns the vector steps of an operator.

    The number of elements is that of its first input or of a result, whichever is largest.
    """
    if node.op in VIEWS or node.op in CONTROL_OPERATORS or node.op in BOOKKEEPING:
        return 0
    values = (*graph.inputs_of(node)[:1], *graph.outputs_of(node))
    return _steps_per_element(node, graph) * max(value.elements for value in values)


def _steps_per_element(node: Node, graph: Graph) -> int:
    if node.op == "Pow":
        data = graph.inputs_of(node)[1].data
        while isinstance(data, tuple) and len(data) == 1:
            data = data[0]
        return 2 if data in PRODUCT_EXPONENTS else STEPS_PER_ELEMENT["Pow"]
    if node.op == "Transpose":
        # Unless the last axis moves, whole rows are copied.
        return STEPS_PER_ELEMENT["Transpose"] if is_last_axis_transposed(node, graph) else 1
    return STEPS_PER_ELEMENT.get(node.op, 1)


def is_last_axis_transposed(node: Node, graph: Graph) -> bool:
    """Whether a transpose moves the last axis; True where the permutation is unknown."""
    order = node.attr("perm")
    if order is None and len(node.inputs) > 1:
        order = graph.inputs_of(node)[1].data
    return not (isinstance(order, tuple) and order and order[-1] == len(order) - 1)
