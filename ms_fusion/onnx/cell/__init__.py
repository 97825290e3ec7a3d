"""Builds a MindSpore Cell from an ONNX model; fused groups run as generated kernels.

In: a model file. Out: the Python source of a Cell and its constants. This package must not fuse
operators. The fused groups are read from the model, and `ms_fusion.onnx.kernels` builds their
kernels.
"""
