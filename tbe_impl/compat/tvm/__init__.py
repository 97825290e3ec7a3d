"""Implements `tvm` and `topi`, the tensor language below the DSL operations.

In: calls of ``tvm`` and ``topi``.
Out: DSL stages; unimplemented names raise an error on use.
Must not: compile kernels.
"""
