"""The compile server: a guarded replacement of the process in which MindSpore builds fused kernels.

In: the composite JSON of kernels, from MindSpore. Out: built kernels, and a reason for each kernel
that was not built. Must not build in its own process, since each kernel has a worker process.

MindSpore runs the script ``kernel_build_server_akg.py`` in a directory that can be set. Our scripts
first change to the kernel directory. They refuse kernels that MindSpore's generator miscompiles;
MindSpore then runs the operators of these kernels one by one.
"""
