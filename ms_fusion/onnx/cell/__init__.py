"""Builds a MindSpore Cell from an ONNX model; fused groups run as generated kernels.

In: a model file. Out: the Python source of a Cell and its constants. Must not fuse operators: the
groups come from the model, their kernels from `ms_fusion.onnx.kernels`.
"""
