"""Fuses an ONNX model by a cost model.

In: a model file and options. Out: a fused model, the directory ``kernels/`` beside it, and a
`Ledger`. Must not import MindSpore.
"""
