"""Compiles groups of ONNX operators to kernels, and writes groups as operator files.

In: a group of a model's `Graph`. Out: a kernel of `tbe_impl`, or the group's source in the TBE DSL.
This package must not decide which groups are fused.
"""
