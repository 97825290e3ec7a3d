"""Renders the ledger as terminal text, JSON, one self-contained HTML page or notebook output.

The ledger is the record of the fused kernels and the unfused edges of a net. In: a `Ledger`. Out:
text, JSON or HTML. Names from the model are escaped in the output. This package must not change the
ledger.
"""
