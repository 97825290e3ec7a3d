"""Monkeypatches functions of MindSpore while it compiles a net for our generator.

In: MindSpore's classes, and the table that maps functions to their replacements in compiled nets.
Out: the same classes and table, which contain our replacements until the compilation ends. Must not
leave a replacement after the compilation.
"""
