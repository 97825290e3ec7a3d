"""Implements the commands `ms-fusion tbe`: build, run, check, show and time an operator.

In: the command-line arguments, as strings.
Out: frozen records that `ms_fusion` prints.
Must not: print.
"""
