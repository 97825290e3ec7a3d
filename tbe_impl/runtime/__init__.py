"""Compiles, stores, loads and calls kernels.

In: C source, arrays. Out: libraries in the on-disk cache, results. It knows no operators and decides nothing about code.
"""
