"""Runs TBE operators inside MindSpore: user primitives with a TBE function, operator sequences.

In: MindSpore's registration of a TBE function. Out: a primitive that runs on CPU. Must not: build
kernels; `tbe_impl` builds them.
"""
