"""The fast call path: a repeated call of a Cell skips MindSpore's Python code.

In: a Cell's call. Out: its result, from the compiled graph or from its only kernel. Must not
compile.
"""
