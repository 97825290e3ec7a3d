"""Defines the names that published tutorials on custom operators use for two operators."""

from custom_ops.operators.add_relu import AddReLU as FusedAddReLU
from custom_ops.operators.mul_sigmoid import MulSigmoid as FusedMulSigmoid

__all__ = ["FusedAddReLU", "FusedMulSigmoid"]
