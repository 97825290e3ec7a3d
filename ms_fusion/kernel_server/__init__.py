"""Builds MindSpore's fused kernels: a composite kernel in JSON becomes a DSL graph, then C.

In: AKG's JSON of one fused group. Out: a shared library with the entry that MindSpore calls. Must
not form groups or import MindSpore.
"""
