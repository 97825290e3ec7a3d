"""Loads an operator's file and builds its kernels.

In: a Python file of TBE operators, shapes, dtypes, attributes. Out: kernels with their signature. The files run under the module
names that `compat` provides.
"""
