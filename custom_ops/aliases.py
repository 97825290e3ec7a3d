"""Operators of this package under the names that articles on custom operators have for them."""

from custom_ops.operators.add_relu import AddReLU as FusedAddReLU
from custom_ops.operators.mul_sigmoid import MulSigmoid as FusedMulSigmoid

__all__ = ["FusedAddReLU", "FusedMulSigmoid"]
