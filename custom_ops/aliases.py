"""Defines aliases of two operators: the names that published tutorials on custom operators use."""

from custom_ops.operators.add_relu import AddReLU as FusedAddReLU
from custom_ops.operators.mul_sigmoid import MulSigmoid as FusedMulSigmoid

__all__ = ["FusedAddReLU", "FusedMulSigmoid"]
