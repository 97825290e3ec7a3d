"""Loads operator files, whose imports `tbe_impl.compat` provides, and builds their kernels.

In: a Python file of TBE operators, and the shapes, dtypes and attributes of a call.
Out: kernels with their signature.
Must not: modify the operator file or the tree around it.
"""
