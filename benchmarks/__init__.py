"""Repeatable measurements: ours beside others, in one run, with the ceiling of the machine."""
