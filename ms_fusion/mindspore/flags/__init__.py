"""Defines MindSpore's graph kernel flags, finds mistakes in them, and defines the presets.

A preset is a named set of flags. In: a flag string or the name of a preset. Out: `GraphKernelFlags`
and findings (mistakes or remarks for the user). This package must not import MindSpore.
"""
