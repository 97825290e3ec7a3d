"""Certifies the accuracy of fused kernels: runs them and compares with a float64 replay in NumPy.

In: compiled kernels with their descriptions and inputs. Out: certificates with errors in ULP. Must
not change a kernel or a fusion decision.
"""
