"""Replaces groups by ONNX Runtime's own operators or by custom operators, if these are not slower.

In: candidate groups. Out: replacements by operators of ONNX Runtime, or by our kernels as custom
operators. A replacement must give the same results and must not be slower. This package must not
compile kernels.
"""
