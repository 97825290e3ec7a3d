"""The ledger as terminal text, JSON, one self-contained HTML page and notebook output; nothing here changes it."""
