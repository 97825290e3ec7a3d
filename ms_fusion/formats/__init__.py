"""Text in, `Graph` out: readers of MindSpore's dumps and of composite-kernel JSON.

In: files, hostile until checked. Out: frozen `Graph` objects with normalised names and attributes. Readers decide nothing.
"""
