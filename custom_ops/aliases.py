"""Defines aliases of two operators, under their names in published custom-operator tutorials."""

from custom_ops.operators.add_relu import AddReLU as FusedAddReLU
from custom_ops.operators.mul_sigmoid import MulSigmoid as FusedMulSigmoid

__all__ = ["FusedAddReLU", "FusedMulSigmoid"]
