"""Convolutions as CANN operator files, for tensors in the layouts of the cube unit.

In: descriptions of tensors. Out: kernels. Must not: be generated from `custom_ops`, as other
operator files are. CANN's convolutions read images in NC1HWC0 and filters in FRACTAL_Z, and the DSL
computations of `custom_ops` do not support blocked layouts.
"""
