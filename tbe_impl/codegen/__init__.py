"""Generates C for this processor (the CPU of this machine).

In: a graph of stages, and code generation options.
Out: C source. The generator partitions the stages into loop nests, lowers the nests to statements,
transforms the statements and prints them. The generated C includes the vector library in
`include/`.
Must not: call a compiler or load a library; `tbe_impl.runtime` does both.
"""
