"""Implements the command line `ms-fusion`: converts arguments to calls of the Python interface.

In: arguments of a shell. Out: printed lines, files, exit codes. This package must leave all
decisions, measurements and computations to the Python interface.
"""
