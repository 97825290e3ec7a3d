"""Runs Ascend C kernels on this processor.

In: an Ascend C file, the shapes and dtypes of a call, tiling data or the operator's host file.
Out: a kernel, and a report of the findings of a modelled chip for each run of the kernel.
Must not: depend on a framework.

The directory `host_model` contains C++ headers that replace the headers of CANN.
"""
