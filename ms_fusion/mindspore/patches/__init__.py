"""Monkeypatches functions of MindSpore while it compiles a net for our generator.

In: MindSpore's parser table and classes. Out: the same table and classes with our replacements,
until the compilation ends. Must not leave a replacement after the compilation.
"""
