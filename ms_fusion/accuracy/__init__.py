"""Certifies the accuracy of fused kernels against float64: runs, replays in NumPy, counts ULP.

In: compiled kernels with their descriptions and inputs. Out: certificates in ULP. Must not change a
kernel or a decision.
"""
