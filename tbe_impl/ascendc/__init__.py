"""Runs Ascend C kernels on this processor.

In: an Ascend C file, the shapes and dtypes of a call, and tiling data or the operator's host file.
Out: a kernel. Each run of the kernel also produces a report of the faults that a model of the chip
(the host model) found. Must not: depend on a framework.

The directory `host_model` contains C++ headers that replace the headers of CANN.
"""
