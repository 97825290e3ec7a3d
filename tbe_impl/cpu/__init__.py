"""The CPU back end: prepares a graph for this processor and runs it.

In: a graph and code generation options. Out: a kernel, which is a `KernelSequence` of generated
programs and library calls. Must not: generate C, which `tbe_impl.codegen` does, or invoke the C
compiler, which `tbe_impl.runtime` does.
"""
