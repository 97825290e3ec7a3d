"""Replaces patterns by ONNX Runtime's own operators where these are faster.

In: candidate groups. Out: replacements by ONNX Runtime's operators. A replacement must give the
same results and must not be slower. Must not generate kernels.
"""
