"""Implements the fast call path: a repeated call of a Cell skips MindSpore's Python code.

In: a call of a Cell. Out: the result of the call, computed by the compiled graph or, if the graph
has only one kernel, by this kernel. Must not compile a graph.
"""
