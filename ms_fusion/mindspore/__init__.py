"""Integrates with MindSpore: flags, presets, monkeypatched functions, fast calls.

In: the user's net and preset. Out: MindSpore's context, environment and functions, changed as the
preset requires, and a record of the preset. Must not know reports, ONNX or the command line.
"""
