"""Defines MindSpore's graph kernel flags: fields, lint, presets, limits of the generators.

In: a flag string or a preset's name. Out: `GraphKernelFlags` and findings.
Must not import MindSpore.
"""
