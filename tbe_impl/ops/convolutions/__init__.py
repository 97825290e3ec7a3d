"""Convolutions as CANN operator files, for tensors in the layouts of the cube unit.

In: descriptions of tensors. Out: kernels. Must not: be generated, as operator files of `custom_ops`
are. CANN's convolutions read images in NC1HWC0 and filters in FRACTAL_Z, and the generator does not
support these blocked layouts.
"""
