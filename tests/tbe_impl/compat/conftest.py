"""Operators are loaded by tests, with the toolkit's names provided, and never collected."""

collect_ignore = ["operators"]
