"""Integrates with MindSpore: flags, presets, monkeypatched functions, fast calls.

In: the user's net and preset. Out: MindSpore's context, environment and functions in the state of
the preset, and a record of it. Must not know reports, ONNX or the command line.
"""
