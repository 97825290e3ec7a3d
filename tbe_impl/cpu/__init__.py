"""The CPU back end: prepares a graph for this processor and runs it.

In: a graph and code generation options. Out: a kernel, which is a `KernelSequence` of generated
programs and library calls. Must not: generate C (`codegen` does), or invoke the C compiler
(`runtime` does).
"""
