"""How far each fused kernel is from float64: run what was compiled, replay it in NumPy, count units in the last place.

In: compiled kernels with their descriptions and inputs. Out: certificates in ULP. It judges; it changes no kernel and no decision.
"""
