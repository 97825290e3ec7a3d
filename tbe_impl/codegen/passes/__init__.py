"""Transforms one loop nest; each file contains one well-known transformation.

In: stages, or C statements that the lowering emitted.
Out: facts that the lowering uses, or transformed statements.
Must not: decide which stages share a nest, or compile C.
"""
