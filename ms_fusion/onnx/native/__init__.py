"""Parses and runs models in a child process, because a hostile model may crash native code.

In: a model's bytes and tensors. Out: inferred shapes or computed results. No module may run native
code on a model in the user's process.
"""
