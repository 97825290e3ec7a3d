"""Measurements that a stranger can repeat: ours beside others, in one run, with the ceiling of the machine."""
