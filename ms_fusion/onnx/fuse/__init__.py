"""Fuses an ONNX model; a cost model chooses the fusions.

In: a model file and options. Out: a fused model, the directory ``kernels/`` beside it, and a
`Ledger` (the report of the fusions). Must not import MindSpore.
"""
