"""Integrates with MindSpore: flags, presets, monkeypatched functions, fast calls.

A preset is a named set of MindSpore's fusion flags. In: the user's net and preset. Out: a record of
the settings in force. The package also changes MindSpore's context, environment and functions as
the preset requires. It must not depend on reports, ONNX or the command line.
"""
