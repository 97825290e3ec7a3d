"""Builds MindSpore's fused kernels: translates each from composite JSON to a DSL graph, then to C.

In: the composite JSON of one group of fused operators. Out: a shared library with the entry
function that MindSpore calls. Must not form groups or import MindSpore.
"""
