"""Runs Ascend C kernels on this processor.

A kernel's C++ text comes in; out comes a kernel object with `run`, a report of what the model of
the chip found, and a formula check. `host_model` holds the C++ headers that stand in for CANN's. This
room compiles and runs native code of the user; it knows no framework.
"""
