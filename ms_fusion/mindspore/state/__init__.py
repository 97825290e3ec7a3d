"""Manages MindSpore's process-wide state: context, environment, directories and locks.

In: the flags of a preset (a named set of fusion flags). Out: functions that set, record and restore
the state. This package must not decide which flags to use.
"""
