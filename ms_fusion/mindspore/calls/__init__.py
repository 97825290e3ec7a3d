"""Implements the fast call path: a repeated call of a Cell skips MindSpore's Python code.

In: a call of a Cell. Out: the result, from the compiled graph or from the graph's only kernel. Must
not compile.
"""
