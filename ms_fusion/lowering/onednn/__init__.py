"""Lowers operators of a group (fused subgraph) to oneDNN calls with layouts and epilogues.

In: the matrix products and convolutions of a group. Out: descriptions of calls of functions in
`custom_ops.onednn`, as plain values. This package must not call oneDNN.
"""
