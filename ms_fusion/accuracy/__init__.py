"""Certifies the accuracy of fused kernels: compares their results with float64 results of NumPy.

In: compiled kernels with their descriptions and inputs. Out: certificates, which are records of the
    errors in ULP. Must
not change a kernel or a fusion decision.
"""
