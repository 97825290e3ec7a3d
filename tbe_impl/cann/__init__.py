"""Builds operators with the CANN toolkit, and exports DSL graphs as CANN source.

In: an operator, or a graph.
Out: files compiled by CANN, or Python source that both `tbe_impl` and CANN run.
Must not: compile kernels for this processor.
"""
