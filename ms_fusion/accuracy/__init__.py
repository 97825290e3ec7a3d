"""Certifies the accuracy of fused kernels: compares their results with float64 results of NumPy.

In: compiled kernels, their descriptions and their inputs. Out: certificates. A certificate records
the errors of one kernel in ULP. This package must not change a kernel or a fusion decision.
"""
