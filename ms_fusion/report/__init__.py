"""Renders the ledger as terminal text, JSON, one self-contained HTML page or notebook output.

In: a `Ledger`, which lists the fused kernels and the unfused edges of a net. Out: text, JSON or
HTML, in which names from the model are escaped. Must not change the ledger.
"""
