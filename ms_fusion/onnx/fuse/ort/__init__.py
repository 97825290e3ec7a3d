"""Replaces groups by ONNX Runtime's own operators, or by custom operators, where these are faster.

In: candidate groups. Out: replacements by operators of ONNX Runtime, or by our kernels as custom
operators. A replacement must give the same results and must not be slower. Must not compile
kernels.
"""
