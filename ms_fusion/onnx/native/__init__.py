"""Runs native code that parses models in a child process, because a hostile model may crash it.

In: a model's bytes and tensors. Out: inferred shapes or computed results. Must not run native code
on a model in the user's process.
"""
