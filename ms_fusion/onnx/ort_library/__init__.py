"""Compiles kernels of groups into a library of custom operators for ONNX Runtime.

In: kernels of `ms_fusion.onnx.kernels`, and descriptions of attention, GELU, products with constant
weights and depthwise convolutions. Out: C text and a shared library that
`SessionOptions.register_custom_ops_library` loads. The library needs no ms_fusion, no MindSpore and
no Python. This package must not decide which groups are replaced.
"""
