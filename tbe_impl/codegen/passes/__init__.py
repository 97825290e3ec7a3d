"""Transformations of one loop nest, one well-known transformation a file.

In: stages, or C statements that the lowering emitted.
Out: facts that the lowering uses, or transformed statements.
Must not: decide which stages share a nest, or compile C.
"""
