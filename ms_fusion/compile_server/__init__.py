"""The compile server: a guarded replacement of the process in which MindSpore builds fused kernels.

In: the JSON of kernels, from MindSpore. Out: built kernels, and a reason for each kernel that was
not built. Must not build in its own process: each kernel has a worker process. MindSpore runs the
script ``kernel_build_server_akg.py`` of a configurable directory. The scripts here change into the
kernel directory first and refuse kernels that MindSpore's generator miscompiles; MindSpore then
runs their operators one by one.
"""
