"""Fuses an ONNX model by cost: a fused ONNX model and its kernels.

In: a model file, options. Out: a fused model, ``kernels/`` beside it and a `Ledger`. Must not:
import MindSpore.
"""
