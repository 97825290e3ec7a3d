"""The NumPy interpreter: the reference semantics of every DSL operation.

In: a graph of stages and arrays.
Out: the arrays of its outputs.
Must not: compile code, or depend on a processor.
"""
