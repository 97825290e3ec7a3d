"""Runs TBE operators on CPU for the primitives of users, and writes TBE operators for CANN.

In: MindSpore's registration of a TBE function, or an `OpSpec`. Out: a primitive that runs on CPU,
or operator files and sequences of operators for CANN. Must not: build kernels; `tbe_impl` builds
them.
"""
