"""Compiles, caches, loads and calls kernels.

In: C source, arrays.
Out: libraries in the on-disk cache, results.
Must not: depend on operators, or decide which C code is generated.

Kernels that run one after the other are one type, `sequence.KernelSequence`, in four stages:

- planned: what each step computes, a region of operators or a library call;
- compiled: generated kernels, and library calls;
- stored: plain values, as JSON in the compile cache, that name the libraries of the kernels;
- callable: C functions, which `sequence.link` joins to one C function.
"""
