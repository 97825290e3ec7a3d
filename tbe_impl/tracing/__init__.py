"""Traces formulas written in NumPy and SciPy into DSL graphs.

In: a Python function. Out: the graph of DSL operations that it performs on tensors. It evaluates no numbers.
"""
