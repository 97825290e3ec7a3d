"""Implements the fast call path: a repeated call of a Cell skips MindSpore's Python code.

In: a call of a Cell. Out: the result of the call. The compiled graph computes the result. If the
graph has a single kernel, this kernel computes the result instead. This package must not compile a
graph.
"""
