"""Runs TBE operators inside MindSpore: operators of users' primitives, and operator sequences.

In: MindSpore's registration of a TBE function. Out: a primitive that runs on CPU. Must not: build
kernels; `tbe_impl` builds them.
"""
