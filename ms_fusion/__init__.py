"""Operator fusion in MindSpore: visible, provable and fast."""
