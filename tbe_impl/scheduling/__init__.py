"""Schedules: an operator's decisions about loops, memories and instructions.

In: the calls that an operator makes on its schedule.
Out: frozen records of the decisions; the graph itself is not changed.
Must not: interpret the records. `tbe_impl.chip` interprets the records for a device, and
`tbe_impl.codegen` for a CPU.
"""
