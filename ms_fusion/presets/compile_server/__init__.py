"""The process in which MindSpore builds its fused kernels, started from a private directory and guarded.

MindSpore runs the script ``kernel_build_server_akg.py`` of a directory that can be set; the scripts here change into the
kernel directory first, refuse kernels that its generator builds wrongly, and survive those that it cannot build. What
is refused, MindSpore then runs as single operators.
"""
