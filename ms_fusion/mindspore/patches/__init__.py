"""Monkeypatches functions of MindSpore while MindSpore compiles a net for our generator.

In: MindSpore's classes, and the table that maps functions to their replacements in compiled nets.
Out: the same classes and table, which contain our replacements until the compilation ends. This
package must remove every replacement after the compilation.
"""
