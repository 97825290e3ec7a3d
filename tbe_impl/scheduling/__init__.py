"""Schedules: an operator's decisions about loops, memories and instructions.

In: the calls that an operator makes on its schedule. Out: frozen records beside the graph. Must
not: give the records a meaning; `chip` interprets them for a device, `codegen` for this processor.
"""
