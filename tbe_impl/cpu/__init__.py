"""The CPU back end: prepares a graph for this processor and runs it.

In: a graph and options.
Out: a kernel: a `KernelSequence` of programs of `codegen`, with library calls between them.
Must not: generate C (`codegen`), invoke the C compiler (`runtime`).
"""
