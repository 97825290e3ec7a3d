"""Transforms one loop nest; each module contains one well-known transformation.

In: stages, or loop IR. Out: facts that the lowering uses, or transformed loop IR. Must not: decide
which stages share a nest, or compile C.
"""
