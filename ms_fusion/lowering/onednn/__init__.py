"""Lowers operators of a group to oneDNN calls: layouts, folded transposes, epilogues.

In: the matrix products and convolutions of a group. Out: calls of `custom_ops.onednn` as plain
values. Must not call oneDNN.
"""
