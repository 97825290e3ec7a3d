"""Lowers groups (fused subgraphs) to library calls and to DSL graphs that become loop nests.

In: a `Graph` of MindSpore's basic operators. Out: DSL graphs of `tbe_impl`, library calls, and
their execution order. This package must not read MindSpore's JSON, call a C compiler or import
MindSpore.
"""
