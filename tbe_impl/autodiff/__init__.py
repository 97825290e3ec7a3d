"""Differentiates DSL graphs in reverse mode.

In: a graph of stages, the outputs of the graph, and the cotangents of the outputs.
Out: stages that compute the gradients, built from DSL operations.
Must not: compile, run or schedule a stage.
"""
