"""Manages MindSpore's process-wide state under a preset: context, environment, directories, locks.

In: the flags of a preset. Out: the state set, recorded and restored. Must not decide which flags to
use.
"""
