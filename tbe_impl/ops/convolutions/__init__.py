"""Convolutions as CANN operator files, for tensors in the layouts of the cube unit.

In: descriptions of tensors. Out: kernels. Must not: contain generated files. CANN's convolutions
read images in NC1HWC0 and filters in FRACTAL_Z. The generator of `custom_ops` does not support
these blocked layouts.
"""
