"""Builds MindSpore's fused kernels: lowers composite JSON to a DSL graph, and emits C code.

In: the composite JSON of one group of fused operators. Out: a shared library with the entry
function that MindSpore calls. This package must not form groups or import MindSpore.
"""
