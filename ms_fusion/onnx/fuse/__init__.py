"""Fuses an ONNX model; a cost model chooses the fusions.

In: a model file and options. Out: a fused model, the directory ``kernels/`` beside the fused model,
and a `Ledger` (the report of the fusions). This package must not import MindSpore.
"""
