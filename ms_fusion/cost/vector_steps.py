"""Estimates the arithmetic time of an operator in our generated kernels, in vector steps.

A step is one vector instruction and takes 0.017 ns per element. `ms_fusion.ops` contains the number
of steps of each operator: its time per element ÷ 0.017 ns, measured on AVX-512 with data in the
nearest cache. For example, an exp of 0.17 ns has 10 steps. The number of steps depends on the code
that is generated for an operator. For example, x² takes one product, but a power with an exponent
from memory takes more steps.
"""

from __future__ import annotations

from ms_fusion.graph import Graph, Node
from ms_fusion.ops import operator_info
from ms_fusion.ops.op_info import Trait

FREE = Trait.VIEW | Trait.CONTROL | Trait.BOOKKEEPING
PRODUCT_EXPONENTS = frozenset({2.0, 3.0, 0.5})
"""Exponents for which a power is computed by products or roots."""


def vector_steps(node: Node, graph: Graph) -> int:
    """Returns the vector steps of an operator: steps per element × number of elements.

    The number of elements is the largest element count among the operator's first input and its
    results.
    """
    if operator_info(node.op).traits & FREE:
        return 0
    values = (*graph.inputs_of(node)[:1], *graph.outputs_of(node))
    return _steps_per_element(node, graph) * max(value.elements for value in values)


def _steps_per_element(node: Node, graph: Graph) -> int:
    steps = operator_info(node.op).steps
    if node.op == "Pow":
        data = graph.inputs_of(node)[1].data
        while isinstance(data, tuple) and len(data) == 1:
            data = data[0]
        return 2 if data in PRODUCT_EXPONENTS else steps
    if node.op == "Transpose":
        # Unless the last axis moves, whole rows are copied.
        return steps if is_last_axis_transposed(node, graph) else 1
    return steps


def is_last_axis_transposed(node: Node, graph: Graph) -> bool:
    """Returns whether a transpose moves the last axis, or has an unknown permutation."""
    order = node.attr("perm")
    if order is None and len(node.inputs) > 1:
        order = graph.inputs_of(node)[1].data
    return not (isinstance(order, tuple) and order and order[-1] == len(order) - 1)
