"""Convolutions as CANN operator files, for tensors in the layouts of the cube unit.

In: descriptions of tensors. Out: kernels. Must not: be written by the writer of `custom_ops`, whose
DSL computations know no blocked layouts. CANN's convolutions read images in NC1HWC0 and filters in
FRACTAL_Z, and take their sizes as arguments.
"""
