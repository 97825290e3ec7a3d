"""Runs Ascend C kernels on this processor.

In: an Ascend C file; shapes and dtypes of a call; tiling data, or the operator's host file. Out: a
kernel. For each run of the kernel: a report of the faults that a model of the chip found. Must not:
depend on a framework.

The directory `host_model` contains C++ headers that replace the headers of CANN.
"""
