"""Generates C for this processor.

In: a graph of stages and options. Out: C source: stages partitioned into loop nests, lowered to
statements, transformed and printed; `include/` is the vector library. Must not: call a compiler or
load a library (`runtime`).
"""
