"""Defines operators and their calls: spec, gradient, kernels, primitive, Cell.

In: an operator's spec, and tensors or arrays. Out: a primitive, a Cell, or results. This package
must not define any particular operator.
"""
