"""What MindSpore calls to build its fused kernels: a composite kernel in JSON becomes a graph of the language, then C.

In: AKG's JSON of one fused group. Out: a shared library with the entry that MindSpore calls. It finds no groups and imports no
MindSpore.
"""
