"""Operators as kernels, written once and run on any CPU or, by CANN, on Ascend; knows no framework."""
