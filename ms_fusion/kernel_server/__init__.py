"""Builds MindSpore's fused kernels: a composite kernel in JSON becomes a DSL graph, then C.

In: the composite JSON of one group of fused operators. Out: a shared library with the entry
function that MindSpore calls. Must not form groups or import MindSpore.
"""
