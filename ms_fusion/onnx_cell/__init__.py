"""A MindSpore Cell from an ONNX model: fused groups run as our kernels, the other operators are MindSpore's.

In: a model file. Out: the Python source of a Cell and its constants. It fuses nothing itself: groups come from `onnx_fusion`.
"""
