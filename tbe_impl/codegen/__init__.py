"""Generates C for this processor.

In: a graph of stages and options. Out: C source: stages are partitioned into loop nests, lowered to statements, transformed and
printed; `include/` is the vector library. It calls no compiler and loads no library: that is `runtime`.
"""
