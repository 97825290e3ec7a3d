"""The ledger as terminal text, JSON, one self-contained HTML page and notebook output; nothing here changes it.

In: a `Ledger`. Out: text, JSON, HTML. Names from models are escaped.
"""
