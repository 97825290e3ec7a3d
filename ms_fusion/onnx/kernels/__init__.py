"""Compiles groups of ONNX operators: lowering to the DSL, compiled kernels, operator files.

In: a group of a model's `Graph`. Out: a kernel of `tbe_impl`, or the group's source in the TBE DSL.
Must not decide which groups are fused.
"""
