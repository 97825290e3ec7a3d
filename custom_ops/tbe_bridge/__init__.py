"""Runs TBE operators inside MindSpore: those of user primitives, and sequences of operators.

In: MindSpore's registration of a TBE function. Out: a primitive that runs on CPU. Must not: build
kernels; `tbe_impl` builds them.
"""
