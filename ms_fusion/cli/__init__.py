"""The command line `ms-fusion`: converts arguments to calls, without logic.

In: arguments of a shell. Out: printed lines, files, exit codes. Must not decide, measure or compute
anything that the Python interface does not.
"""
