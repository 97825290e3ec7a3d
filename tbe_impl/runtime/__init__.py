"""Compiles, caches, loads and calls kernels.

In: C source, arrays.
Out: libraries in the on-disk cache, results.
Must not: depend on operators, or decide which C code is generated.

Kernels that run one after the other form a `sequence.KernelSequence`. A sequence passes through
four stages. The stage determines the type of each step of the sequence:

- planned: a step is a region of operators or a library call;
- compiled: a step is a generated kernel or a library call;
- stored: a step is a description that names the kernel's library, as JSON in the compile cache;
- callable: a step is a C function. `sequence.link` combines all steps into one C function.
"""
