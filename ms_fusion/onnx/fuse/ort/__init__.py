"""Replaces patterns by ONNX Runtime's own operators where these are faster.

In: candidate groups. Out: replacements by ONNX Runtime's operators whose results agree and which
are not slower. Must not generate kernels.
"""
