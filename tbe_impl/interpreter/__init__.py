"""The NumPy interpreter: the living definition of every DSL operation.

In: a graph of stages and arrays. Out: the arrays of its outputs. It compiles nothing and knows no processor.
"""
