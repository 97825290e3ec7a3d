"""Text in, `Graph` out: readers of MindSpore's dumps and of composite-kernel JSON."""
