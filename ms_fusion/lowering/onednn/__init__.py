"""Lowers operators of a group (fused subgraph) to oneDNN calls with layouts and epilogues.

In: the matrix products and convolutions of a group. Out: calls of functions of `custom_ops.onednn`,
described by plain values. Must not call oneDNN.
"""
