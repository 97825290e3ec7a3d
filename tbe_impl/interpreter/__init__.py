"""The NumPy interpreter: the reference semantics of every DSL operation.

In: a graph of stages, and arrays for its inputs.
Out: the arrays of the graph's outputs.
Must not: compile code, or depend on a processor.
"""
