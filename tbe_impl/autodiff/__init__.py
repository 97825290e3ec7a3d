"""Reverse-mode differentiation of DSL graphs.

In: a graph of stages, its outputs and their cotangents.
Out: the stages of the gradients, as DSL operations.
Must not: compile, run or schedule a stage.
"""
