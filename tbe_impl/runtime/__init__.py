"""Compiles, caches, loads and calls kernels.

In: C source, arrays.
Out: libraries in the on-disk cache, results.
Must not: depend on operators, or decide which C code is generated.
"""
