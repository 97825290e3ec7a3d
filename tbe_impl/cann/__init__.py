"""Hands operators to the real toolkit, CANN, where one is installed, and writes DSL graphs as CANN source.

In: an operator, or a graph. Out: what CANN compiles, or Python text that both `tbe_impl` and CANN run.
"""
