"""Traces formulas written in NumPy and SciPy into DSL graphs.

In: a Python function.
Out: the graph of the DSL operations that the function performs on tensors.
Must not: evaluate the function on values, or write files.
"""
