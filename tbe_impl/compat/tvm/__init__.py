"""Implements `tvm` and `topi`, the tensor language below the DSL operations.

In: the calls that operator files make to functions of ``tvm`` and ``topi``.
Out: DSL stages (tensors of the graph). The use of an unimplemented name raises an error.
Must not: compile kernels.
"""
