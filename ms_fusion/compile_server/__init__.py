"""The compile server: a safer replacement for the process in which MindSpore builds fused kernels.

In: the composite JSON of kernels, from MindSpore. Out: built kernels, and a reason for each kernel
that was not built. Must not build a kernel in the server process: each kernel is built in a worker
process of its own.

MindSpore starts its compile server as a script ``kernel_build_server_akg.py`` in a configurable
directory. We configure the directory of our scripts. Our scripts first make the kernel directory
the working directory. They refuse kernels that MindSpore's generator would compile wrongly.
MindSpore then runs the operators of these kernels one by one.
"""
