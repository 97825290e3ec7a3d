"""Loads operator files and builds their kernels under the module names that `compat` provides.

In: a Python file of TBE operators, shapes, dtypes, attributes.
Out: kernels with their signature.
Must not: modify the operator file or the tree around it.
"""
