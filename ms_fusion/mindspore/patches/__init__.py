"""Monkeypatches functions of MindSpore while it compiles a net for our generator.

In: MindSpore's parser table and classes. Out: the same tables with our replacements, until the
compilation ends. Must not stay in force after it.
"""
