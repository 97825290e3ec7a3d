"""Lowers groups (fused subgraphs) to library calls and to DSL graphs that become loop nests.

In: a `Graph` of MindSpore's basic operators. Out: DSL graphs of `tbe_impl`, and the execution order
of their kernels and of the library calls. Must not read MindSpore's JSON, call a C compiler or
import MindSpore.
"""
