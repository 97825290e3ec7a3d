"""Replaces MindSpore's compile server, the process that builds fused kernels, by a safer one.

In: the composite JSON of kernels, from MindSpore. Out: built kernels, and a reason for each kernel
that was not built. The package must not build a kernel in the server process. Each kernel has its
own worker process.

MindSpore starts its compile server as a script ``kernel_build_server_akg.py``. The directory of
this script is configurable, and ms_fusion sets it to the directory of its own scripts. These
scripts first make the kernel directory the working directory. They refuse kernels that MindSpore's
generator would compile wrongly. MindSpore then runs the operators of the refused kernels one by
one.
"""
