"""Runs TBE operators inside MindSpore: a user's primitives with a TBE function, and sequences of operators.

In: what MindSpore's registration says of a TBE function. Out: a primitive that runs on CPU. Kernels are built by `tbe_impl`.
"""
