"""Runs native code that parses models in a child process, which a hostile model may crash.

In: a model's bytes and tensors. Out: inferred shapes or computed results. Must not: run that code
in the user's process.
"""
