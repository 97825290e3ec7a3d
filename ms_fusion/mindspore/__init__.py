"""Integrates with MindSpore: flags, presets, monkeypatched functions, fast calls.

A preset is a named set of MindSpore's fusion flags. In: the user's net and preset. Out: MindSpore's
context, environment and functions, changed as the preset requires, and a record of the settings in
force. Must not depend on reports, ONNX or the command line.
"""
