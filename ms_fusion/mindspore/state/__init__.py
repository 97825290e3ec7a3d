"""Manages MindSpore's process-wide state under a preset: context, environment, directories, locks.

In: the flags of a preset. Out: functions that set, record and restore the state. Must not decide
which flags to use.
"""
