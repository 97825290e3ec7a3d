"""Implements the commands `ms-fusion tbe`: build, run, check, show and time an operator.

In: texts of the command line.
Out: frozen records that `ms_fusion` prints.
Must not: print.
"""
