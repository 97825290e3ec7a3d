"""Renders the ledger as terminal text, JSON, one self-contained HTML page or notebook output.

In: a `Ledger`. Out: text, JSON, HTML, with names from models escaped. Must not change the ledger.
"""
