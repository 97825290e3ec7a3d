"""Maps patterns to ONNX Runtime's own operators where those are faster.

In: candidate groups. Out: replacements by ONNX Runtime's operators that agree and are not slower.
Must not: generate kernels.
"""
