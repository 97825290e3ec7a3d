"""Lowers fused groups: partitions them into library calls and loop nests, and lowers to the DSL.

In: a `Graph` of MindSpore's basic operators. Out: DSL graphs of `tbe_impl`, and the execution order
of their kernels and of the library calls. Must not read MindSpore's JSON, call a C compiler or
import MindSpore.
"""
