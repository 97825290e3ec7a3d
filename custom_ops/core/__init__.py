"""What an operator is, and how frameworks call it: specification, gradient, kernels, primitive, Cell.

In: an operator's specification and tensors or arrays. Out: a primitive, a Cell, results. No operator of its own is defined here.
"""
