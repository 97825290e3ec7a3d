"""Implements `tvm` and `topi`, the tensor language below the DSL operations.

In: calls of functions of ``tvm`` and ``topi`` in operator files.
Out: DSL stages (tensors of the graph). The use of an unimplemented name raises an error.
Must not: compile kernels.
"""
