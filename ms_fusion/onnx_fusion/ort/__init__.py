"""Operators that ONNX Runtime has as one: which patterns they stand for, and where they are the quicker ones.

In: candidate groups. Out: replacements by ONNX Runtime's operators that agree and are not slower. It generates no kernels.
"""
